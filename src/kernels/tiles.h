// The walk of the SIMD variants over rows and tokens for many tokens: tiles of four rows by sixteen tokens,
// the tokens in the lanes, a weight being a broadcast of four neighbouring columns.
#pragma once

#include "kernels/activations.h"
#include "kernels/rows.h"

namespace amphora::kernels {

inline constexpr size_t kTileRows = 4;
/// Rows that are unpacked together: their codes stay in the second cache while all tokens meet them.
inline constexpr size_t kPanelRows = 16;

/// Some rows of weights unpacked to one byte per column in the columns' order, padded with zeros: the rows to
/// kPanelRows, the columns to those of the activations.
struct Panel {
  AlignedBuffer<uint8_t>
      codes;  ///< [row][column]; 8 bits: the code, exclusive-or TileKernels::flip; 4 bits: 0 … 15
  AlignedBuffer<float> scales;   ///< [row][group], for 4 bits and coded rows
  float row_scales[kPanelRows];  ///< 1 where groups have scales
  int32_t offsets[kPanelRows];   ///< of coded rows
  size_t columns = 0, groups = 0;
  bool four_bit = false, coded = false;
};

/// Sixteen quantised tokens (Quantised, tiled).
struct TokenTile {
  const int8_t* codes;
  const float* scales;
  const int32_t* sums;
};

using TileProducts = float[kTileRows][kTileTokens];

struct TileKernels {
  size_t most_tiles;  ///< that multiply() takes
  uint8_t flip;       ///< bits of 8-bit codes that it wants flipped
  void (*decode_halves)(const std::byte* from, size_t count, float* out);
  /// Rows [first_row, first_row + kTileRows) of a panel by `tiles` tiles of tokens.
  void (*multiply)(const Panel& panel, size_t first_row, const TokenTile* x, size_t tiles,
                   TileProducts* products);
};

inline constexpr size_t kMostTiles = 2;

/// Int8Kernels::multiply_tiles by a variant's tiles.
void multiply_by_tiles(const TileKernels& kernels, const Matrix& weights, const Rows& rows,
                       const Quantised& x, float* out, size_t out_stride);

}  // namespace amphora::kernels
