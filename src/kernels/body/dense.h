// Products with float weights: fast (sixteen lanes along the columns) and exact (column by column). Included
// after a lanes_*.h.
#pragma once

#include <cstddef>

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

/// kRows rows, which may lie far apart, times kTokens tokens. Lane l of a product sums columns l, l + 16, …
/// in order.
template <DType kType, size_t kRows, size_t kTokens>
AMPHORA_INLINE void dense_tile(const std::byte* weights, size_t row_stride, size_t columns, const float* x,
                               float* out, size_t out_row_stride, size_t out_token_stride) {
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
      const Lanes w = load_weights<kType>(weights + r * row_stride + at * kWeightBytes<kType>);
      AMPHORA_UNROLL
      for (size_t t = 0; t < kTokens; ++t) sums[r][t] = fma(w, v[t], sums[r][t]);
    }
  }
  if (const size_t rest = columns - at; rest != 0) {
    AMPHORA_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes w = load_last_weights<kType>(weights + r * row_stride + at * kWeightBytes<kType>, rest);
      AMPHORA_UNROLL
      for (size_t t = 0; t < kTokens; ++t)
        sums[r][t] = fma(w, load_first(x + t * columns + at, rest), sums[r][t]);
    }
  }
  AMPHORA_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) out[r * out_row_stride + t * out_token_stride] = sum(sums[r][t]);
  }
}

/// Four far-apart rows at once (one hardware prefetcher each) for one token, tiles of neighbouring rows for
/// several.
template <DType kType>
AMPHORA_TARGET void dense_rows(const std::byte* weights, size_t rows, size_t columns, const float* x,
                               size_t tokens, float* out, size_t out_stride) {
  const size_t row_bytes = columns * kWeightBytes<kType>;
  size_t token = 0;
  if (tokens >= kDenseTokens && kDenseTokens > 1) {
    size_t row = 0;
    for (; row + kDenseRows <= rows; row += kDenseRows)
      for (token = 0; token + kDenseTokens <= tokens; token += kDenseTokens)
        dense_tile<kType, kDenseRows, kDenseTokens>(weights + row * row_bytes, row_bytes, columns,
                                                    x + token * columns, out + token * out_stride + row, 1,
                                                    out_stride);
    for (; row < rows; ++row)
      for (token = 0; token + kDenseTokens <= tokens; token += kDenseTokens)
        dense_tile<kType, 1, kDenseTokens>(weights + row * row_bytes, row_bytes, columns, x + token * columns,
                                           out + token * out_stride + row, 1, out_stride);
    token = tokens / kDenseTokens * kDenseTokens;
  }
  const size_t quarter = rows / 4;
  for (; token < tokens; ++token) {
    const float* v = x + token * columns;
    float* result = out + token * out_stride;
    for (size_t row = 0; row < quarter; ++row)
      dense_tile<kType, 4, 1>(weights + row * row_bytes, quarter * row_bytes, columns, v, result + row,
                              quarter, 0);
    for (size_t row = 4 * quarter; row < rows; ++row)
      dense_tile<kType, 1, 1>(weights + row * row_bytes, row_bytes, columns, v, result + row, 1, 0);
  }
}

AMPHORA_TARGET inline void multiply_dense(const Matrix& weights, size_t first, size_t last, const float* x,
                                          size_t tokens, float* out, size_t out_stride) {
  const std::byte* at = weights.payload.data();
  const size_t columns = weights.columns, rows = last - first;
  switch (weights.dtype) {
    case DType::kF32:
      return dense_rows<DType::kF32>(at + first * columns * 4, rows, columns, x, tokens, out, out_stride);
    case DType::kF16:
      return dense_rows<DType::kF16>(at + first * columns * 2, rows, columns, x, tokens, out, out_stride);
    case DType::kBF16:
      return dense_rows<DType::kBF16>(at + first * columns * 2, rows, columns, x, tokens, out, out_stride);
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
