// Files of two independent writers: what they hold, what verify says, what their tensors decode to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/byte_writer.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "formats/cmf/testing/files.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

using amphora::testing::test_data;
using ::testing::ElementsAreArray;
using testing::files_in;
using testing::read_json;
using testing::read_text;

std::vector<float> decode(const CmfFile& file, const TensorRecord& tensor) {
  std::vector<float> values(tensor.elements());
  const quant::Codec* codec = quant::find_codec(tensor.dtype);
  // In two parts whose border is inside a row and a group: a range must not depend on where it begins.
  const size_t half = values.size() / 2;
  codec->decode(file.payload(tensor), tensor.shape, 0, std::span(values).first(half));
  codec->decode(file.payload(tensor), tensor.shape, half, std::span(values).subspan(half));
  return values;
}

std::string hash_of(std::span<const float> values) {
  ByteVector bytes(4 * values.size());
  for (size_t i = 0; i < values.size(); ++i)
    store_little_endian(bytes.data() + 4 * i, std::bit_cast<uint32_t>(values[i]));
  return crypto::to_hex(crypto::hash64(bytes));
}

std::vector<uint64_t> shape_of(const json::Value& expected) {
  std::vector<uint64_t> shape;
  for (const json::Value& dimension : expected.find("shape")->items())
    shape.push_back(*dimension.as_unsigned());
  return shape;
}

void expect_values(const CmfFile& file, const TensorRecord& tensor, const json::Value& expected) {
  if (!quant::find_codec(tensor.dtype)->can_decode() || !expected.find("f32_hash64")) return;
  const std::vector<float> values = decode(file, tensor);
  EXPECT_EQ(hash_of(values), expected.find("f32_hash64")->text());
  double sum = 0, magnitudes = 0;
  for (const float value : values) {
    sum += double{value};
    magnitudes += std::fabs(double{value});
  }
  EXPECT_NEAR(sum, expected.find("sum")->as_double(), 1e-9 * std::max(1.0, magnitudes));
  const std::vector<json::Value>& first = expected.find("first8")->items();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(double{values[i]}, first[i].as_double());
}

/// Names, types, shapes, places, hashes and values of every tensor.
void expect_tensors(const CmfFile& file, const json::Value& expected) {
  ASSERT_EQ(file.tensors().size(), expected.items().size());
  const uint64_t data_offset = file.envelope().place(Section::kData).offset;
  for (size_t i = 0; i < expected.items().size(); ++i) {
    const TensorRecord& tensor = file.tensors()[i];
    const json::Value& want = expected.items()[i];
    SCOPED_TRACE(want.find("name")->text());
    EXPECT_EQ(tensor.name, want.find("name")->text());
    EXPECT_EQ(quant::name_of(tensor.dtype), want.find("dtype")->text());
    EXPECT_EQ(tensor.shape, shape_of(want));
    EXPECT_EQ(tensor.offset - data_offset, want.find("off")->as_unsigned());
    EXPECT_EQ(tensor.bytes, want.find("nbytes")->as_unsigned());
    EXPECT_EQ(crypto::to_hex(tensor.hash), want.find("hash")->text());
    EXPECT_EQ(file.find(want.find("name")->text()), &tensor);
    expect_values(file, tensor, want);
  }
}

/// The findings list of an expectation, in the form of testing::summary.
std::vector<std::string> expected_findings(const json::Value& list) {
  std::vector<std::string> texts;
  for (const json::Value& finding : list.items()) {
    std::string text = finding.find("level")->text() + " " + finding.find("code")->text() + " " +
                       finding.find("section")->text() + " " + finding.find("offset")->text();
    for (const char* key : {"tensor", "path"})
      if (const json::Value* value = finding.find_present(key)) text += " " + value->text();
    texts.push_back(text);
  }
  return texts;
}

TEST(Golden, FilesInTheFieldOpenVerifyAndDecodeToTheirWritersValues) {
  for (const auto& path : files_in(test_data("cmf"), ".cmf")) {
    SCOPED_TRACE(path.filename());
    const auto file = CmfFile::open(path);
    ASSERT_TRUE(file) << file.error().code << " " << file.error().place << ": " << file.error().message;
    std::filesystem::path json_path = path;
    const json::Value expected = read_json(json_path.replace_extension(".json"));
    expect_tensors(*file, *expected.find("tensors"));
    const auto report = verify(path);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->valid()) << ::testing::PrintToString(testing::summaries(report->findings));
  }
}

TEST(Golden, StrictFilesAreWhatTheirWriterSays) {
  for (const auto& json_path : files_in(test_data("cmf_strict/golden"), ".json")) {
    const json::Value expected = read_json(json_path);
    if (!expected.find("tensors")) continue;  // shards.json is about sets
    SCOPED_TRACE(json_path.filename());
    std::filesystem::path path = json_path;
    const auto file = CmfFile::open(path.replace_extension(".cmf"));
    ASSERT_TRUE(file) << file.error().code << " " << file.error().place << ": " << file.error().message;
    EXPECT_EQ(json::dump(file->header()), json::dump(*json::parse(expected.find("header_text")->text())));
    for (const char* name : {"header", "dir", "data", "masks", "vocab", "index"})
      for (const Section section : kPlacedSections)
        if (name_of(section) == name) {
          const std::vector<json::Value>& span = expected.find("envelope")->find(name)->items();
          EXPECT_EQ(file->envelope().place(section), (Span{*span[0].as_unsigned(), *span[1].as_unsigned()}))
              << name;
        }
    expect_tensors(*file, *expected.find("tensors"));
    const auto report = verify(path);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(testing::summaries(report->findings),
                ElementsAreArray(expected_findings(*expected.find("findings"))));
    EXPECT_EQ(report->valid(), expected.find("valid")->as_bool());
  }
}

TEST(Golden, MasksAndIndexAreShown) {
  const auto file = CmfFile::open(test_data("cmf_strict/golden/masks_plain.cmf"));
  ASSERT_TRUE(file);
  const json::Value expected = read_json(test_data("cmf_strict/golden/masks_plain.json"));
  ASSERT_TRUE(file->masks());
  EXPECT_EQ(file->masks()->default_task, "general");
  const std::vector<json::Value>& tasks = expected.find("masks")->find("tasks")->items();
  ASSERT_EQ(file->masks()->masks.size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(file->masks()->masks[i].name, tasks[i].find("name")->text());
    EXPECT_EQ(file->masks()->masks[i].measured, tasks[i].find_present("quality") != nullptr);
  }
  const std::vector<json::Value>& entries = expected.find("index")->items();
  ASSERT_EQ(file->index().size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(file->index()[i].task, entries[i].find("task")->as_unsigned());
    EXPECT_EQ(file->index()[i].layer, entries[i].find("layer")->as_unsigned());
    EXPECT_EQ(file->index()[i].groups.size(), 2 * entries[i].find("groups")->items().size());
    EXPECT_EQ(file->index()[i].heads.size(), entries[i].find("heads")->items().size());
  }
}

TEST(Golden, SkillsAndShardsAreShown) {
  const auto skills = CmfFile::open(test_data("cmf/skill_two.cmf"));
  ASSERT_TRUE(skills);
  ASSERT_EQ(skills->skills().size(), 2u);
  EXPECT_EQ(skills->skills()[0].id, "alpha");
  EXPECT_EQ(skills->skills()[1].id, "beta");
  EXPECT_TRUE(skills->skills()[1].selectable);
  EXPECT_FALSE(skills->is_skill_file());
  const auto partial = CmfFile::open(test_data("cmf/skill_file.cmf"));
  ASSERT_TRUE(partial);
  EXPECT_TRUE(partial->is_skill_file());
  const auto shard = CmfFile::open(test_data("cmf/shard-00002-of-00003.cmf"));
  ASSERT_TRUE(shard && shard->shard());
  EXPECT_EQ(shard->shard()->no, 2u);
  EXPECT_EQ(shard->shard()->count, 3u);
}

TEST(Golden, TokenizerIsCarriedVerbatim) {
  const auto file = CmfFile::open(test_data("cmf/dense_q8.cmf"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->tokenizer_json().size(), 2526u);
  EXPECT_EQ(crypto::to_hex(crypto::hash64(as_bytes(file->tokenizer_json()))), "8faa0318ce2ffc2c");
}

TEST(Golden, MalformedFilesInTheFieldAreRefusedForTheirOwnReason) {
  struct Bad {
    const char* name;
    const char* finding;  ///< the first error; empty: valid
  };
  const Bad kBad[] = {
      {"data_len_past_eof", "error Bounds data 48"},
      {"data_off_unaligned", "error Bounds data 48"},
      {"dir_count_huge", "error Parse dir 1026"},
      {"dir_hash_flip", "error Hash dir 120"},
      {"empty", "error Truncated envelope 0"},
      {"feature_bit3", "error UnsupportedFeature envelope 12"},
      {"feature_bit7", "error UnsupportedFeature envelope 12"},
      {"feature_none", "error Parse envelope 12"},
      {"flags1", "error Parse envelope 8"},
      {"header_hash_zero", ""},
      {"header_off_overflow", "error Bounds header 16"},
      {"magic", "error InvalidMagic envelope 0"},
      {"trailing_garbage", ""},
      {"truncated_100", "error Truncated envelope 100"},
      {"version1", "error UnsupportedVersion envelope 4"},
      {"version3", "error UnsupportedVersion envelope 4"},
      {"vocab_past_eof", "error Bounds vocab 80"},
  };
  for (const Bad& bad : kBad) {
    const std::string bytes = read_text(test_data("cmf/bad/" + std::string(bad.name) + ".cmf"));
    const VerifyReport report = verify_bytes(as_bytes(bytes), std::nullopt);
    std::string first;
    for (const Finding& finding : report.findings)
      if (first.empty() && finding.level() == Level::kError) first = testing::summary(finding);
    EXPECT_EQ(first, bad.finding) << bad.name;
  }
}

TEST(Golden, EveryOtherMalformedFileIsRefusedToo) {
  for (const auto& path : files_in(test_data("cmf/bad"), ".cmf")) {
    const std::string name = path.stem();
    if (name == "header_hash_zero" || name == "trailing_garbage") continue;  // unusual, but valid
    EXPECT_FALSE(verify_bytes(as_bytes(read_text(path)), std::nullopt).valid()) << name;
  }
}

TEST(Golden, EncodersGiveTheBytesOfTheReference) {
  const auto file = CmfFile::open(test_data("cmf_strict/golden/encode.cmf"));
  ASSERT_TRUE(file);
  int encoded = 0;
  for (const TensorRecord& tensor : file->tensors()) {
    const quant::Codec* codec = quant::find_codec(tensor.dtype);
    const bool is_floor = tensor.name.starts_with("floor.");
    if ((!tensor.name.starts_with("enc.") && !is_floor) || !codec->can_encode()) continue;
    SCOPED_TRACE(tensor.name);
    const TensorRecord* source =
        file->find(is_floor ? std::string("src.floor") : "src." + std::string(tensor.name.substr(4)));
    ASSERT_TRUE(source);
    const std::vector<float> values = decode(*file, *source);
    ByteVector payload(*codec->payload_bytes(tensor.shape));
    ASSERT_TRUE(codec->encode(values, tensor.shape, {}, payload));
    EXPECT_EQ(crypto::to_hex(crypto::hash64(payload)), crypto::to_hex(tensor.hash));
    ++encoded;
  }
  EXPECT_EQ(encoded, 11);  // seven types from src.*, four of them from src.floor
}

}  // namespace
}  // namespace amphora::cmf
