// What is read and written again is the same: every golden file through the writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/hash64.h"
#include "formats/cmf/testing/files.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

using amphora::testing::TemporaryFolder;
using amphora::testing::test_data;
using testing::files_in;
using testing::read_text;

NewFile content_of(const CmfFile& file) {
  NewFile content{.header = file.header(),
                  .tensors = {},
                  .tokenizer_json = file.section(Section::kVocabulary),
                  .masks = file.section(Section::kMasks),
                  .index = file.section(Section::kIndex),
                  .loop_masks = (file.envelope().features & kLoopMasks) != 0};
  for (const TensorRecord& tensor : file.tensors()) {
    NewTensor entry{std::string(tensor.name), tensor.dtype, tensor.shape};
    if (!quant::find_codec(tensor.dtype)->payload_bytes) entry.bytes = tensor.bytes;
    content.tensors.push_back(std::move(entry));
  }
  return content;
}

Status write_copy(const CmfFile& file, const std::filesystem::path& path) {
  AMPHORA_ASSIGN(CmfWriter writer, CmfWriter::create(path, content_of(file)));
  for (const TensorRecord& tensor : file.tensors())
    AMPHORA_TRY(writer.write(tensor.name, file.payload(tensor)));
  return writer.finish();
}

/// The header without what the writer says itself.
json::Value without_hashes(json::Value header) {
  header.erase("section_hashes");
  return header;
}

void expect_same_content(const CmfFile& copy, const CmfFile& file) {
  EXPECT_EQ(json::dump(without_hashes(copy.header())), json::dump(without_hashes(file.header())));
  for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex})
    EXPECT_EQ(as_text(copy.section(section)), as_text(file.section(section)));
  EXPECT_EQ((copy.envelope().features ^ file.envelope().features) & (kLoopMasks | kBinaryMasks), 0u);
  ASSERT_EQ(copy.tensors().size(), file.tensors().size());
  for (size_t i = 0; i < copy.tensors().size(); ++i) {
    const TensorRecord &written = copy.tensors()[i], &read = file.tensors()[i];
    EXPECT_EQ(written.name, read.name);
    EXPECT_EQ(written.dtype, read.dtype);
    EXPECT_EQ(written.shape, read.shape);
    EXPECT_EQ(written.hash, read.hash) << read.name;
    EXPECT_TRUE(std::ranges::equal(copy.payload(written), file.payload(read))) << read.name;
  }
}

TEST(Rewrite, EveryGoldenFileKeepsItsContentAndHashes) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths = files_in(test_data("cmf_strict/golden"), ".cmf");
  std::ranges::copy(files_in(test_data("cmf"), ".cmf"), std::back_inserter(paths));
  EXPECT_EQ(paths.size(), 98u);
  for (const auto& path : paths) {
    SCOPED_TRACE(path);
    const auto file = CmfFile::open(path);
    ASSERT_TRUE(file);
    const Status written = write_copy(*file, folder / "copy.cmf");
    ASSERT_TRUE(written) << written.error().place << ": " << written.error().message;
    const auto copy = CmfFile::open(folder / "copy.cmf");
    ASSERT_TRUE(copy);
    expect_same_content(*copy, *file);
    const auto report = verify(folder / "copy.cmf");
    ASSERT_TRUE(report);
    EXPECT_THAT(testing::summaries(report->findings), ::testing::IsEmpty());
  }
}

TEST(Rewrite, AFileInTheCanonicalLayoutIsWrittenByteForByte) {
  const TemporaryFolder folder;
  int same = 0;
  for (const auto& path : files_in(test_data("cmf_strict/golden"), ".cmf")) {
    const std::string name = path.stem();
    // Their point is another layout: grown, moved sections, bytes behind the end, hashes left out or
    // elsewhere.
    if (name == "grown_1" || name == "grown_2" || name == "header_tail" || name == "sections_shuffled" ||
        name == "trailing" || name == "no_hashes" || name == "signed_tampered" || name == "unknown_keys")
      continue;
    const auto file = CmfFile::open(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_copy(*file, folder / "copy.cmf"));
    EXPECT_TRUE(read_text(folder / "copy.cmf") == read_text(path)) << name;
    ++same;
  }
  EXPECT_EQ(same, 26);
}

}  // namespace
}  // namespace amphora::cmf
