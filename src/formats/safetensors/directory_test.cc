// Directories of safetensors files: what the reference reads, and each damage refused for its own reason.
#include "formats/safetensors/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "amphora/json.h"
#include "base/byte_writer.h"
#include "base/testing/test_data.h"

namespace amphora::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::test_data;

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file of a header and as many zero bytes of data.
std::string file_of(std::string_view header, size_t data_bytes) {
  ByteWriter out;
  out.write(uint64_t{header.size()});
  out.write_bytes(as_bytes(header));
  out.write_zeros(data_bytes);
  return std::string(as_text(out.bytes()));
}

TEST(Directory, ReadsTheReferencesFile) {
  const std::string file = contents(test_data("safetensors/dtypes.safetensors"));
  const auto expected = json::parse(contents(test_data("safetensors/dtypes.json")));
  ASSERT_TRUE(expected);
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_TRUE(directory) << directory.error().message;
  const uint64_t data_offset = 8 + *expected->find("header_bytes")->as_unsigned();

  const auto& tensors = expected->find("tensors")->members();
  ASSERT_EQ(directory->tensors.size(), tensors.size());
  for (const Tensor& tensor : directory->tensors) {
    const json::Value* want = expected->find("tensors")->find(tensor.name);
    ASSERT_NE(want, nullptr) << tensor.name;
    EXPECT_EQ(info(tensor.type).name, want->find("dtype")->text());
    std::vector<uint64_t> shape;
    for (const json::Value& dimension : want->find("shape")->items())
      shape.push_back(*dimension.as_unsigned());
    EXPECT_EQ(tensor.shape, shape) << tensor.name;
    EXPECT_EQ(tensor.offset, data_offset + *want->find("data_offsets")->items()[0].as_unsigned())
        << tensor.name;
    std::string hex;
    for (const std::byte byte : tensor.data) {
      hex += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
      hex += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
    }
    EXPECT_EQ(hex, want->find("bytes_hex")->text()) << tensor.name;
  }
  const std::map<std::string, std::string> metadata(directory->metadata.begin(), directory->metadata.end());
  EXPECT_EQ(metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "one tensor per element type"}}));
}

TEST(Directory, AcceptsWhatIsUnusualButValid) {
  // header order is not data order; white space behind the JSON pads it
  const auto shuffled = decode_directory(as_bytes(file_of(
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      6)));
  ASSERT_TRUE(shuffled) << shuffled.error().message;
  EXPECT_EQ(shuffled->tensors[0].name, "b");
  EXPECT_THAT(shuffled->tensors[1].shape, ElementsAre());
  EXPECT_EQ(shuffled->tensors[1].elements, 1u);
  EXPECT_TRUE(decode_directory(as_bytes(file_of("{}", 0))));
  EXPECT_TRUE(
      decode_directory(as_bytes(file_of(R"({"f":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1))));
  EXPECT_TRUE(decode_directory(as_bytes(file_of(
      R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      1))));
}

struct BadHeader {
  const char* name;
  std::string header;
  size_t data_bytes;
  Fault fault;
  const char* code;
  const char* message;
};

std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets,
                  std::string_view name = "a") {
  return "\"" + std::string(name) + "\":{\"dtype\":" + std::string(dtype) +
         ",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}";
}

std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "{" + entry(dtype, shape, offsets) + "}";
}

std::string two(std::string_view first_offsets, std::string_view second_offsets) {
  return "{" + entry("\"F32\"", "[1]", first_offsets, "a") + "," +
         entry("\"F32\"", "[1]", second_offsets, "b") + "}";
}

TEST(Directory, RefusesEachBadHeaderForItsOwnReason) {
  const std::string f32 = "\"F32\"";
  const BadHeader kBad[] = {
      {"shape larger than its bytes", one(f32, "[1000,1000]", "[0,4]"), 4, Fault::kCorrupt, "SizeMismatch",
       "4000000"},
      {"shape wraps", one(f32, "[4611686018427387904,4]", "[0,4]"), 4, Fault::kCorrupt, "SizeOverflow",
       "size overflow"},
      {"bits wrap", one(f32, "[1152921504606846976]", "[0,4]"), 4, Fault::kCorrupt, "SizeOverflow",
       "size overflow"},
      {"zero hides overflow", one(f32, "[0,4611686018427387904,4]", "[0,0]"), 0, Fault::kCorrupt,
       "SizeOverflow", "overflow"},
      {"unknown dtype", one("\"F7\"", "[1]", "[0,4]"), 4, Fault::kCorrupt, "UnknownType", "F7"},
      {"dtype not text", one("7", "[1]", "[0,4]"), 4, Fault::kCorrupt, "TensorEntry", "dtype"},
      {"half a byte", one("\"F4\"", "[3]", "[0,1]"), 1, Fault::kCorrupt, "SizeMismatch", "whole bytes"},
      {"negative offset", one(f32, "[2]", "[-8,0]"), 8, Fault::kCorrupt, "TensorEntry", "-8"},
      {"reversed", one(f32, "[2]", "[8,0]"), 8, Fault::kCorrupt, "TensorEntry", "reversed"},
      {"fractions", one(f32, "[1]", "[0.0,4.0]"), 4, Fault::kCorrupt, "TensorEntry", "0.0"},
      {"texts", one(f32, "[1]", "[\"0\",\"4\"]"), 4, Fault::kCorrupt, "TensorEntry", "\"0\""},
      {"three offsets", one(f32, "[1]", "[0,4,8]"), 4, Fault::kCorrupt, "TensorEntry", "two offsets"},
      {"end at 2^64-1", one(f32, "[1]", "[0,18446744073709551615]"), 4, Fault::kTruncated, "OutOfRange",
       "past"},
      {"end past the data", one(f32, "[2]", "[0,8]"), 4, Fault::kTruncated, "OutOfRange", "past"},
      {"negative dimension", one(f32, "[-1]", "[0,4]"), 4, Fault::kCorrupt, "TensorEntry", "-1"},
      {"shape not a list", one(f32, "1", "[0,4]"), 4, Fault::kCorrupt, "TensorEntry", "shape"},
      {"17 dimensions", one(f32, "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, Fault::kCorrupt,
       "TensorEntry", "17"},
      {"overlap by one byte",
       "{" + entry("\"U8\"", "[4]", "[0,4]", "a") + "," + entry("\"U8\"", "[4]", "[3,7]", "b") + "}", 7,
       Fault::kCorrupt, "Overlap", "by 1 bytes"},
      {"same range twice", two("[0,4]", "[0,4]"), 4, Fault::kCorrupt, "Overlap", "by 4 bytes"},
      {"hole between", two("[0,4]", "[8,12]"), 12, Fault::kCorrupt, "Hole", "4 bytes"},
      {"hole before the first", two("[4,8]", "[8,12]"), 12, Fault::kCorrupt, "Hole", "4 bytes"},
      {"bytes behind the last", one(f32, "[1]", "[0,4]"), 9, Fault::kCorrupt, "TrailingBytes", "5 bytes"},
      {"no tensors but bytes", "{}", 1, Fault::kCorrupt, "TrailingBytes", "1 bytes"},
      {"key twice", two("[0,4]", "[4,8]").replace(two("[0,4]", "[4,8]").find("\"b\""), 3, "\"a\""), 8,
       Fault::kCorrupt, "Parse", "duplicate key"},
      {"key twice, once escaped",
       two("[0,4]", "[4,8]").replace(two("[0,4]", "[4,8]").find("\"b\""), 3, R"("\u0061")"), 8,
       Fault::kCorrupt, "Parse", "duplicate key"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, Fault::kCorrupt, "Parse",
       "duplicate key"},
      {"metadata number", R"({"__metadata__":{"a":1}})", 0, Fault::kCorrupt, "Metadata", "\"a\""},
      {"metadata not an object", R"({"__metadata__":"x"})", 0, Fault::kCorrupt, "Metadata", "string"},
      {"field missing", R"({"a":{"dtype":"F32","shape":[1]}})", 4, Fault::kCorrupt, "TensorEntry", "missing"},
      {"field unknown", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, Fault::kCorrupt,
       "TensorEntry", "\"x\""},
      {"entry not an object", R"({"a":[0,4]})", 4, Fault::kCorrupt, "TensorEntry", "array"},
      {"empty header", "", 0, Fault::kCorrupt, "HeaderStart", "'{'"},
      {"a list", "[]", 0, Fault::kCorrupt, "HeaderStart", "'{'"},
      {"white space first", " {}", 0, Fault::kCorrupt, "HeaderStart", "'{'"},
      {"not JSON", "{not json}", 0, Fault::kCorrupt, "Parse", ""},
      {"100,000 brackets", "{\"a\":" + std::string(100'000, '['), 0, Fault::kCorrupt, "Parse", ""},
      {"number of 1 MB", one(f32, "[" + std::string(1'000'000, '9') + "]", "[0,4]"), 4, Fault::kCorrupt, "",
       ""},
      {"lone surrogate", R"({"\ud800":1})", 0, Fault::kCorrupt, "Parse", ""},
      {"ill-formed UTF-8", "{\"\xFF\":1}", 0, Fault::kCorrupt, "Parse", ""},
  };
  for (const BadHeader& bad : kBad) {
    const std::string file = file_of(bad.header, bad.data_bytes);
    const auto directory = decode_directory(as_bytes(file));
    ASSERT_FALSE(directory) << bad.name;
    EXPECT_EQ(directory.error().fault, bad.fault) << bad.name << ": " << directory.error().message;
    if (*bad.code != '\0') {
      EXPECT_EQ(directory.error().code, bad.code) << bad.name << ": " << directory.error().message;
    }
    EXPECT_THAT(directory.error().message, HasSubstr(bad.message)) << bad.name;
    EXPECT_LT(directory.error().message.size(), 300u) << bad.name;
  }
}

TEST(Directory, SaysWhichTensorAndWhere) {
  const std::string file =
      file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}, "b" :{"dtype":"F7"}})", 1);
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().place, "b");
  EXPECT_EQ(directory.error().offset, file.find("\"b\""));
}

TEST(Directory, RefusesBadHeaderLengthsBeforeReadingOn) {
  struct Length {
    uint64_t value;
    Fault fault;
    const char* code;
  };
  const Length kLengths[] = {{~0ull, Fault::kRefused, "HeaderTooLarge"},
                             {100'000'001, Fault::kRefused, "HeaderTooLarge"},
                             {100'000'000, Fault::kTruncated, "HeaderTruncated"},
                             {3, Fault::kTruncated, "HeaderTruncated"},
                             {0, Fault::kCorrupt, "HeaderStart"}};
  for (const Length& length : kLengths) {
    std::string file = file_of("{}", 0);
    store_little_endian(reinterpret_cast<std::byte*>(file.data()), length.value);
    const auto directory = decode_directory(as_bytes(file));
    ASSERT_FALSE(directory) << length.value;
    EXPECT_EQ(directory.error().fault, length.fault) << length.value;
    EXPECT_EQ(directory.error().code, length.code) << length.value;
    EXPECT_EQ(directory.error().offset, length.value == 0 ? 8u : 0u);
  }
  std::string file = file_of("{}", 0);
  store_little_endian(reinterpret_cast<std::byte*>(file.data()), uint64_t{100'000'001});
  EXPECT_EQ(decode_directory(as_bytes(file)).error().message,
            "header too large: 100000001 bytes, the limit of the format is 100000000");
}

TEST(Directory, RefusesWhatTheReferenceRefuses) {
  const std::map<std::string, std::string> kCodes = {{"empty", "HeaderTooSmall"},
                                                     {"header_length_past_end", "HeaderTooLarge"},
                                                     {"header_not_json", "Parse"},
                                                     {"hole", "Hole"},
                                                     {"negative_shape", "TensorEntry"},
                                                     {"offset_past_end", "OutOfRange"},
                                                     {"overlap", "Overlap"},
                                                     {"reversed_offsets", "TensorEntry"},
                                                     {"shape_overflow", "SizeOverflow"},
                                                     {"short", "HeaderTooSmall"},
                                                     {"size_mismatch", "SizeMismatch"},
                                                     {"trailing_bytes", "TrailingBytes"},
                                                     {"unknown_dtype", "UnknownType"}};
  for (const auto& [name, code] : kCodes) {
    const std::string file = contents(test_data("safetensors/bad/" + name + ".safetensors"));
    const auto directory = decode_directory(as_bytes(file));
    ASSERT_FALSE(directory) << name;
    EXPECT_EQ(directory.error().code, code) << name << ": " << directory.error().message;
  }
}

TEST(Directory, RefusesEveryTruncation) {
  const std::string file = contents(test_data("safetensors/dtypes.safetensors"));
  for (size_t kept = 0; kept < file.size(); ++kept)
    EXPECT_FALSE(decode_directory(as_bytes(std::string(file, 0, kept)))) << kept;
}

}  // namespace
}  // namespace amphora::safetensors
