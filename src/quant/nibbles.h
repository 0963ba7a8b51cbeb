// Groups of 32 weights as 16 bytes of 4-bit codes: what q4_block and q4_tiled have in common.
#pragma once

#include <span>

#include "quant/layout.h"
#include "quant/scale_search.h"

namespace amphora::quant {

inline constexpr uint64_t kNibbleBytes = 16;  ///< of one group

inline constexpr CodeRange kNibbleRange = {-8, 7};

/// The f16 scale of up to 32 weights; `importance` has one number for each of them or is empty, and counts in
/// a search only. Empty if f16 cannot hold the scale.
inline std::optional<uint16_t> nibble_scale(std::span<const float> weights, std::span<const float> importance,
                                            Encoder encoder) {
  if (encoder == Encoder::kSearch) return SearchGroup(weights, importance, kNibbleRange).best_half();
  return scale_to_half(largest_magnitude(weights) / kNibbleRange.plain_steps());
}

/// (code − 8) · scale of the element `index` of a group; even elements are in the low nibble.
inline float decode_nibble(const std::byte* nibbles, uint64_t index, float scale) {
  const auto both = std::to_integer<uint32_t>(nibbles[index / 2]);
  const auto code = static_cast<int>((index % 2 == 0 ? both : both >> 4) & 15u) - 8;
  return static_cast<float>(code) * scale;
}

/// Codes of up to 32 weights; what is missing counts as zero.
inline void encode_nibbles(std::span<const float> weights, float scale, std::byte* nibbles) {
  uint32_t codes[kGroup];
  for (uint64_t i = 0; i < kGroup; ++i)
    codes[i] = i < weights.size()
                   ? static_cast<uint32_t>(static_cast<int>(clamp_and_round(weights[i] / scale, -8, 7)) + 8)
                   : 8u;
  for (uint64_t i = 0; i < kNibbleBytes; ++i)
    nibbles[i] = static_cast<std::byte>(codes[2 * i] | codes[2 * i + 1] << 4);
}

}  // namespace amphora::quant
