// Groups of 32 weights as `f16` scale and `u8[4]` of signs: what q1 and q1s have in common.
#pragma once

#include <cstdint>
#include <span>

#include "quant/layout.h"

namespace amphora::quant {

inline constexpr uint64_t kQ1TileBytes = 6;

/// Elements [first, first + out.size()) of consecutive tiles.
void decode_q1_tiles(Bytes tiles, uint64_t first, std::span<float> out);

/// Encodes whole groups; the ascending flat indices in `outliers` are left out of the scales, not of the
/// signs.
Status encode_q1_tiles(std::span<const float> values, std::span<const uint64_t> outliers, MutableBytes tiles);

}  // namespace amphora::quant
