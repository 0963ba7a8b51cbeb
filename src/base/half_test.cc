// Tests of binary16 and bfloat16 conversion.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace amphora {
namespace {

TEST(Half, DecodesKnownValues) {
  EXPECT_EQ(half_to_float(0x3C00), 1.0f);
  EXPECT_EQ(half_to_float(0xC000), -2.0f);
  EXPECT_EQ(half_to_float(0x7BFF), 65504.0f);
  EXPECT_EQ(half_to_float(0x0400), 0x1p-14f);
  EXPECT_EQ(half_to_float(0x03FF), 0x3FFp-24f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7E00)));
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
}

TEST(Half, EncodingEveryDecodedValueGivesItBack) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = half_to_float(static_cast<uint16_t>(half));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(float_to_half(value), half);
    }
  }
}

// Between two neighbouring halves the middle goes to the even one, anything past it to the nearer.
TEST(Half, RoundsTiesToEvenForEveryNeighbourPair) {
  for (uint16_t half = 0; half < 0x7BFF; ++half) {
    const double low = half_to_float(half), high = half_to_float(static_cast<uint16_t>(half + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const uint16_t even = (half & 1) == 0 ? half : static_cast<uint16_t>(half + 1);
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(std::nextafterf(middle, 0.0f)), half);
    ASSERT_EQ(float_to_half(std::nextafterf(middle, 1e9f)), half + 1);
    ASSERT_EQ(float_to_half(-middle), even | 0x8000);
  }
}

TEST(Half, OverflowsToInfinityFromTheMiddleBetweenTheLargestAndTheNext) {
  EXPECT_EQ(float_to_half(65519.996f), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0f), 0x7C00);
  EXPECT_EQ(float_to_half(-1e30f), 0xFC00);
}

TEST(Bfloat16, RoundsTiesToEven) {
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // a tie, down to even
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // a tie, up to even
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x00008000u)), 0x0000);  // subnormal tie
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x7F7FFFFFu)), 0x7F80);  // past the largest: infinity
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7F800001u)))));
}

}  // namespace
}  // namespace amphora
