// Bit for bit across variants where random numbers rarely come: every length of a tail, ties, thresholds,
// numbers that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/testing/support.h"
#include "kernels/variant.h"

namespace amphora::kernels::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Edges, TailsOfEveryLengthAreWholeAndNothingBeyondIsTouched) {
  const std::vector<float> x = random_floats(1, 64), y = random_floats(2, 64);
  for (const Variant* variant : other_variants())
    for (size_t count = 0; count <= 48; ++count) {
      std::vector<float> got = x, wanted = x;
      const std::vector<float> exactly(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count));
      variant->lanes->multiply(got.data(), exactly.data(), count);
      scalar().lanes->multiply(wanted.data(), exactly.data(), count);
      EXPECT_TRUE(same_bits(got, wanted)) << name_of(*variant) << ", " << count;
    }
}

/// `value` and its `count` neighbours on either side.
void add_around(std::vector<float>& values, float value, int count) {
  values.push_back(value);
  float below = value, above = value;
  for (int i = 0; i < count; ++i) {
    values.push_back(below = std::nextafter(below, -kInfinity));
    values.push_back(above = std::nextafter(above, kInfinity));
  }
}

/// Where the functions of single elements change their way, and what is no usual number.
std::vector<float> special_values() {
  std::vector<float> values = {0.0f,      0x1p-149f, 0x1p-126f, std::numeric_limits<float>::max(),
                               kInfinity, kNan};
  for (const float value : {0.625f, 0.69314718f, 1.0f, 87.33654f, 88.72284f, 103.97208f, 150.0f})
    add_around(values, value, 16);
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

TEST(Edges, FunctionsAgreeAtThresholdsAndSpecialNumbers) {
  const std::vector<float> x = special_values(), ones(x.size(), 1.0f);
  const size_t n = x.size();
  using Apply = void (*)(const LaneKernels&, float*, const float* ones, size_t);
  const std::pair<const char*, Apply> functions[] = {
      {"softcap",
       [](const LaneKernels& lanes, float* v, const float*, size_t count) { lanes.softcap(v, 1.0f, count); }},
      {"silu", [](const LaneKernels& lanes, float* v, const float*, size_t count) { lanes.silu(v, count); }},
      {"sigmoid",
       [](const LaneKernels& lanes, float* v, const float*, size_t count) { lanes.sigmoid(v, count); }},
      {"softplus",
       [](const LaneKernels& lanes, float* v, const float*, size_t count) { lanes.softplus(v, count); }},
      {"gelu_tanh", [](const LaneKernels& lanes, float* v, const float* one,
                       size_t count) { lanes.gelu_tanh_multiply(v, one, count); }},
      {"exponential",
       [](const LaneKernels& lanes, float* v, const float*, size_t count) {
         for (size_t i = 0; i < count; ++i) v[i] = lanes.exponential(v[i]);
       }},
  };
  for (const Variant* variant : other_variants())
    for (const auto& [name, apply] : functions) {
      std::vector<float> got = x, wanted = x;
      apply(*variant->lanes, got.data(), ones.data(), n);
      apply(*scalar().lanes, wanted.data(), ones.data(), n);
      EXPECT_TRUE(same_bits(got, wanted)) << name_of(*variant) << ", " << name;
    }
}

struct Group {
  std::vector<int8_t> codes = std::vector<int8_t>(kGroup);
  std::vector<float> scale = {0.0f};
  int32_t sum = 0;
};
Group quantised(const Variant& variant, const std::vector<float>& x) {
  Group group;
  variant.lanes->quantise(x.data(), nullptr, kGroup, 1, group.codes.data(), group.scale.data(), &group.sum);
  return group;
}

TEST(Edges, CodesOfActivationsRoundTiesToEven) {
  std::vector<float> x(kGroup);
  std::vector<int8_t> wanted(kGroup);
  for (size_t i = 0; i < kGroup; ++i) {  // -7.5, -6.5, …: to -8, -6, -6, -4, …
    x[i] = static_cast<float>(i % 16) - 7.5f;
    wanted[i] = static_cast<int8_t>(2 * std::lround(x[i] / 2));
  }
  for (const size_t largest : {size_t{0}, size_t{20}}) {
    std::vector<float> here = x;
    std::vector<int8_t> codes = wanted;
    here[largest] = 127;  // so that a code is the value itself
    codes[largest] = 127;
    EXPECT_EQ(quantised(scalar(), here).codes, codes);
    for (const Variant* variant : other_variants())
      EXPECT_EQ(quantised(*variant, here).codes, codes) << name_of(*variant);
  }
}

TEST(Edges, AnInfinityOrNanInAnyPlaceOfAGroupIsInItsScale) {
  for (const float special : {kInfinity, -kInfinity, kNan, -kNan})
    for (size_t place = 0; place < kGroup; ++place) {
      std::vector<float> x = random_floats(3, kGroup);
      x[place] = special;
      const Group wanted = quantised(scalar(), x);
      EXPECT_FALSE(std::isfinite(wanted.scale[0]));
      for (const Variant* variant : other_variants()) {
        const Group got = quantised(*variant, x);
        EXPECT_TRUE(same_bits(got.scale, wanted.scale)) << name_of(*variant) << ", place " << place;
        EXPECT_EQ(got.codes, wanted.codes) << name_of(*variant) << ", place " << place;
        EXPECT_EQ(got.sum, wanted.sum) << name_of(*variant) << ", place " << place;
      }
    }
}

}  // namespace
}  // namespace amphora::kernels::testing
