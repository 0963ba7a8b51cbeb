// Where golden files lie, what a copy must keep, and the canonical layout of docs/formats/cmf.md §4, computed
// anew.
#pragma once

#include <gtest/gtest.h>

#include "formats/cmf/cmf_set.h"
#include "formats/cmf/testing/files.h"

namespace amphora::testing {

/// The folders of the reference's files.
inline const std::filesystem::path kGolden = test_data("cmf_strict/golden"), kField = test_data("cmf");

inline uint64_t next_multiple(uint64_t value, uint64_t of) { return (value + of - 1) / of * of; }

/// Every place in the file is where §4 puts it.
inline void expect_canonical_layout(const cmf::CmfFile& file) {
  const auto place = [&](cmf::Section section) { return file.envelope().place(section); };
  const cmf::Span header = place(cmf::Section::kHeader), directory = place(cmf::Section::kDirectory),
                  data = place(cmf::Section::kData);
  EXPECT_EQ(header.offset, 128u);
  EXPECT_EQ(directory.offset, next_multiple(128 + header.bytes, 8));
  EXPECT_EQ(data.offset, next_multiple(directory.offset + directory.bytes, 4096));
  uint64_t end = 0;
  for (const cmf::TensorRecord& tensor : file.tensors()) {
    EXPECT_EQ(tensor.offset - data.offset, next_multiple(end, tensor.bytes >= 16384 ? 4096 : 64))
        << tensor.name;
    end = tensor.offset - data.offset + tensor.bytes;
  }
  EXPECT_EQ(data.bytes, end);
  end += data.offset;
  for (const cmf::Section section : {cmf::Section::kMasks, cmf::Section::kVocabulary, cmf::Section::kIndex}) {
    if (place(section).bytes == 0) continue;
    EXPECT_EQ(place(section).offset, next_multiple(end, 8)) << cmf::name_of(section);
    end = place(section).offset + place(section).bytes;
  }
  EXPECT_EQ(file.bytes().size(), end);
}

/// The header's text without what a rewrite sets anew.
inline std::string lasting_header(json::Value header) {
  header.erase("section_hashes");
  if (header.find_present("shard") != nullptr) header.erase("shard");
  return json::dump(header);
}

/// Same header values, sections, tensors, order and payloads.
inline void expect_same_content(const cmf::CmfSet& source, const cmf::CmfFile& copy) {
  EXPECT_EQ(lasting_header(copy.header()), lasting_header(source.header()));
  EXPECT_FALSE(copy.shard());
  for (const cmf::Section section : {cmf::Section::kMasks, cmf::Section::kVocabulary, cmf::Section::kIndex})
    EXPECT_TRUE(std::ranges::equal(copy.section(section), source.first().section(section)));
  const auto tensors = source.tensors();
  ASSERT_EQ(copy.tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const cmf::TensorRecord &wanted = *tensors[i].record, &tensor = copy.tensors()[i];
    EXPECT_EQ(tensor.name, wanted.name);
    EXPECT_EQ(tensor.dtype, wanted.dtype) << tensor.name;
    EXPECT_EQ(tensor.shape, wanted.shape) << tensor.name;
    EXPECT_EQ(tensor.hash, wanted.hash) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(copy.payload(tensor), tensors[i].file->payload(wanted))) << tensor.name;
  }
}

/// `verify` finds nothing at all.
inline void expect_valid(const std::filesystem::path& path) {
  const auto report = cmf::verify(path);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty()) << path << ": " << cmf::testing::summary(report->findings.front());
}

}  // namespace amphora::testing
