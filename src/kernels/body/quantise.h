// Activations to int8 codes, one scale per group. Included after a lanes_*.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amphora::kernels::AMPHORA_VARIANT {

/// Below this a group is zero: 127 / magnitude must not overflow.
inline constexpr float kLeastMagnitude = 0x1p-118f;

/// One group from two registers. An infinity or a NaN among the values makes the scale the same, so it is not
/// lost.
AMPHORA_INLINE void quantise_group(Lanes low, Lanes high, int8_t* codes, float* scale,
                                   int32_t* sum_of_codes) {
  const float magnitude = largest_magnitude(max_magnitude(absolute(low), absolute(high)));
  const Lanes inverse = broadcast(magnitude >= kLeastMagnitude ? 127.0f / magnitude : 0.0f);
  const Lanes limit = broadcast(127.0f), least = broadcast(-127.0f);
  *scale = magnitude / 127.0f;
  *sum_of_codes = store_i8(codes, min(max(mul(low, inverse), least), limit)) +
                  store_i8(codes + kLanes, min(max(mul(high, inverse), least), limit));
}

AMPHORA_TARGET inline void quantise(const float* x, const float* field, size_t columns, size_t groups,
                                    int8_t* codes, float* scales, int32_t* sums) {
  for (size_t group = 0; group < groups; ++group) {
    const size_t first = group * kGroup;
    const size_t count = first >= columns ? 0 : columns - first < kGroup ? columns - first : kGroup;
    const size_t in_low = count < kLanes ? count : kLanes;
    Lanes low, high;
    if (count == kGroup) {
      low = load(x + first);
      high = load(x + first + kLanes);
      if (field) {
        low = mul(low, load(field + first));
        high = mul(high, load(field + first + kLanes));
      }
    } else {
      low = load_first(x + first, in_low);
      high = load_first(x + first + in_low, count - in_low);
      if (field) {
        low = mul(low, load_first(field + first, in_low));
        high = mul(high, load_first(field + first + in_low, count - in_low));
      }
    }
    quantise_group(low, high, codes + first, scales + group, sums + group);
  }
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
