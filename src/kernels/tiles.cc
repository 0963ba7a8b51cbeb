// Unpacking of weights to panels, and the walk over panels and tiles of tokens.
#include "kernels/tiles.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/half.h"
#include "kernels/far_rows.h"

namespace amphora::kernels {
namespace {

template <DType kType>
void unpack_q4_row(const FourBitRow& row, size_t groups, uint8_t* codes, float* scales) {
  using Layout = FourBitLayout<kType>;
  for (size_t group = 0; group < groups; ++group) {
    const std::byte* const nibbles = row.nibbles + group * Layout::kNibbleStep;
    for (size_t i = 0; i < kGroup / 2; ++i) {
      const auto byte = std::to_integer<uint8_t>(nibbles[i]);
      codes[group * kGroup + 2 * i] = byte & 15;
      codes[group * kGroup + 2 * i + 1] = static_cast<uint8_t>(byte >> 4);
    }
    scales[group] = half_to_float(load_little_endian<uint16_t>(row.scales + group * Layout::kScaleStep));
  }
}

void unpack_row(const Matrix& weights, size_t row, uint8_t flip, uint8_t* codes, float* scales,
                float* row_scale) {
  const size_t groups = weights.columns / kGroup;
  switch (weights.dtype) {
    case DType::kQ4Tiled:
      return unpack_q4_row<DType::kQ4Tiled>(FourBitLayout<DType::kQ4Tiled>::row(weights, row), groups, codes,
                                            scales);
    case DType::kQ4Block:
      return unpack_q4_row<DType::kQ4Block>(FourBitLayout<DType::kQ4Block>::row(weights, row), groups, codes,
                                            scales);
    default: break;
  }
  const std::byte* const from = weights.payload.data() + row * weights.columns;
  for (size_t i = 0; i < weights.columns; ++i)
    codes[i] = static_cast<uint8_t>(std::to_integer<uint8_t>(from[i]) ^ flip);
  const std::byte* const row_scales = weights.payload.data() + weights.rows * weights.columns;
  *row_scale = half_to_float(load_little_endian<uint16_t>(row_scales + row * 2));
}

void unpack(const Matrix& weights, size_t first, size_t rows, const Quantised& x, uint8_t flip,
            Panel& panel) {
  panel.columns = x.padded_columns();
  panel.groups = x.groups;
  panel.four_bit = weights.dtype == DType::kQ4Tiled || weights.dtype == DType::kQ4Block;
  panel.codes.resize(kPanelRows * panel.columns);
  panel.scales.resize(kPanelRows * panel.groups);
  for (size_t r = 0; r < kPanelRows; ++r) {
    uint8_t* const codes = panel.codes.data() + r * panel.columns;
    float* const scales = panel.scales.data() + r * panel.groups;
    const size_t present = r < rows ? weights.columns : 0;
    std::fill(codes + present, codes + panel.columns, uint8_t{0});
    std::fill(scales + present / kGroup, scales + panel.groups, 0.0f);
    panel.row_scales[r] = 1;
    if (r < rows) unpack_row(weights, first + r, flip, codes, scales, &panel.row_scales[r]);
  }
}

}  // namespace

void multiply_by_tiles(const TileKernels& kernels, const Matrix& weights, size_t first, size_t last,
                       const Quantised& x, float* out, size_t out_stride) {
  Panel panel;
  for (size_t row = first; row < last; row += kPanelRows) {
    const size_t rows = std::min(kPanelRows, last - row);
    unpack(weights, row, rows, x, kernels.flip, panel);
    for (size_t tile = 0; tile < x.tiles(); tile += kernels.most_tiles) {
      const size_t tiles = std::min(kernels.most_tiles, x.tiles() - tile);
      TokenTile at[kMostTiles] = {};
      for (size_t v = 0; v < tiles; ++v)
        at[v] = {x.codes.data() + (tile + v) * x.padded_columns() * kTileTokens,
                 x.scales.data() + (tile + v) * x.groups * kTileTokens,
                 x.sums.data() + (tile + v) * x.groups * kTileTokens};
      for (size_t r = 0; r < rows; r += kTileRows) {
        TileProducts products[kMostTiles];
        kernels.multiply(panel, r, at, tiles, products);
        const size_t valid = std::min(kTileRows, rows - r), from = tile * kTileTokens;
        const size_t tokens = std::min(tiles * kTileTokens, x.tokens - from);
        for (size_t t = 0; t < tokens; ++t)
          for (size_t i = 0; i < valid; ++i)
            out[(from + t) * out_stride + (row - first) + r + i] =
                products[t / kTileTokens][i][t % kTileTokens];
      }
    }
  }
}

}  // namespace amphora::kernels
