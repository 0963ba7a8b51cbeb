// Runs of f16 values to f32. Included after a lanes_*.h.
#pragma once

#include <cstddef>

namespace amphora::kernels::AMPHORA_VARIANT {

AMPHORA_TARGET inline void decode_halves(const std::byte* from, size_t count, float* out) {
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) store(out + at, load_f16(from + at * 2));
  for (; at < count; ++at) {
    uint16_t half = 0;
    std::memcpy(&half, from + at * 2, sizeof half);
    out[at] = half_to_float(half);
  }
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
