// Products with float weights: fast (sixteen lanes along the columns) and exact (column by column). Included
// after a lanes_*.h.
#pragma once

#include <cstddef>

#include "kernels/rows.h"
#include "kernels/unroll.h"

namespace amphora::kernels::AMPHORA_VARIANT {

template <DType kType>
AMPHORA_INLINE Lanes load_weights(const std::byte* from) {
  if constexpr (kType == DType::kF32) return load_f32(from);
  if constexpr (kType == DType::kF16) return load_f16(from);
  if constexpr (kType == DType::kBF16) return load_bf16(from);
}

template <DType kType>
inline constexpr size_t kWeightBytes = kType == DType::kF32 ? 4 : 2;

/// The last columns of a row, the lanes beyond them 0; reads nothing beyond.
template <DType kType>
AMPHORA_INLINE Lanes load_last_weights(const std::byte* from, size_t count) {
  alignas(64) std::byte padded[kLanes * kWeightBytes<kType>] = {};
  std::memcpy(padded, from, count * kWeightBytes<kType>);
  return load_weights<kType>(padded);
}

/// kRows rows, which may lie anywhere, times kTokens tokens. Lane l of a product sums columns l, l + 16, … in
/// order.
template <DType kType, size_t kRows, size_t kTokens>
AMPHORA_INLINE void dense_tile(const std::byte* weights, const size_t* rows, size_t columns, const float* x,
                               float* out, size_t out_stride) {
  const std::byte* row[kRows];
  AMPHORA_UNROLL
  for (size_t r = 0; r < kRows; ++r) row[r] = weights + rows[r] * columns * kWeightBytes<kType>;
  Lanes sums[kRows][kTokens];
  AMPHORA_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) sums[r][t] = broadcast(0.0f);
  }
  size_t at = 0;
  for (; at + kLanes <= columns; at += kLanes) {
    Lanes v[kTokens];
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) v[t] = load(x + t * columns + at);
    AMPHORA_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes w = load_weights<kType>(row[r] + at * kWeightBytes<kType>);
      AMPHORA_UNROLL
      for (size_t t = 0; t < kTokens; ++t) sums[r][t] = fma(w, v[t], sums[r][t]);
    }
  }
  if (const size_t rest = columns - at; rest != 0) {
    AMPHORA_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes w = load_last_weights<kType>(row[r] + at * kWeightBytes<kType>, rest);
      AMPHORA_UNROLL
      for (size_t t = 0; t < kTokens; ++t)
        sums[r][t] = fma(w, load_first(x + t * columns + at, rest), sums[r][t]);
    }
  }
  AMPHORA_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) out[t * out_stride + rows[r]] = sum(sums[r][t]);
  }
}

/// Tiles of neighbouring rows, for as many tokens as fill tiles; gives their number.
template <DType kType>
AMPHORA_TARGET size_t dense_tiles(const std::byte* weights, const Rows& rows, size_t columns, const float* x,
                                  size_t tokens, float* out, size_t out_stride) {
  if constexpr (kDenseTokens == 1) return 0;
  const size_t in_tiles = tokens / kDenseTokens * kDenseTokens;
  if (in_tiles == 0) return 0;
  RowCursor at = rows.first;
  size_t done = 0, tile[kDenseRows];
  for (; done + kDenseRows <= rows.count; done += kDenseRows) {
    for (size_t& row : tile) row = at.take();
    for (size_t token = 0; token < in_tiles; token += kDenseTokens)
      dense_tile<kType, kDenseRows, kDenseTokens>(weights, tile, columns, x + token * columns,
                                                  out + token * out_stride, out_stride);
  }
  for (; done < rows.count; ++done) {
    tile[0] = at.take();
    for (size_t token = 0; token < in_tiles; token += kDenseTokens)
      dense_tile<kType, 1, kDenseTokens>(weights, tile, columns, x + token * columns,
                                         out + token * out_stride, out_stride);
  }
  return in_tiles;
}

/// Four far-apart rows at once for one token.
template <DType kType>
AMPHORA_TARGET void dense_far_rows(const std::byte* weights, const Rows& rows, size_t columns, const float* x,
                                   float* out) {
  FarRows far(rows);
  size_t four[4];
  for (size_t i = 0; i < far.quarter(); ++i) {
    far.take(four);
    dense_tile<kType, 4, 1>(weights, four, columns, x, out, 0);
  }
  for (size_t i = 0; i < far.rest(); ++i) {
    four[0] = far.take_rest();
    dense_tile<kType, 1, 1>(weights, four, columns, x, out, 0);
  }
}

template <DType kType>
AMPHORA_TARGET void dense_rows(const Matrix& weights, const Rows& rows, const float* x, size_t tokens,
                               float* out, size_t out_stride) {
  const std::byte* const payload = weights.payload.data();
  const size_t columns = weights.columns;
  for (size_t token = dense_tiles<kType>(payload, rows, columns, x, tokens, out, out_stride); token < tokens;
       ++token)
    dense_far_rows<kType>(payload, rows, columns, x + token * columns, out + token * out_stride);
}

AMPHORA_TARGET inline void multiply_dense(const Matrix& weights, const Rows& rows, const float* x,
                                          size_t tokens, float* out, size_t out_stride) {
  switch (weights.dtype) {
    case DType::kF32: return dense_rows<DType::kF32>(weights, rows, x, tokens, out, out_stride);
    case DType::kF16: return dense_rows<DType::kF16>(weights, rows, x, tokens, out, out_stride);
    case DType::kBF16: return dense_rows<DType::kBF16>(weights, rows, x, tokens, out, out_stride);
    default: return;
  }
}

template <size_t kTokens>
AMPHORA_INLINE void exact_tile(const float* panel, size_t columns, const float* x, size_t x_stride,
                               float* sums) {
  Lanes total[kTokens];
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t) total[t] = load(sums + t * kLanes);
  for (size_t column = 0; column < columns; ++column) {
    const Lanes w = load(panel + column * kLanes);
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) total[t] = fma(w, broadcast(x[t * x_stride + column]), total[t]);
  }
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t) store(sums + t * kLanes, total[t]);
}

AMPHORA_TARGET inline void multiply_exact(const float* panel, size_t columns, const float* x, size_t x_stride,
                                          size_t tokens, float* sums) {
  size_t token = 0;
  for (; token + kExactTokens <= tokens; token += kExactTokens)
    exact_tile<kExactTokens>(panel, columns, x + token * x_stride, x_stride, sums + token * kLanes);
  for (; token < tokens; ++token)
    exact_tile<1>(panel, columns, x + token * x_stride, x_stride, sums + token * kLanes);
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
