// Frequencies against values that Hugging Face's modeling_rope_utils defines, worked out by hand or in
// float64.
#include "model/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace amphora::model {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

ModelSpec spec_with(uint32_t head_dim, double theta) {
  ModelSpec spec;
  spec.head_dim = head_dim;
  spec.rope_theta = theta;
  return spec;
}

YarnSpec yarn_with(double factor, uint32_t original_positions) {
  YarnSpec yarn;
  yarn.factor = factor;
  yarn.original_max_position_embeddings = original_positions;
  return yarn;
}

TEST(Rope, DefaultFrequenciesFallByPowersOfTheBase) {
  // 10000^(-2i/8): 1, 0.1, 0.01, 0.001.
  const auto inverse = default_inverse_frequencies(10000, 8);
  EXPECT_THAT(inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.1f, 0.01f, 0.001f}));
}

TEST(Rope, PartOfTheDimensionsTurnsWithFrequenciesOverThatPart) {
  ModelSpec spec = spec_with(16, 10000);
  spec.partial_rotary_factor = 0.25;
  const auto plan = plan_rope(spec);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->global.inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.01f}));
}

TEST(Rope, LocalLayersHaveTheirOwnBaseAndNoScaling) {
  ModelSpec spec = spec_with(4, 1e6);
  spec.rope_local_base_freq = 1e4;
  spec.rope_freq_factors = {8, 8};
  const auto plan = plan_rope(spec);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->global.inverse, Pointwise(FloatNear(1e-9f), {0.125f, 0.000125f}));
  EXPECT_THAT(plan->local.inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.01f}));
}

TEST(Rope, YarnKeepsFastDimensionsAndInterpolatesSlowOnes) {
  ModelSpec spec = spec_with(8, 10000);
  spec.yarn = yarn_with(4, 64);
  spec.yarn->attention_factor = 1.25;
  const auto plan = plan_rope(spec);
  ASSERT_TRUE(plan);
  // dim(32 turns) = 8 ln(64 / 64π) / (2 ln 1e4) < 0 → low 0; dim(1 turn) = 8 ln(64 / 2π) / (2 ln 1e4) = 1.008
  // → high 2. Ramps 0, 1/2, 1, 1: pairs 0 … 3 are kept, halved between f and f/4, and divided by 4.
  EXPECT_THAT(plan->global.inverse, Pointwise(FloatNear(1e-8f), {1.0f, 0.0625f, 0.0025f, 0.00025f}));
  EXPECT_EQ(plan->global.scale, 1.25f);
  EXPECT_EQ(plan->local.scale, 1.0f);
  EXPECT_THAT(plan->local.inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.1f, 0.01f, 0.001f}));
}

TEST(Rope, YarnRampMayEndBeyondTheLastPair) {
  ModelSpec spec = spec_with(8, 10000);
  // dim(32 turns) = 8 ln(1e5 / 64π) / (2 ln 1e4) = 2.7 → low 2; dim(1 turn) = 4.2 → high 5, past pair 3,
  // which has come a third of the way: (2/3 + 1/3 · 1/4) · 0.001.
  spec.yarn = yarn_with(4, 100000);
  const auto plan = plan_rope(spec);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->global.inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.1f, 0.01f, 0.00075f}));
}

TEST(Rope, LongRopeHasTwoSetsOfFactors) {
  ModelSpec spec = spec_with(4, 10000);
  spec.longrope = LongRopeSpec{.short_factors = {1, 2},
                               .long_factors = {4, 5},
                               .original_max_position_embeddings = 128,
                               .attention_factor = 1.5};
  const auto plan = plan_rope(spec);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->global.inverse, Pointwise(FloatNear(1e-9f), {1.0f, 0.005f}));
  ASSERT_TRUE(plan->long_global);
  EXPECT_THAT(plan->long_global->inverse, Pointwise(FloatNear(1e-9f), {0.25f, 0.002f}));
  EXPECT_EQ(plan->long_global->scale, 1.5f);
  EXPECT_EQ(plan->long_threshold, 128u);
}

TEST(Rope, AnglesAreProductsInFloat32) {
  const RopeFrequencies frequencies{{1.0f, 0.1f}, 2.0f};
  float cosines[4], sines[4];
  fill_rope(frequencies, 7, 2, cosines, sines);
  EXPECT_FLOAT_EQ(cosines[0], 2 * 0.75390225f);  // cos 7
  EXPECT_FLOAT_EQ(sines[0], 2 * 0.65698660f);    // sin 7
  EXPECT_FLOAT_EQ(cosines[3], 2 * 0.69670671f);  // cos 0.8
  EXPECT_FLOAT_EQ(sines[3], 2 * 0.71735609f);    // sin 0.8
  // 100000 · 0.1f rounds to 10000 in float32 (exactly it is 10000.000149…): sin 10000 = -0.30561439.
  fill_rope(frequencies, 100000, 1, cosines, sines);
  EXPECT_NEAR(sines[1], 2 * -0.30561439, 1e-6);
}

TEST(Rope, RefusesValuesWithoutMeaning) {
  struct Case {
    const char* name;
    void (*damage)(ModelSpec&);
  };
  const Case cases[] = {
      {"base 0", [](ModelSpec& spec) { spec.rope_theta = 0; }},
      {"base NaN", [](ModelSpec& spec) { spec.rope_theta = std::numeric_limits<double>::quiet_NaN(); }},
      {"local base below 0", [](ModelSpec& spec) { spec.rope_local_base_freq = -1; }},
      {"part above 1", [](ModelSpec& spec) { spec.partial_rotary_factor = 1.5; }},
      {"part 0", [](ModelSpec& spec) { spec.partial_rotary_factor = 0; }},
      {"odd part", [](ModelSpec& spec) { spec.partial_rotary_factor = 0.4; }},
      {"head of one dimension", [](ModelSpec& spec) { spec.head_dim = 1; }},
      {"too few factors", [](ModelSpec& spec) { spec.rope_freq_factors = {1, 1, 1}; }},
      {"factor 0", [](ModelSpec& spec) { spec.rope_freq_factors = {1, 1, 0, 1}; }},
      {"yarn factor 0", [](ModelSpec& spec) { spec.yarn = yarn_with(0, 64); }},
      {"yarn without a window", [](ModelSpec& spec) { spec.yarn = yarn_with(4, 0); }},
      {"longrope factors missing", [](ModelSpec& spec) { spec.longrope = LongRopeSpec{}; }},
  };
  ASSERT_TRUE(plan_rope(spec_with(8, 10000)));
  for (const Case& damage : cases) {
    ModelSpec spec = spec_with(8, 10000);
    damage.damage(spec);
    const auto plan = plan_rope(spec);
    ASSERT_FALSE(plan) << damage.name;
    EXPECT_EQ(plan.error().fault, Fault::kCorrupt) << damage.name;
  }
}

}  // namespace
}  // namespace amphora::model
