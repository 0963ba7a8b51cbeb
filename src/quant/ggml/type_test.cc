// ggml blocks: every type against values computed by other people's code or by hand.
#include "quant/ggml/type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/testing/test_data.h"

namespace amphora::quant::ggml {
namespace {

ByteVector bytes_of_hex(std::string_view hex) {
  ByteVector bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits(values.size());
  if (!values.empty()) std::memcpy(bits.data(), values.data(), values.size_bytes());
  return bits;
}

/// tests/oracle/ggml_blocks.py: random blocks, values of the `gguf` package as little-endian f32.
struct Vector {
  const Type* type;
  ByteVector blocks;
  std::vector<float> values;
};

std::vector<Vector> oracle_vectors() {
  std::ifstream in(testing::test_data("gguf/blocks.json"));
  const auto root = json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  EXPECT_TRUE(root);
  std::vector<Vector> vectors;
  for (const json::Member& member : root->members()) {
    if (!member.value.is_object()) continue;
    Vector vector{find_type(member.key), bytes_of_hex(member.value.find("blocks")->text()), {}};
    EXPECT_NE(vector.type, nullptr) << member.key;
    const ByteVector values = bytes_of_hex(member.value.find("values")->text());
    for (size_t i = 0; i < values.size(); i += 4)
      vector.values.push_back(std::bit_cast<float>(load_little_endian<uint32_t>(&values[i])));
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

TEST(GgmlType, DecodesEveryBitAsTheReference) {
  const auto vectors = oracle_vectors();
  EXPECT_EQ(vectors.size(), 14u);
  for (const Vector& vector : vectors) {
    std::vector<float> values(vector.values.size());
    ASSERT_TRUE(decode_elements(*vector.type, vector.blocks, 0, values)) << vector.type->name;
    EXPECT_EQ(bits_of(values), bits_of(vector.values)) << vector.type->name;
  }
}

TEST(GgmlType, DecodesRangesThatStartAndEndInsideABlock) {
  for (const Vector& vector : oracle_vectors()) {
    const size_t elements = vector.values.size();
    const size_t block = vector.type->block_elements;
    for (const size_t first : {size_t{0}, size_t{1}, block - 1, block, block + 5, elements - 1, elements})
      for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, block, block + 1, 2 * block + 3}) {
        if (first > elements || count > elements - first) continue;
        std::vector<float> values(count);
        ASSERT_TRUE(decode_elements(*vector.type, vector.blocks, first, values)) << vector.type->name;
        EXPECT_EQ(bits_of(values), bits_of(std::span(vector.values).subspan(first, count)))
            << vector.type->name << " " << first << " " << count;
      }
  }
}

TEST(GgmlType, DecodesQ8KFromItsLayout) {
  // block_q8_K: float d, then 256 signed bytes, then 16 sums (i16) that the values do not depend on; value =
  // d · byte. Here d = -0.375 = 0xBEC00000 and byte i = i - 128 as a signed byte (i xor 0x80).
  ByteVector block(292);
  store_little_endian(block.data(), uint32_t{0xBEC00000});
  for (size_t i = 0; i < 256; ++i) block[4 + i] = static_cast<std::byte>(i ^ 0x80);
  for (size_t i = 260; i < 292; ++i) block[i] = std::byte{0xFF};
  std::vector<float> values(256);
  ASSERT_TRUE(decode_elements(*find_type("Q8_K"), block, 0, values));
  EXPECT_EQ(values[0], 48.0f);     // -0.375 · -128
  EXPECT_EQ(values[127], 0.375f);  // -0.375 · -1
  EXPECT_EQ(values[128], -0.0f);
  EXPECT_EQ(values[129], -0.375f);
  EXPECT_EQ(values[255], -47.625f);  // -0.375 · 127
}

TEST(GgmlType, DecodesPlainNumbers) {
  ByteWriter numbers;
  numbers.write(std::bit_cast<uint32_t>(1.5f));
  numbers.write(uint32_t{0x80000000});
  std::vector<float> two(2);
  ASSERT_TRUE(decode_elements(*find_type("F32"), numbers.bytes(), 0, two));
  EXPECT_EQ(bits_of(two), (std::vector<uint32_t>{0x3FC00000, 0x80000000}));
  ASSERT_TRUE(decode_elements(*find_type("I32"), numbers.bytes(), 0, two));
  EXPECT_EQ(two, (std::vector<float>{1069547520.0f, -2147483648.0f}));
  ASSERT_TRUE(decode_elements(*find_type("I16"), numbers.bytes(), 2, two));
  EXPECT_EQ(two, (std::vector<float>{0.0f, -32768.0f}));
  ASSERT_TRUE(decode_elements(*find_type("I8"), numbers.bytes(), 2, two));
  EXPECT_EQ(two, (std::vector<float>{-64.0f, 63.0f}));  // bytes C0 3F
  ByteWriter real;
  real.write(std::bit_cast<uint64_t>(0.1));
  std::vector<float> one(1);
  ASSERT_TRUE(decode_elements(*find_type("F64"), real.bytes(), 0, one));
  EXPECT_EQ(one[0], 0.1f);
}

TEST(GgmlType, RefusesRangesBeyondTheDataAndTypesWithoutDecoder) {
  const ByteVector data(36);
  std::vector<float> out(64);
  EXPECT_TRUE(decode_elements(*find_type("Q4_0"), data, 0, out));
  EXPECT_EQ(decode_elements(*find_type("Q4_0"), data, 1, out).error().fault, Fault::kUsage);
  EXPECT_EQ(decode_elements(*find_type("Q4_0"), data, ~0ull, out).error().fault, Fault::kUsage);
  EXPECT_EQ(decode_elements(*find_type("Q4_0"), Bytes(data).first(35), 0, out).error().fault, Fault::kUsage);
  EXPECT_EQ(decode_elements(*find_type("IQ1_S"), data, 0, out).error().fault, Fault::kUnsupported);
}

TEST(GgmlType, TableIsSortedAndConsistent) {
  int64_t previous = -1;
  for (const Type& type : types()) {
    EXPECT_GT(type.id, previous) << type.name;
    previous = type.id;
    EXPECT_EQ(find_type(type.id), &type);
    EXPECT_EQ(find_type(type.name), &type);
    EXPECT_LE(type.block_elements, kMaxBlockElements);
  }
  for (const uint32_t gone : {4u, 5u, 9u, 31u, 33u, 36u, 38u, 42u, 0xFFFFFFFFu})
    EXPECT_EQ(find_type(gone), nullptr) << gone;
}

}  // namespace
}  // namespace amphora::quant::ggml
