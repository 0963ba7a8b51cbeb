// int8 products of the AVX2 variant, and the unpacking of weights that AVX-512 shares.
#pragma once

#include "kernels/variant.h"

namespace amphora::kernels::avx2 {

extern const Int8Kernels kInt8Kernels;

/// Rows of a tile of products.
inline constexpr size_t kTileRows = 4;
/// Rows that are unpacked together: a multiple of kTileRows whose codes stay in the second cache.
inline constexpr size_t kPanelRows = 16;

/// Rows of weights unpacked to one byte per column in the columns' order, padded with zeros: rows to
/// kPanelRows, columns to those of the activations.
struct Panel {
  AlignedBuffer<uint8_t> codes;  ///< q8: the code, exclusive-or `flip`; 4 bits: 0 … 15
  AlignedBuffer<float> scales;   ///< 4 bits: [row][group]
  float row_scales[kPanelRows];  ///< q8: the row's scale; 4 bits: 1
  size_t columns = 0, groups = 0;

  void unpack(const Matrix& weights, size_t first, size_t rows, const Quantised& x, uint8_t flip);
  const uint8_t* row(size_t index) const { return codes.data() + index * columns; }
};

/// Whether a matrix has one scale per group.
inline bool has_group_scales(const Matrix& weights) {
  return weights.dtype == DType::kQ4Tiled || weights.dtype == DType::kQ4Block;
}

}  // namespace amphora::kernels::avx2
