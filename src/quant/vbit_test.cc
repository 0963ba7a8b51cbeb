// vbit, vbit_ro and the budget of widths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/testing/test_data.h"
#include "quant/testing/payloads.h"
#include "quant/vbit_budget.h"

namespace amphora::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

/// A row of 32 columns of one width whose first eight codes are `packed`, all others zero; scale 2.
ByteVector one_row(int width, const ByteVector& packed) {
  ByteVector payload = bytes_of({width, 0x00, 0x40});
  payload.insert(payload.end(), packed.begin(), packed.end());
  payload.resize(3 + 4 * static_cast<size_t>(width));
  return payload;
}

TEST(Vbit, DecodesEveryWidthFromTheMostSignificantBit) {
  struct Row {
    int width;
    ByteVector packed;  ///< codes 0 to 7
    float first;        ///< −L · 2
  };
  const Row kRows[] = {{3, bytes_of({0x05, 0x39, 0x77}), -6},
                       {4, bytes_of({0x01, 0x23, 0x45, 0x67}), -14},
                       {5, bytes_of({0x00, 0x44, 0x32, 0x14, 0xC7}), -30},
                       {6, bytes_of({0x00, 0x10, 0x83, 0x10, 0x51, 0x87}), -62},
                       {8, bytes_of({0, 1, 2, 3, 4, 5, 6, 7}), -254}};
  for (const Row& row : kRows) {
    const ByteVector payload = one_row(row.width, row.packed);
    ASSERT_TRUE(find_codec(DType::kVbit)->check_tables(payload, Dimensions{1, 32})) << row.width;
    const std::vector<float> values = decode_all(DType::kVbit, payload, {1, 32});
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(values[static_cast<size_t>(i)], row.first + 2 * static_cast<float>(i)) << row.width;
    EXPECT_EQ(values[8], row.first) << row.width;
  }
}

TEST(VbitRo, EncodesToTheBytesOfTheReference) {
  std::vector<float> values(64, 0.0f);
  for (size_t i = 0; i < 32; ++i) values[i] = (static_cast<float>(i) - 15) * 0.25f;
  const std::vector<uint8_t> widths = {5, 3};
  const auto payload = encode_all(DType::kVbitRo, values, {2, 32}, {.row_widths = widths});
  ASSERT_TRUE(payload);
  // What the strict reference in Python gave.
  EXPECT_THAT(numbers_of(*payload),
              ElementsAre(5, 3, 68, 52, 0, 4, 0, 0, 0, 0, 20, 0, 0, 0, 32, 0, 0, 0, 8, 134, 66, 152, 231, 66,
                          84, 182, 53, 207, 132, 101, 58, 86, 215, 190, 51, 173, 243, 190, 109, 182, 219, 109,
                          182, 219, 109, 182, 219, 109, 182, 219));
}

/// Σ (value − decoded)² of every group of a row.
std::vector<double> group_errors(std::span<const float> row, uint8_t width, Encoder encoder) {
  const std::vector<uint8_t> widths = {width};
  const auto payload =
      encode_all(DType::kVbit, row, {1, row.size()}, {.encoder = encoder, .row_widths = widths});
  if (!payload) return {};
  const std::vector<float> decoded = decode_all(DType::kVbit, *payload, {1, row.size()});
  std::vector<double> errors(row.size() / 32);
  for (size_t i = 0; i < row.size(); ++i) {
    const double difference = double{row[i]} - decoded[i];
    errors[i / 32] += difference * difference;
  }
  return errors;
}

TEST(Vbit, SearchIsNeverWorseThanPlainInAnyGroup) {
  std::mt19937 generator(5);
  std::vector<float> row(64 * 32);
  for (float& value : row)
    value = static_cast<float>(generator() % 2001) / 1000 - static_cast<float>(generator() % 2001) / 1000;
  for (const uint8_t width : kVbitWidths) {
    const auto plain = group_errors(row, width, Encoder::kPlain);
    const auto searched = group_errors(row, width, Encoder::kSearch);
    ASSERT_EQ(searched.size(), 64u);
    for (size_t group = 0; group < 64; ++group)
      EXPECT_LE(searched[group], plain[group] * (1 + 1e-12)) << int{width} << " " << group;
    const double whole = std::accumulate(plain.begin(), plain.end(), 0.0);
    EXPECT_LT(std::accumulate(searched.begin(), searched.end(), 0.0), 0.97 * whole) << int{width};
  }
}

/// Half a step of a group at some width, in f64, with the scale's own rounding to f16.
double half_step(std::span<const float> group, uint8_t width) {
  double largest = 0;
  for (const float value : group) largest = std::max(largest, double{std::fabs(value)});
  const double step = largest / static_cast<double>((1 << (width - 1)) - 1) * (1 + 0x1p-11);
  return std::max(step, 0x1p-14) / 2 * (1 + 0x1p-20);
}

void expect_within_half_a_step(const std::vector<float>& row, const char* what) {
  for (const DType dtype : {DType::kVbit, DType::kVbitRo})
    for (const uint8_t width : kVbitWidths) {
      const std::vector<uint8_t> widths = {width};
      const auto payload = encode_all(dtype, row, {1, row.size()}, {.row_widths = widths});
      ASSERT_TRUE(payload) << what;
      const std::vector<float> decoded = decode_all(dtype, *payload, {1, row.size()});
      for (size_t i = 0; i < row.size(); ++i)
        EXPECT_NEAR(decoded[i], row[i], half_step(std::span(row).subspan(i / 32 * 32, 32), width))
            << what << " " << int{width} << " " << i;
    }
}

TEST(Vbit, StaysWithinHalfAStepInDifficultRows) {
  std::vector<float> row(64, 0.0f);
  expect_within_half_a_step(row, "zeros");
  std::ranges::fill(row, -0.3f);
  expect_within_half_a_step(row, "equals");
  std::ranges::fill(row, 1e-6f);
  row[40] = 6e4f;
  expect_within_half_a_step(row, "one large among small");
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i) * 0x1p-149f;
  expect_within_half_a_step(row, "subnormals");
  expect_within_half_a_step(amphora::testing::random_floats(/*seed=*/5, 256), "random");
}

TEST(Vbit, NeedsAWidthOfTheFormatForEveryRow) {
  const std::vector<float> values(64, 1.0f);
  const Dimensions shape{2, 32};
  const std::vector<uint8_t> one = {4}, three = {4, 4, 4}, seven = {4, 7}, zero = {0, 4};
  for (const DType dtype : {DType::kVbit, DType::kVbitRo}) {
    const auto refusal = [&](std::span<const uint8_t> widths) {
      EXPECT_FALSE(encoded_bytes(*find_codec(dtype), shape, {.row_widths = widths}));
      const auto payload = encode_all(dtype, values, shape, {.row_widths = widths});
      return payload ? std::string("none") : payload.error().message;
    };
    EXPECT_THAT(refusal({}), HasSubstr("0 row widths for 2 rows"));
    EXPECT_THAT(refusal(one), HasSubstr("1 row widths for 2 rows"));
    EXPECT_THAT(refusal(three), HasSubstr("3 row widths for 2 rows"));
    EXPECT_THAT(refusal(seven), HasSubstr("row 1 is given a width of 7"));
    EXPECT_THAT(refusal(zero), HasSubstr("row 0 is given a width of 0"));
  }
}

TEST(Vbit, SizesAreThoseOfThePage) {
  const std::vector<uint8_t> widths = {3, 8};
  EXPECT_EQ(encoded_bytes(*find_codec(DType::kVbit), Dimensions{2, 64}, {.row_widths = widths}),
            2u + 2 * 4 + 64 / 8 * 11);
  EXPECT_EQ(encoded_bytes(*find_codec(DType::kVbitRo), Dimensions{2, 64}, {.row_widths = widths}),
            2u + 2 * 4 + 4 * 3 + 64 / 8 * 11);
  const uint64_t most = uint64_t{1} << 63;  // twice that overflows
  EXPECT_FALSE(encoded_bytes(*find_codec(DType::kVbit), Dimensions{2, most}, {.row_widths = widths}));
}

TEST(VbitRo, RefusesRowsThatItsOffsetsCannotReach) {
  const std::vector<uint8_t> widths = {8};
  const Status status =
      find_codec(DType::kVbitRo)->encode({}, Dimensions{1, uint64_t{1} << 32}, {.row_widths = widths}, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, Fault::kRefused);
  EXPECT_THAT(status.error().message, HasSubstr("offsets of 32 bits"));
}

TEST(Vbit, RefusesAGroupWhoseScaleF16CannotHold) {
  std::vector<float> values(64, 1.0f);
  const std::vector<uint8_t> widths = {3, 3};
  values[37] = -3 * 65504.0f;
  EXPECT_TRUE(encode_all(DType::kVbit, values, {2, 32}, {.row_widths = widths}));
  values[37] = -3 * 65600.0f;
  const auto payload = encode_all(DType::kVbit, values, {2, 32}, {.row_widths = widths});
  ASSERT_FALSE(payload);
  EXPECT_THAT(payload.error().message, HasSubstr("flat index 37"));
}

TEST(VbitBudget, WidthIsTheNearestTiesToTheNarrower) {
  const std::vector<double> levels = {-3, -2, -1, 0, 1, 2, 3};
  // 4.5 asks for 1.5 … 7.5; 4 for 1 … 7, where 7 is as near to 6 as to 8.
  EXPECT_THAT(vbit_row_widths(levels, 0, 4.5), ElementsAre(3, 3, 3, 4, 5, 6, 8));
  EXPECT_THAT(vbit_row_widths(levels, 0, 4), ElementsAre(3, 3, 3, 4, 5, 6, 6));
  EXPECT_THAT(vbit_row_widths(levels, 1, 5.5), ElementsAre(3, 3, 3, 4, 5, 6, 8));
}

TEST(VbitBudget, LevelIsTheLogarithmOfTheLargestMagnitude) {
  EXPECT_EQ(vbit_row_level(std::vector<float>{0.25f, -8, 1}), 3.0);
  EXPECT_EQ(vbit_row_level(std::vector<float>{0, 0}), -24.0);
  EXPECT_EQ(vbit_row_level(std::vector<float>{0x1p-30f}), -24.0);
}

TEST(VbitBudget, RoutingFrequencyMultipliesTheFlooredAmplitude) {
  EXPECT_EQ(vbit_row_level(std::vector<float>{0}, 0.5), -25.0);
  EXPECT_EQ(vbit_row_level(std::vector<float>{4}, 0.25), 0.0);
  EXPECT_EQ(vbit_row_level(std::vector<float>{4}, 0), -24.0);  // never chosen: still a number
  // Two experts of rows 0 and 1 with weights 0.5 and 1.5.
  const std::vector<float> rows = {0, 1};
  std::vector<double> levels = vbit_row_levels(rows, Dimensions{2, 1}, 0.5);
  const std::vector<double> others = vbit_row_levels(rows, Dimensions{2, 1}, 1.5);
  levels.insert(levels.end(), others.begin(), others.end());
  EXPECT_NEAR(vbit_mean_level(levels), -12.207518749639421, 1e-12);
}

TEST(VbitBudget, MeanWidthMeetsTheBudget) {
  // Levels evenly over three octaves: nothing is clamped, and the rounding of widths has no side.
  std::vector<double> levels;
  for (int i = 0; i < 3000; ++i) levels.push_back(i * 0.001);
  const auto widths = vbit_row_widths(levels, vbit_mean_level(levels), 4.5);
  EXPECT_NEAR(std::accumulate(widths.begin(), widths.end(), 0.0) / 3000, 4.5, 0.005);
}

}  // namespace
}  // namespace amphora::quant
