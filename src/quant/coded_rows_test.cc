// Rows as integers: what they stand for is what the codecs decode, bit for bit.
#include "quant/coded_rows.h"

#include <gtest/gtest.h>

#include <array>

#include "base/testing/test_data.h"
#include "quant/codec.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kRows = 7, kColumns = 160;

ByteVector encoded(DType dtype, const EncodeOptions& options, uint64_t seed) {
  const std::array<uint64_t, 2> shape = {kRows, kColumns};
  std::vector<float> values = testing::random_floats(seed, kRows * kColumns);
  std::fill_n(values.begin() + 32, 32, 0.0f);
  const Codec& codec = *find_codec(dtype);
  const auto bytes = codec.encoded_bytes ? codec.encoded_bytes(shape, options) : codec.payload_bytes(shape);
  ByteVector payload(*bytes);
  const Status status = codec.encode(values, shape, options, payload);
  EXPECT_TRUE(status) << status.error().message;
  return payload;
}

void expect_same_values(DType dtype, Bytes payload) {
  const std::array<uint64_t, 2> shape = {kRows, kColumns};
  const auto rows = CodedRows::create(dtype, payload, shape);
  ASSERT_TRUE(rows) << name_of(dtype);
  std::vector<float> wanted(kRows * kColumns);
  find_codec(dtype)->decode(payload, shape, 0, wanted);
  for (uint64_t row = 0; row < kRows; ++row) {
    std::vector<int8_t> codes(kColumns);
    std::vector<float> scales(rows->groups());
    const int32_t offset = rows->read(row, codes.data(), scales.data());
    for (uint64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(static_cast<float>(codes[column] + offset) * scales[column / 32],
                wanted[row * kColumns + column])
          << name_of(dtype) << " row " << row << " column " << column;
  }
}

TEST(CodedRows, AreTheValuesOfTheCodec) {
  for (const DType dtype :
       {DType::kQ4Tiled, DType::kQ4Block, DType::kQ1, DType::kQ1T, DType::kQ4TP, DType::kQ2TP})
    expect_same_values(dtype, encoded(dtype, {}, 1));
  const std::vector<uint8_t> widths = {3, 4, 5, 6, 8, 3, 8};
  for (const DType dtype : {DType::kVbit, DType::kVbitRo})
    expect_same_values(dtype, encoded(dtype, {.row_widths = widths}, 2));
}

TEST(CodedRows, HoldTheLargestEightBitCode) {
  const std::vector<uint8_t> widths(kRows, 8);
  ByteVector payload = encoded(DType::kVbit, {.row_widths = widths}, 3);
  payload.back() = std::byte{0xFF};  // 255 - 127: beyond an int8
  expect_same_values(DType::kVbit, payload);
}

TEST(CodedRows, AreNotThereForOthers) {
  const std::array<uint64_t, 2> shape = {kRows, kColumns}, ragged = {kRows, kColumns - 1};
  EncodeOptions options;
  options.overlay_share = 0.01;
  EXPECT_FALSE(CodedRows::create(DType::kQ1T, encoded(DType::kQ1T, options, 4), shape)) << "an overlay";
  EXPECT_FALSE(CodedRows::create(DType::kQ8Row, encoded(DType::kQ8Row, {}, 4), shape));
  EXPECT_FALSE(CodedRows::create(DType::kQ1, encoded(DType::kQ1, {}, 4), ragged));
}

}  // namespace
}  // namespace amphora::quant
