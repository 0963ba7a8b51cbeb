// Unpacking of weights to panels, and the walk over panels and tiles of tokens.
#include "kernels/tiles.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "kernels/far_rows.h"

namespace amphora::kernels {
namespace {

/// Nibbles to one byte each. One plain loop, which compilers vectorise.
void unpack_nibbles(const std::byte* from, size_t count, uint8_t* codes) {
  for (size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<uint8_t>(from[i]);
    codes[2 * i] = byte & 15;
    codes[2 * i + 1] = static_cast<uint8_t>(byte >> 4);
  }
}

void unpack_q4_block_row(const TileKernels& kernels, const Matrix& weights, size_t row, uint8_t* codes,
                         float* scales) {
  const FourBitRow from = FourBitLayout<DType::kQ4Block>::row(weights, row);
  unpack_nibbles(from.nibbles, weights.columns / 2, codes);
  kernels.decode_halves(from.scales, weights.columns / kGroup, scales);
}

void unpack_q4_tiled_row(const TileKernels& kernels, const Matrix& weights, size_t row, uint8_t* codes,
                         float* scales) {
  using Layout = FourBitLayout<DType::kQ4Tiled>;
  const FourBitRow from = Layout::row(weights, row);
  constexpr size_t kGroupsAtOnce = 64;
  std::byte nibbles[kGroupsAtOnce * kGroup / 2], halves[kGroupsAtOnce * 2];
  const size_t groups = weights.columns / kGroup;
  for (size_t first = 0; first < groups; first += kGroupsAtOnce) {
    const size_t count = std::min(kGroupsAtOnce, groups - first);
    for (size_t g = 0; g < count; ++g) {
      std::memcpy(nibbles + g * kGroup / 2, from.nibbles + (first + g) * Layout::kNibbleStep, kGroup / 2);
      std::memcpy(halves + g * 2, from.scales + (first + g) * Layout::kScaleStep, 2);
    }
    unpack_nibbles(nibbles, count * kGroup / 2, codes + first * kGroup);
    kernels.decode_halves(halves, count, scales + first);
  }
}

void unpack_q8_row(const TileKernels& kernels, const Matrix& weights, size_t row, uint8_t* codes,
                   float* row_scale) {
  const size_t columns = weights.columns;
  const uint8_t flip = kernels.flip;  // locals: a store to `codes` may change anything else
  const std::byte* const from = weights.payload.data() + row * columns;
  for (size_t i = 0; i < columns; ++i)
    codes[i] = static_cast<uint8_t>(std::to_integer<uint8_t>(from[i]) ^ flip);
  kernels.decode_halves(weights.payload.data() + weights.rows * columns + row * 2, 1, row_scale);
}

void unpack(const TileKernels& kernels, const Matrix& weights, std::span<const size_t> rows,
            const Quantised& x, Panel& panel) {
  panel.columns = x.padded_columns();
  panel.groups = x.groups;
  panel.coded = weights.coded != nullptr;
  panel.four_bit = weights.dtype == DType::kQ4Tiled || weights.dtype == DType::kQ4Block;
  panel.codes.resize(kPanelRows * panel.columns);
  panel.scales.resize(kPanelRows * panel.groups);
  for (size_t r = 0; r < kPanelRows; ++r) {
    uint8_t* const codes = panel.codes.data() + r * panel.columns;
    float* const scales = panel.scales.data() + r * panel.groups;
    const size_t present = r < rows.size() ? weights.columns : 0;
    std::fill(codes + present, codes + panel.columns, uint8_t{0});
    std::fill(scales + present / kGroup, scales + panel.groups, 0.0f);
    panel.row_scales[r] = 1;
    panel.offsets[r] = 0;
    if (r >= rows.size()) continue;
    if (weights.coded)
      panel.offsets[r] = weights.coded->read(rows[r], reinterpret_cast<int8_t*>(codes), scales);
    else if (weights.dtype == DType::kQ4Tiled)
      unpack_q4_tiled_row(kernels, weights, rows[r], codes, scales);
    else if (weights.dtype == DType::kQ4Block)
      unpack_q4_block_row(kernels, weights, rows[r], codes, scales);
    else
      unpack_q8_row(kernels, weights, rows[r], codes, &panel.row_scales[r]);
  }
}

}  // namespace

void multiply_by_tiles(const TileKernels& kernels, const Matrix& weights, const Rows& rows,
                       const Quantised& x, float* out, size_t out_stride) {
  Panel panel;
  size_t room[kPanelRows];
  RowCursor at_row = rows.first;
  for (size_t done = 0; done < rows.count; done += kPanelRows) {
    const std::span<size_t> in_panel = std::span(room).first(std::min(kPanelRows, rows.count - done));
    for (size_t& row : in_panel) row = at_row.take();
    unpack(kernels, weights, in_panel, x, panel);
    for (size_t tile = 0; tile < x.tiles(); tile += kernels.most_tiles) {
      const size_t tiles = std::min(kernels.most_tiles, x.tiles() - tile);
      TokenTile at[kMostTiles] = {};
      for (size_t v = 0; v < tiles; ++v)
        at[v] = {x.codes.data() + (tile + v) * x.padded_columns() * kTileTokens,
                 x.scales.data() + (tile + v) * x.groups * kTileTokens,
                 x.sums.data() + (tile + v) * x.groups * kTileTokens};
      for (size_t r = 0; r < in_panel.size(); r += kTileRows) {
        TileProducts products[kMostTiles];
        kernels.multiply(panel, r, at, tiles, products);
        const size_t valid = std::min(kTileRows, in_panel.size() - r), from = tile * kTileTokens;
        const size_t tokens = std::min(tiles * kTileTokens, x.tokens - from);
        for (size_t t = 0; t < tokens; ++t)
          for (size_t i = 0; i < valid; ++i)
            out[(from + t) * out_stride + in_panel[r + i]] = products[t / kTileTokens][i][t % kTileTokens];
      }
    }
  }
}

}  // namespace amphora::kernels
