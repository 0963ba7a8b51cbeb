// Files of two independent writers: what they hold, what verify says, what their tensors decode to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "base/byte_writer.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "crypto/sha256.h"
#include "formats/cmf/testing/files.h"
#include "quant/codec.h"
#include "quant/vbit_budget.h"

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
  if (!expected.find("f32_hash64")) return;  // bytes of a configuration, not weights
  ASSERT_TRUE(quant::find_codec(tensor.dtype)->can_decode());
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
  if (const json::Value* last = expected.find_present("last")) {
    EXPECT_EQ(double{values.back()}, last->as_double());
  }
}

/// The hash of the whole file: what is tested is the file that its writer meant.
void expect_file(const CmfFile& file, const json::Value& expected) {
  const auto digest = crypto::sha256(file.bytes());
  ASSERT_TRUE(digest);
  EXPECT_EQ(crypto::to_hex(*digest), expected.find("sha256")->text());
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

/// The envelope as the reference's own reader shows it.
void expect_field_envelope(const CmfFile& file, const json::Value& expected) {
  const auto number = [](const json::Value& object, std::string_view key) {
    return *object.find(key)->as_unsigned();
  };
  const Envelope& envelope = file.envelope();
  EXPECT_EQ(file.bytes().size(), number(expected, "size"));
  EXPECT_EQ(envelope.features, number(expected, "required_features"));
  EXPECT_EQ(crypto::to_hex(envelope.header_hash), expected.find("header_hash")->text());
  EXPECT_EQ(crypto::to_hex(envelope.directory_hash), expected.find("dir_hash")->text());
  for (const Section section : {Section::kHeader, Section::kDirectory, Section::kData}) {
    const std::string name(name_of(section));
    EXPECT_EQ(envelope.place(section),
              (Span{number(expected, name + "_off"), number(expected, name + "_len")}))
        << name;
  }
  for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex}) {
    const json::Value* place = expected.find("sections")->find(name_of(section));
    const Span span = place ? Span{number(*place, "off"), number(*place, "len")} : Span{};
    EXPECT_EQ(envelope.place(section), span) << name_of(section);
    if (place) {
      EXPECT_EQ(crypto::to_hex(crypto::hash64(file.section(section))), place->find("hash64")->text());
    }
  }
}

/// What verify notes about files of the reference that are unlike the page, and valid.
std::vector<std::string> field_notes(const std::string& name) {
  if (name == "requant_inplace") return {"note DeadBytes data 13184"};
  if (name == "skill_file") return {"note StrayHash vocab 128"};
  if (name == "skill_sparse") return {"note FeatureBit envelope 12"};
  return {};
}

TEST(Golden, FilesInTheFieldOpenVerifyAndDecodeToTheirWritersValues) {
  for (const auto& path : files_in(test_data("cmf"), ".cmf")) {
    SCOPED_TRACE(path.filename());
    const auto file = CmfFile::open(path);
    ASSERT_TRUE(file) << file.error().code << " " << file.error().place << ": " << file.error().message;
    std::filesystem::path json_path = path;
    const json::Value expected = read_json(json_path.replace_extension(".json"));
    expect_file(*file, expected);
    expect_field_envelope(*file, *expected.find("envelope"));
    if (const json::Value* header = expected.find("header")) {
      EXPECT_TRUE(file->header() == *header);
    }
    if (const json::Value* meta = expected.find("masks_meta")) {
      EXPECT_TRUE(file->masks() && file->masks()->meta == *meta);
    }
    expect_tensors(*file, *expected.find("tensors"));
    const auto report = verify(path);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(testing::summaries(report->findings), ElementsAreArray(field_notes(path.stem())));
    EXPECT_TRUE(report->valid());
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
    expect_file(*file, expected);
    EXPECT_EQ(file->envelope().features, expected.find("envelope")->find("required_features")->as_unsigned());
    EXPECT_EQ(as_text(file->section(Section::kHeader)), expected.find("header_text")->text());
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
  // Unlike the reference, which opens flags1, feature_none and dtype_reserved7.
  const std::map<std::string, std::vector<std::string>> kFindings = {
      {"data_len_past_eof", {"error Bounds data 48"}},
      {"data_off_unaligned", {"error Bounds data 48"}},
      {"dir_count_huge", {"error Parse dir 1026"}},
      {"dir_hash_flip", {"error Hash dir 120"}},
      {"dtype99", {"error Parse dir 1048 lm_head.weight"}},
      {"dtype_reserved7", {"error Parse dir 1048 lm_head.weight"}},
      {"duplicate_name", {"error Parse dir 1098 lm_head.weight"}},
      {"empty", {"error Truncated envelope 0"}},
      {"feature_bit3", {"error UnsupportedFeature envelope 12"}},
      {"feature_bit7", {"error UnsupportedFeature envelope 12"}},
      {"feature_none", {"error Parse envelope 12"}},
      {"flags1", {"error Parse envelope 8"}},
      {"header_hash_zero", {"note NoHash header 112", "note NoHash dir 120"}},
      {"header_json_flip", {"error Parse header 128 $"}},
      {"header_off_overflow", {"error Bounds header 16"}},
      {"header_space", {"error Hash header 112"}},
      {"index_groups", {"error Bounds index 101625"}},
      {"magic", {"error InvalidMagic envelope 0"}},
      {"masks_count", {"error Parse masks 97920"}},
      {"masks_meta_len", {"error Bounds masks 97924"}},
      {"name_not_utf8", {"error Parse dir 1042"}},
      {"name_out_of_pool", {"error Parse dir 1042"}},
      {"nbytes_mismatch", {"error Bounds dir 1082 lm_head.weight"}},
      {"ndim7", {"error Parse dir 1049 lm_head.weight"}},
      {"pool_off_low", {"error Parse dir 1034"}},
      {"shape_overflow", {"error Bounds dir 1050 lm_head.weight"}},
      {"tensor_flip", {"error Hash data 4096 lm_head.weight"}},
      {"tensor_off_unaligned", {"error Bounds dir 1074 lm_head.weight"}},
      {"tensor_past_data", {"error Bounds dir 1074 lm_head.weight"}},
      {"trailing_garbage", {}},
      {"truncated_100", {"error Truncated envelope 100"}},
      {"truncated_mid", {"error Bounds data 48"}},
      {"vbit_ro_off0", {"error Parse data 4736 lm_head.weight"}},
      {"vbit_ro_width7", {"error Parse data 4096 lm_head.weight"}},
      {"version1", {"error UnsupportedVersion envelope 4"}},
      {"version3", {"error UnsupportedVersion envelope 4"}},
      {"vocab_past_eof", {"error Bounds vocab 80"}},
  };
  size_t files = 0;
  for (const auto& path : files_in(test_data("cmf/bad"), ".cmf")) {
    const auto expected = kFindings.find(path.stem());
    ASSERT_NE(expected, kFindings.end()) << path;
    const VerifyReport report = verify_bytes(as_bytes(read_text(path)), std::nullopt);
    EXPECT_EQ(testing::summaries(report.findings), expected->second) << path;
    ++files;
  }
  EXPECT_EQ(files, kFindings.size());
}

/// How the golden file was made, said in its JSON.
quant::EncodeOptions golden_options(const TensorRecord& tensor, std::span<const float> values,
                                    std::vector<uint8_t>& widths) {
  quant::EncodeOptions options{.overlay_share = 0.02};
  if (tensor.dtype == DType::kVbit || tensor.dtype == DType::kVbitRo) {
    const std::vector<double> levels = quant::vbit_row_levels(values, tensor.shape);
    widths = quant::vbit_row_widths(levels, quant::vbit_mean_level(levels), 4.25);
    options.row_widths = widths;
  }
  return options;
}

TEST(Golden, EncodersGiveTheBytesOfTheReference) {
  const auto file = CmfFile::open(test_data("cmf_strict/golden/encode.cmf"));
  ASSERT_TRUE(file);
  int encoded = 0;
  for (const TensorRecord& tensor : file->tensors()) {
    const bool is_floor = tensor.name.starts_with("floor.");
    if (!tensor.name.starts_with("enc.") && !is_floor) continue;
    SCOPED_TRACE(tensor.name);
    const quant::Codec* codec = quant::find_codec(tensor.dtype);
    ASSERT_TRUE(codec->can_encode());
    const TensorRecord* source =
        file->find(is_floor ? std::string("src.floor") : "src." + std::string(tensor.name.substr(4)));
    ASSERT_TRUE(source);
    const std::vector<float> values = decode(*file, *source);
    std::vector<uint8_t> widths;
    const quant::EncodeOptions options = golden_options(tensor, values, widths);
    const auto bytes = quant::encoded_bytes(*codec, tensor.shape, options);
    ASSERT_TRUE(bytes);
    ByteVector payload(*bytes);
    ASSERT_TRUE(codec->encode(values, tensor.shape, options, payload));
    EXPECT_EQ(crypto::to_hex(crypto::hash64(payload)), crypto::to_hex(tensor.hash));
    ++encoded;
  }
  EXPECT_EQ(encoded, 21);
}

}  // namespace
}  // namespace amphora::cmf
