// The walk of the SIMD variants over the rows of a matrix for one token, four far-apart rows at once
// (FarRows).
#pragma once

#include <cstring>

#include "kernels/activations.h"
#include "kernels/rows.h"

namespace amphora::kernels {

/// The quantised activations of one token (Quantised, untiled).
struct QuantisedToken {
  const int8_t* codes;
  const int8_t* split;
  const float* scales;
  const int32_t* sums;
  size_t groups;  ///< multiple of kChains
};

/// One row of 4-bit weights: where its first nibbles and its first scale lie.
struct FourBitRow {
  const std::byte* nibbles;
  const std::byte* scales;
};

/// How 4-bit groups follow one another. q4_tiled: [scale][16 bytes] per group. q4_block: all nibbles, then
/// all scales.
template <DType kType>
struct FourBitLayout {
  static constexpr size_t kNibbleStep = kType == DType::kQ4Tiled ? 18 : 16;
  static constexpr size_t kScaleStep = kType == DType::kQ4Tiled ? 18 : 2;

  static FourBitRow row(const Matrix& weights, size_t row) {
    const size_t groups = weights.columns / kGroup, first = row * groups;
    const std::byte* const payload = weights.payload.data();
    if constexpr (kType == DType::kQ4Tiled) return {payload + first * 18 + 2, payload + first * 18};
    return {payload + first * 16, payload + weights.rows * groups * 16 + first * 2};
  }
};

/// The last groups of a row, fewer than kChains, copied and filled up with zero scales in the same layout, so
/// that a kernel may read kChains groups without reading beyond the payload.
template <DType kType>
class LastGroups {
 public:
  LastGroups(const FourBitRow& row, size_t groups) {
    using Layout = FourBitLayout<kType>;
    for (size_t g = 0; g < groups; ++g) {
      std::memcpy(bytes_ + kNibbles + g * Layout::kNibbleStep, row.nibbles + g * Layout::kNibbleStep, 16);
      std::memcpy(bytes_ + kScales + g * Layout::kScaleStep, row.scales + g * Layout::kScaleStep, 2);
    }
  }
  FourBitRow row() const { return {bytes_ + kNibbles, bytes_ + kScales}; }

 private:
  static constexpr size_t kNibbles = kType == DType::kQ4Tiled ? 2 : 0;
  static constexpr size_t kScales = kType == DType::kQ4Tiled ? 0 : kChains * 16;
  std::byte bytes_[kChains * 18] = {};
};

/// One coded row (quant::CodedRows), filled up with zeros to the groups of the activations.
struct CodedRow {
  const int8_t* codes;
  const float* scales;
  int32_t offset;
};

/// A variant's products of four rows with one token.
struct FourRowKernels {
  /// `row_scales` holds the halves of the four rows, the first lowest.
  void (*q8)(const std::byte* const rows[4], uint64_t row_scales, size_t columns, const QuantisedToken& x,
             float products[4]);
  void (*q4_tiled)(const FourBitRow rows[4], size_t groups, const QuantisedToken& x, float products[4]);
  void (*q4_block)(const FourBitRow rows[4], size_t groups, const QuantisedToken& x, float products[4]);
  void (*coded)(const CodedRow rows[4], const QuantisedToken& x, float products[4]);
};

/// Int8Kernels::multiply_row by four far-apart rows.
void multiply_far_rows(const FourRowKernels& kernels, const Matrix& weights, const Rows& rows,
                       const Quantised& x, size_t token, float* out);

}  // namespace amphora::kernels
