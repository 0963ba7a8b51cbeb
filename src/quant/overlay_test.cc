// Which weights an overlay takes.
#include "quant/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/testing/test_data.h"

namespace amphora::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OverlayCount, RoundsTiesToEven) {
  EXPECT_EQ(overlay_count(50, 0.01), 0u);   // 0.5
  EXPECT_EQ(overlay_count(150, 0.01), 2u);  // 1.5
  EXPECT_EQ(overlay_count(250, 0.01), 2u);  // 2.5
  EXPECT_EQ(overlay_count(7, 0.5), 4u);     // 3.5
  EXPECT_EQ(overlay_count(0, 1), 0u);
  EXPECT_EQ(overlay_count(64, 1), 64u);
}

TEST(OverlayCount, IsNeverMoreThanThereAre) {
  const uint64_t odd = (uint64_t{1} << 53) + 3;  // as f64 it is one more
  EXPECT_EQ(overlay_count(odd, 1), odd);
}

TEST(OverlayCount, RefusesWhatIsNoShare) {
  for (const double bad :
       {-0.001, 1.001, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(overlay_count(64, bad)) << bad;
}

TEST(Outliers, AreTheLargestMagnitudesInOrderOfTheirIndices) {
  const std::vector<float> values = {1, -8, 2, 7, -3, 0, 6};
  EXPECT_THAT(select_outliers(values, 0), IsEmpty());
  EXPECT_THAT(select_outliers(values, 1), ElementsAre(1));
  EXPECT_THAT(select_outliers(values, 3), ElementsAre(1, 3, 6));
  EXPECT_THAT(select_outliers(values, 7), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Outliers, TakeTheLowerIndexOfEqualMagnitudes) {
  const std::vector<float> values = {5, -9, 5, 9, -5, 9};
  EXPECT_THAT(select_outliers(values, 2), ElementsAre(1, 3));
  EXPECT_THAT(select_outliers(values, 4), ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(select_outliers(std::vector<float>{-0.0f, 0.0f, 0.0f}, 2), ElementsAre(0, 1));
}

TEST(Outliers, AgreeWithAStableSortOfTheMagnitudes) {
  std::vector<float> values = amphora::testing::random_floats(/*seed=*/3, 3000);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 3 == 0) values[i] = std::round(values[i] * 4) / 4;  // many equals
    if (i % 7 == 0) values[i] *= 0x1p-140f;                     // and subnormals
  }
  std::vector<uint64_t> order(values.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](uint64_t i) { return std::fabs(values[i]); });
  for (const size_t count : {1, 2, 29, 30, 31, 300, 1500, 2700, 2999, 3000}) {
    std::vector<uint64_t> wanted(order.begin(), order.begin() + static_cast<ptrdiff_t>(count));
    std::ranges::sort(wanted);
    EXPECT_EQ(select_outliers(values, count), wanted) << count;
  }
}

TEST(KeptWeights, ClearTheBitsOfOutliersGroupByGroup) {
  const std::vector<uint64_t> outliers = {0, 31, 33, 127};
  KeptWeights kept(outliers);
  EXPECT_EQ(kept.mask_of_group(0), 0x7FFFFFFEu);
  EXPECT_EQ(kept.mask_of_group(32), 0xFFFFFFFDu);
  EXPECT_EQ(kept.mask_of_group(64), 0xFFFFFFFFu);
  EXPECT_EQ(kept.mask_of_group(96), 0x7FFFFFFFu);
}

TEST(MeanMagnitude, CountsTheChosenOnly) {
  std::vector<float> values(kGroup, 1000);
  values[0] = -3;
  values[31] = 4;
  const auto group = std::span(values).first<kGroup>();
  EXPECT_EQ(mean_magnitude(group, 1u << 0 | 1u << 31), 3.5);
  EXPECT_EQ(mean_magnitude(group, 0), 0.0);
}

TEST(Outliers, ThatF16CannotHoldAreRefusedByName) {
  const std::vector<float> values = {1.0f, 65519.0f, -65520.0f};
  EXPECT_EQ(outlier_to_half(values, 1), 0x7BFF);
  const auto refused = outlier_to_half(values, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kRefused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("flat index 2"));
}

}  // namespace
}  // namespace amphora::quant
