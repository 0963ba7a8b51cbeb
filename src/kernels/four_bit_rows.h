// Where the parts of 4-bit rows lie, for kernels that walk several far-apart rows at once.
#pragma once

#include <cstring>

#include "base/byte_reader.h"
#include "kernels/activations.h"

namespace amphora::kernels {

/// One row of 4-bit weights: nibbles and scale of group g at nibbles + g · nibble_step and scales + g ·
/// scale_step.
struct FourBitRow {
  const std::byte* nibbles;
  const std::byte* scales;
};

/// q4_tiled: [scale][16 bytes] per group. q4_block: all nibbles, then all scales.
template <DType kType>
struct FourBitLayout {
  static constexpr size_t kNibbleStep = kType == DType::kQ4Tiled ? 18 : 16;
  static constexpr size_t kScaleStep = kType == DType::kQ4Tiled ? 18 : 2;

  static FourBitRow row(const Matrix& weights, size_t row) {
    const size_t first = row * (weights.columns / kGroup);
    const std::byte* payload = weights.payload.data();
    if constexpr (kType == DType::kQ4Tiled) return {payload + first * 18 + 2, payload + first * 18};
    return {payload + first * 16, payload + weights.rows * (weights.columns / kGroup) * 16 + first * 2};
  }
};

/// The last groups of a row, fewer than kChains, copied and filled up with zero scales in the same layout.
template <DType kType>
class LastGroups {
 public:
  LastGroups(const FourBitRow& row, size_t groups) {
    using Layout = FourBitLayout<kType>;
    for (size_t g = 0; g < groups; ++g) {
      std::memcpy(nibbles() + g * Layout::kNibbleStep, row.nibbles + g * Layout::kNibbleStep, 16);
      std::memcpy(scales() + g * Layout::kScaleStep, row.scales + g * Layout::kScaleStep, 2);
    }
  }
  FourBitRow row() const {
    if constexpr (kType == DType::kQ4Tiled) return {bytes_ + 2, bytes_};
    return {bytes_, bytes_ + 64};
  }

 private:
  std::byte* nibbles() { return kType == DType::kQ4Tiled ? bytes_ + 2 : bytes_; }
  std::byte* scales() { return kType == DType::kQ4Tiled ? bytes_ : bytes_ + 64; }
  std::byte bytes_[kChains * 18] = {};
};

}  // namespace amphora::kernels
