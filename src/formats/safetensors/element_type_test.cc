// Element types: their values against those that torch reads from the same bytes.
#include "formats/safetensors/element_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "amphora/json.h"
#include "base/testing/test_data.h"

namespace amphora::safetensors {
namespace {

float expected_value(const json::Value& value) {
  if (value.is_bool()) return value.as_bool() ? 1.0f : 0.0f;
  if (value.is_string() && value.text() == "inf") return std::numeric_limits<float>::infinity();
  if (value.is_string() && value.text() == "-inf") return -std::numeric_limits<float>::infinity();
  if (value.is_string() && value.text() == "nan") return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(value.is_string() ? std::strtod(value.text().c_str(), nullptr)
                                              : value.as_double());
}

ByteVector bytes_of_hex(std::string_view hex) {
  ByteVector bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

TEST(ElementType, DecodesWhatTheReferenceReads) {
  std::ifstream in(testing::test_data("safetensors/dtypes.json"));
  const auto expected = json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(expected);
  size_t decoded_types = 0;
  for (const json::Member& member : expected->find("tensors")->members()) {
    const ElementInfo* type = find_element_type(member.value.find("dtype")->text());
    ASSERT_NE(type, nullptr) << member.key;
    const ByteVector bytes = bytes_of_hex(member.value.find("bytes_hex")->text());
    const auto& values = member.value.find("values")->items();
    ASSERT_EQ(bytes.size(), values.size() * type->bits / 8) << member.key;
    std::vector<float> decoded(values.size());
    const Status status = decode_elements(type->type, bytes, 0, decoded);
    if (type->decode == nullptr) {
      EXPECT_EQ(status.error().fault, Fault::kUnsupported) << member.key;
      continue;
    }
    ASSERT_TRUE(status) << member.key;
    ++decoded_types;
    for (size_t i = 0; i < values.size(); ++i) {
      const float want = expected_value(values[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(decoded[i])) << member.key << " " << i;
        continue;
      }
      EXPECT_EQ(decoded[i], want) << member.key << " " << i;
      EXPECT_EQ(std::signbit(decoded[i]), std::signbit(want)) << member.key << " " << i;
      std::vector<float> alone(1);  // any range gives the same values
      ASSERT_TRUE(decode_elements(type->type, bytes, i, alone));
      EXPECT_EQ(alone[0], want) << member.key << " " << i;
    }
  }
  EXPECT_EQ(decoded_types, 18u);  // 15 types and three more tensors of F32
}

TEST(ElementType, RefusesRangesBeyondTheData) {
  const ByteVector bytes(8);
  std::vector<float> out(2);
  EXPECT_TRUE(decode_elements(ElementType::kF32, bytes, 0, out));
  EXPECT_EQ(decode_elements(ElementType::kF32, bytes, 1, out).error().fault, Fault::kUsage);
  EXPECT_EQ(decode_elements(ElementType::kF32, bytes, ~0ull, out).error().fault, Fault::kUsage);
}

TEST(ElementType, KnowsNamesExactly) {
  EXPECT_EQ(element_types().size(), 22u);
  EXPECT_EQ(find_element_type("f32"), nullptr);
  EXPECT_EQ(find_element_type("F99"), nullptr);
  EXPECT_EQ(find_element_type("F8_E8M0")->bits, 8u);
}

}  // namespace
}  // namespace amphora::safetensors
