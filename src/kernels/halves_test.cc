// Conversions between f16 and f32 in every variant, against base/half.h: all halves, and all places where
// rounding turns.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "kernels/testing/support.h"
#include "kernels/variant.h"

namespace amphora::kernels::testing {
namespace {

TEST(Halves, EveryHalfBecomesItsFloatInEveryVariant) {
  std::vector<uint16_t> halves(0x10000);
  std::vector<float> wanted(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<uint16_t>(i);
    wanted[i] = half_to_float(halves[i]);
  }
  for (const Variant* variant : other_variants()) {
    std::vector<float> got(halves.size());
    variant->lanes->decode_halves(std::as_bytes(std::span(halves)).data(), halves.size(), got.data());
    EXPECT_TRUE(same_bits(got, wanted)) << name_of(*variant);
  }
}

/// Every half that is not negative, what lies half-way to the next, and the floats beside that; then the same
/// negated.
std::vector<float> floats_around_halves() {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats;
  for (uint16_t half = 0; half < 0x7C00; ++half) {
    const float value = half_to_float(half);
    const float next = half == 0x7BFF ? 65536.0f : half_to_float(static_cast<uint16_t>(half + 1));
    const float half_way = value + (next - value) / 2;
    floats.insert(floats.end(),
                  {value, std::nextafter(half_way, 0.0f), half_way, std::nextafter(half_way, infinity)});
  }
  floats.insert(floats.end(), {0x1p-149f, 0x1p-126f, 65536.0f, std::numeric_limits<float>::max(), infinity,
                               std::numeric_limits<float>::quiet_NaN()});
  const size_t count = floats.size();
  for (size_t i = 0; i < count; ++i) floats.push_back(-floats[i]);
  return floats;
}

TEST(Halves, EveryFloatBecomesTheNearestHalfInEveryVariant) {
  std::vector<float> floats = floats_around_halves();
  floats.resize(floats.size() / 16 * 16 + 16);  // so that all of them go through lanes
  for (const Variant* variant : other_variants()) {
    std::vector<uint16_t> got(floats.size());
    variant->lanes->store_kv(KvType::kF16, floats.data(), floats.size(),
                             std::as_writable_bytes(std::span(got)).data());
    for (size_t i = 0; i < floats.size(); ++i) {
      if (std::isnan(floats[i]))
        EXPECT_TRUE(std::isnan(half_to_float(got[i]))) << name_of(*variant);
      else
        ASSERT_EQ(got[i], float_to_half(floats[i])) << name_of(*variant) << ": " << floats[i];
    }
  }
}

}  // namespace
}  // namespace amphora::kernels::testing
