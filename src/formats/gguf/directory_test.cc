// Directories of GGUF files: what other people's writers made, and each damage refused for its own reason.
#include "formats/gguf/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "amphora/json.h"
#include "base/testing/test_data.h"
#include "formats/gguf/testing/gguf_builder.h"

namespace amphora::gguf {
namespace {

using ::testing::ElementsAre;
using testing::GgufBuilder;
using ::testing::HasSubstr;

std::string contents(std::string_view name) {
  std::ifstream in(amphora::testing::test_data(name), std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A value of each kind and three tensors, the first of which needs padding behind it.
GgufBuilder small_builder() {
  GgufBuilder builder;
  builder.add_string("general.architecture", "llama")
      .add_u32("llama.block_count", 1)
      .add_bool("a.flag", true);
  builder.add_f32("a.eps", 0.5f).add_strings("a.names", {"x", "", "yz"}).add_i32s("a.ids", {-1, 7});
  builder.add_f32_tensor("one", {3}, {1, 2, 3}).add_f32_tensor("two", {2, 4}, std::vector<float>(8, 4));
  builder.add_tensor("three", {32, 2}, 2, ByteVector(36, std::byte{0x11}));
  return builder;
}

TEST(GgufDirectory, ReadsWhatWasWritten) {
  const std::string file = small_builder().file();
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->version, 3u);
  EXPECT_EQ(directory->alignment, 32u);
  EXPECT_EQ(directory->metadata.size(), 6u);
  EXPECT_EQ(directory->metadata[1].key, "llama.block_count");
  EXPECT_EQ(directory->find("general.architecture")->as_string(), "llama");
  EXPECT_EQ(directory->find("llama.block_count")->as_unsigned(), 1u);
  EXPECT_EQ(directory->find("a.flag")->as_bool(), true);
  EXPECT_EQ(directory->find("a.eps")->as_float(), 0.5);
  EXPECT_THAT(directory->find("a.names")->as_array()->strings, ElementsAre("x", "", "yz"));
  EXPECT_EQ(directory->find("a.ids")->as_array()->integer_at(0), -1);
  EXPECT_EQ(directory->find("a.ids")->as_array()->integer_at(1), 7);
  EXPECT_EQ(directory->find("a.nothing"), nullptr);
  EXPECT_EQ(directory->find("a.flag")->as_unsigned(), std::nullopt);

  ASSERT_EQ(directory->tensors.size(), 3u);
  const Tensor* two = directory->find_tensor("two");
  ASSERT_NE(two, nullptr);
  EXPECT_THAT(two->shape, ElementsAre(4, 2));  // outermost first
  EXPECT_EQ(two->elements, 8u);
  EXPECT_EQ(two->data.size(), 32u);
  EXPECT_EQ(two->data.data(), as_bytes(file).data() + two->offset);
  EXPECT_EQ(two->offset, directory->tensors[0].offset + 32);
  EXPECT_EQ(directory->find_tensor("three")->type->name, "Q4_0");
}

TEST(GgufDirectory, ReadsEveryValueType) {
  GgufBuilder builder;
  const auto raw = [&](std::string_view key, ValueType type, std::vector<int> bytes) {
    ByteVector payload;
    for (const int byte : bytes) payload.push_back(static_cast<std::byte>(byte));
    builder.add_raw(key, type, payload);
  };
  raw("u8", ValueType::kUint8, {0xFF});
  raw("i8", ValueType::kInt8, {0xFF});
  raw("u16", ValueType::kUint16, {0xFE, 0xFF});
  raw("i16", ValueType::kInt16, {0xFE, 0xFF});
  raw("i32", ValueType::kInt32, {0xFD, 0xFF, 0xFF, 0xFF});
  raw("u64", ValueType::kUint64, {0, 0, 0, 0, 0, 0, 0, 0x80});
  raw("i64", ValueType::kInt64, {0, 0, 0, 0, 0, 0, 0, 0x80});
  raw("f64", ValueType::kFloat64, {0, 0, 0, 0, 0, 0, 0xF8, 0xBF});
  // an array of two arrays of one uint8 each
  raw("nested", ValueType::kArray, {9, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
                                    0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6});
  raw("bools", ValueType::kArray, {7, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const std::string file = builder.file();
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_TRUE(directory) << directory.error().place << ": " << directory.error().message;
  EXPECT_EQ(directory->find("u8")->as_unsigned(), 255u);
  EXPECT_EQ(std::get<int64_t>(directory->find("i8")->content), -1);
  EXPECT_EQ(directory->find("i8")->as_unsigned(), std::nullopt);
  EXPECT_EQ(directory->find("u16")->as_unsigned(), 65534u);
  EXPECT_EQ(std::get<int64_t>(directory->find("i16")->content), -2);
  EXPECT_EQ(std::get<int64_t>(directory->find("i32")->content), -3);
  EXPECT_EQ(directory->find("u64")->as_unsigned(), 1ull << 63);
  EXPECT_EQ(std::get<int64_t>(directory->find("i64")->content), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(directory->find("f64")->as_float(), -1.5);
  const Array* nested = directory->find("nested")->as_array();
  ASSERT_EQ(nested->arrays.size(), 2u);
  EXPECT_EQ(nested->arrays[1].as_array()->integer_at(0), 6);
  EXPECT_EQ(directory->find("bools")->as_array()->count, 2u);
}

TEST(GgufDirectory, AcceptsVersion2AnotherAlignmentAndNoLastPadding) {
  GgufBuilder builder;
  builder.version = 2;
  builder.alignment = 64;
  builder.add_u32("general.alignment", 64).add_f32_tensor("a", {3}, {1, 2, 3}).add_f32_tensor("b", {1}, {4});
  std::string file = builder.file();
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->version, 2u);
  EXPECT_EQ(directory->tensors[1].offset % 64, 0u);
  file.resize(file.size() - 60);
  EXPECT_TRUE(decode_directory(as_bytes(file)));
}

TEST(GgufDirectory, ReadsFilesOfOtherWriters) {
  const std::string file = contents("gguf/alltypes.gguf");
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->metadata.size(), 20u);
  EXPECT_EQ(directory->tensors.size(), 20u);
  EXPECT_EQ(directory->find("qwen2.embedding_length")->as_unsigned(), 256u);
  EXPECT_EQ(directory->find("tokenizer.ggml.tokens")->as_array()->strings.size(), 128u);

  // Values of every tensor against those of the `gguf` package.
  const auto expected = json::parse(contents("gguf/alltypes.expected.json"));
  ASSERT_TRUE(expected);
  size_t compared = 0;
  for (const json::Member& member : expected->members()) {
    const Tensor* tensor = directory->find_tensor(member.key);
    ASSERT_NE(tensor, nullptr) << member.key;
    EXPECT_EQ(tensor->type->name, member.value.find("type")->text());
    std::vector<float> values(tensor->elements);
    ASSERT_TRUE(quant::ggml::decode_elements(*tensor->type, tensor->data, 0, values)) << member.key;
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(values[i], static_cast<float>(member.value.find("first8")->items()[i].as_double()))
          << member.key;
    double sum = 0, squares = 0, magnitudes = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
      magnitudes += std::abs(value);
    }
    // Rounding of 65536 additions in another order: at most n · 2^-53 of the sum of magnitudes.
    const double bound = static_cast<double>(values.size()) * 0x1p-53;
    EXPECT_NEAR(sum, member.value.find("sum")->as_double(), bound * magnitudes) << member.key;
    EXPECT_NEAR(squares, member.value.find("sumsq")->as_double(), bound * squares) << member.key;
    ++compared;
  }
  EXPECT_EQ(compared, 14u);
  for (const char* name : {"gguf/llama_f32.gguf", "gguf/qwen2_q8_0.gguf"}) {
    const std::string other = contents(name);
    EXPECT_TRUE(decode_directory(as_bytes(other))) << name;
  }
}

/// One change of the small file, and what must come of it.
struct Damage {
  const char* name;
  std::function<void(GgufBuilder&)> change;
  Fault fault;
  const char* code;
  const char* place;
  const char* message;
};

TEST(GgufDirectory, RefusesEachDamageForItsOwnReason) {
  const auto raw = [](std::string_view key, ValueType type, std::vector<uint64_t> words) {
    return [=](GgufBuilder& builder) {
      ByteWriter payload;
      for (const uint64_t word : words) payload.write(word);
      builder.add_raw(key, type, payload.bytes());
    };
  };
  const auto array = [](ValueType element, uint64_t count) {
    return [=](GgufBuilder& builder) {
      ByteWriter payload;
      payload.write(static_cast<uint32_t>(element));
      payload.write(count);
      builder.add_raw("k", ValueType::kArray, payload.bytes());
    };
  };
  const auto dimensions = [](std::vector<uint64_t> values) {
    return [=](GgufBuilder& builder) { builder.tensors[0].dimensions = values; };
  };
  const Damage kDamages[] = {
      {"version 1", [](GgufBuilder& b) { b.version = 1; }, Fault::kUnsupported, "Version", "header",
       "version 1"},
      {"version 4", [](GgufBuilder& b) { b.version = 4; }, Fault::kUnsupported, "Version", "header",
       "version 4"},
      {"big-endian", [](GgufBuilder& b) { b.version = 0x03000000; }, Fault::kUnsupported, "Version", "header",
       "endian"},
      {"key twice", [](GgufBuilder& b) { b.add_u32("a.flag", 1); }, Fault::kCorrupt, "DuplicateKey", "a.flag",
       "duplicate key"},
      {"empty key", [](GgufBuilder& b) { b.add_u32("", 1); }, Fault::kCorrupt, "Key", "metadata key 6",
       "0 bytes"},
      {"key with a line break", [](GgufBuilder& b) { b.add_u32("a\nb", 1); }, Fault::kCorrupt, "Key",
       "metadata key 6", "a?b"},
      {"long key", [](GgufBuilder& b) { b.add_u32(std::string(65536, 'k'), 1); }, Fault::kCorrupt, "Key",
       "metadata key 6", "65536"},
      {"value type 13", raw("k", ValueType{13}, {}), Fault::kCorrupt, "ValueType", "k", "13"},
      {"value type 2^32-1", raw("k", ValueType{0xFFFFFFFF}, {}), Fault::kCorrupt, "ValueType", "k",
       "4294967295"},
      {"bool 2", raw("k", ValueType::kBool, {2}), Fault::kCorrupt, "Value", "k", "bool"},
      {"array of bools with a 2",
       [](GgufBuilder& b) {
         ByteWriter payload;
         payload.write(static_cast<uint32_t>(ValueType::kBool));
         payload.write(uint64_t{2});
         payload.write(uint16_t{0x0201});
         b.add_raw("k", ValueType::kArray, payload.bytes());
       },
       Fault::kCorrupt, "Value", "k", "bool is 2"},
      {"string of 1 GiB", raw("k", ValueType::kString, {1ull << 30}), Fault::kTruncated, "Truncated", "k",
       "string"},
      {"string of 2^64-1", raw("k", ValueType::kString, {~0ull}), Fault::kTruncated, "Truncated", "k",
       "string"},
      {"2^60 strings", array(ValueType::kString, 1ull << 60), Fault::kTruncated, "Counts", "k",
       "1152921504606846976"},
      {"2^60 bytes", array(ValueType::kUint8, 1ull << 60), Fault::kTruncated, "Counts", "k",
       "1152921504606846976"},
      {"2^61 doubles", array(ValueType::kFloat64, 1ull << 61), Fault::kTruncated, "Counts", "k", "float64"},
      {"2^60 arrays", array(ValueType::kArray, 1ull << 60), Fault::kTruncated, "Counts", "k", "array"},
      {"array of type 13", array(ValueType{13}, 1), Fault::kCorrupt, "ValueType", "k", "13"},
      {"arrays 10,000 deep",
       [](GgufBuilder& b) {
         ByteWriter payload;
         for (int i = 0; i < 10'000; ++i) {
           payload.write(static_cast<uint32_t>(ValueType::kArray));
           payload.write(uint64_t{1});
         }
         b.add_raw("k", ValueType::kArray, payload.bytes());
       },
       Fault::kRefused, "ArrayDepth", "k", "deeper"},
      {"alignment 0", [](GgufBuilder& b) { b.add_u32("general.alignment", 0); }, Fault::kCorrupt, "Alignment",
       "general.alignment", "uint32 0"},
      {"alignment 48", [](GgufBuilder& b) { b.add_u32("general.alignment", 48); }, Fault::kCorrupt,
       "Alignment", "general.alignment", "48"},
      {"alignment 2^31", [](GgufBuilder& b) { b.add_u32("general.alignment", 1u << 31); }, Fault::kCorrupt,
       "Alignment", "general.alignment", "2147483648"},
      {"alignment a text", [](GgufBuilder& b) { b.add_string("general.alignment", "32"); }, Fault::kCorrupt,
       "Alignment", "general.alignment", "string"},
      {"name twice", [](GgufBuilder& b) { b.tensors[1].name = "one"; }, Fault::kCorrupt, "DuplicateTensor",
       "one", "twice"},
      {"empty name", [](GgufBuilder& b) { b.tensors[1].name = ""; }, Fault::kCorrupt, "TensorName",
       "tensor 1", "0 bytes"},
      {"name of 65 bytes", [](GgufBuilder& b) { b.tensors[1].name = std::string(65, 'n'); }, Fault::kCorrupt,
       "TensorName", "tensor 1", "65 bytes"},
      {"name with a zero", [](GgufBuilder& b) { b.tensors[1].name = std::string("a\0b", 3); },
       Fault::kCorrupt, "TensorName", "tensor 1", "a?b"},
      {"no dimensions", dimensions({}), Fault::kCorrupt, "Rank", "one", "0 dimensions"},
      {"5 dimensions", dimensions({1, 1, 1, 1, 3}), Fault::kCorrupt, "Rank", "one", "5 dimensions"},
      {"9 dimensions", dimensions({1, 1, 1, 1, 1, 1, 1, 1, 3}), Fault::kCorrupt, "Rank", "one",
       "9 dimensions"},
      {"dimension 0 is 0", dimensions({0, 1, 1, 1}), Fault::kCorrupt, "Dimension", "one", "dimension 0 is 0"},
      {"dimension 1 is 0", dimensions({1, 0, 1, 1}), Fault::kCorrupt, "Dimension", "one", "dimension 1 is 0"},
      {"dimension 2 is 0", dimensions({1, 1, 0, 1}), Fault::kCorrupt, "Dimension", "one", "dimension 2 is 0"},
      {"dimension 3 is 0", dimensions({1, 1, 1, 0}), Fault::kCorrupt, "Dimension", "one", "dimension 3 is 0"},
      {"2-D wraps", dimensions({(1ull << 42) + 1, 1ull << 22}), Fault::kCorrupt, "SizeOverflow", "one",
       "size overflow"},
      {"3-D wraps", dimensions({1ull << 21, 1ull << 21, 1ull << 22}), Fault::kCorrupt, "SizeOverflow", "one",
       "size overflow"},
      {"bytes wrap", dimensions({(1ull << 62) + 1}), Fault::kCorrupt, "SizeOverflow", "one", "size overflow"},
      {"2^63 elements", dimensions({1ull << 63}), Fault::kCorrupt, "SizeOverflow", "one", "size overflow"},
      {"offset + size wraps",
       [](GgufBuilder& b) {
         b.tensors[0].offset = ~0ull - 31;
         b.tensors[0].dimensions = {8};
       },
       Fault::kCorrupt, "SizeOverflow", "one", "size overflow"},
      {"type 4", [](GgufBuilder& b) { b.tensors[0].type = 4; }, Fault::kUnsupported, "TensorType", "one",
       "type 4"},
      {"type 2^32-1", [](GgufBuilder& b) { b.tensors[0].type = ~0u; }, Fault::kUnsupported, "TensorType",
       "one", "4294967295"},
      {"row is not whole blocks", [](GgufBuilder& b) { b.tensors[2].dimensions = {16, 4}; }, Fault::kCorrupt,
       "Dimension", "three", "Q4_0"},
      {"offset not aligned", [](GgufBuilder& b) { b.tensors[1].offset = 33; }, Fault::kCorrupt,
       "TensorOffset", "two", "33"},
      {"two at one place", [](GgufBuilder& b) { b.tensors[1].offset = 0; }, Fault::kCorrupt, "Overlap", "two",
       "inside"},
      {"larger than its place", dimensions({9}), Fault::kCorrupt, "Overlap", "two", "inside"},
      {"hole", [](GgufBuilder& b) { b.tensors[2].offset += 32; }, Fault::kCorrupt, "Hole", "three",
       "32 bytes"},
      {"hole at the start",
       [](GgufBuilder& b) {
         for (auto& t : b.tensors) t.offset += 32;
       },
       Fault::kCorrupt, "Hole", "one", "32 bytes"},
      {"past the end", [](GgufBuilder& b) { b.tensors[2].dimensions = {32, 20}; }, Fault::kTruncated,
       "OutOfRange", "three", "360 bytes"},
      {"bytes behind the last", [](GgufBuilder& b) { b.tensors.pop_back(); }, Fault::kCorrupt,
       "TrailingBytes", "data", "64 bytes"},
  };
  ASSERT_TRUE(decode_directory(as_bytes(small_builder().file())));
  for (const Damage& damage : kDamages) {
    GgufBuilder builder = small_builder();
    damage.change(builder);
    const std::string file = builder.file();
    const auto directory = decode_directory(as_bytes(file));
    ASSERT_FALSE(directory) << damage.name;
    const Error& error = directory.error();
    EXPECT_EQ(error.fault, damage.fault) << damage.name << ": " << error.message;
    EXPECT_EQ(error.code, damage.code) << damage.name << ": " << error.message;
    EXPECT_EQ(error.place, damage.place) << damage.name;
    EXPECT_THAT(error.message, HasSubstr(damage.message)) << damage.name;
    ASSERT_TRUE(error.offset) << damage.name;
    EXPECT_LE(*error.offset, file.size()) << damage.name;
  }
}

TEST(GgufDirectory, RefusesHeadersThatClaimTooMuch) {
  struct Claim {
    size_t at;
    uint64_t value;
    Fault fault;
    const char* code;
  };
  for (const Claim& claim :
       {Claim{8, 1ull << 60, Fault::kRefused, "Counts"}, Claim{16, 1ull << 60, Fault::kRefused, "Counts"},
        Claim{8, 1000, Fault::kTruncated, "Counts"}, Claim{16, 1000, Fault::kTruncated, "Counts"},
        Claim{0, 0x0000000346474755, Fault::kCorrupt, "Magic"}}) {
    std::string file = small_builder().file();
    store_little_endian(reinterpret_cast<std::byte*>(file.data()) + claim.at, claim.value);
    const auto directory = decode_directory(as_bytes(file));
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().fault, claim.fault) << directory.error().message;
    EXPECT_EQ(directory.error().code, claim.code) << directory.error().message;
    EXPECT_EQ(directory.error().offset, claim.at);
  }
}

TEST(GgufDirectory, PointsAtTheFaultyField) {
  GgufBuilder builder = small_builder();
  builder.tensors[1].type = 77;
  const std::string file = builder.file();
  const auto directory = decode_directory(as_bytes(file));
  ASSERT_FALSE(directory);
  // behind the name "two": rank (4 bytes) and two dimensions
  EXPECT_EQ(directory.error().offset, file.find("two") + 3 + 4 + 16);
}

TEST(GgufDirectory, RefusesEveryTruncation) {
  const std::string file = small_builder().file();
  for (size_t kept = 0; kept < file.size(); ++kept) {
    if (kept == file.size() - 28)
      continue;  // the end of the last tensor, without its padding: no data is missing
    const std::string cut(file, 0, kept);
    const auto directory = decode_directory(as_bytes(cut));
    ASSERT_FALSE(directory) << kept;
    EXPECT_EQ(directory.error().fault, Fault::kTruncated) << kept << ": " << directory.error().message;
  }
}

}  // namespace
}  // namespace amphora::gguf
