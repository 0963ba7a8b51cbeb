// Norms of rows and rotary positions. Included after a lanes_*.h.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/body/elementwise.h"

namespace amphora::kernels::AMPHORA_VARIANT {

/// Σ x², in sixteen lanes.
AMPHORA_INLINE float sum_of_squares(const float* x, size_t columns) {
  Lanes squares = broadcast(0.0f);
  size_t at = 0;
  for (; at + kLanes <= columns; at += kLanes) {
    const Lanes v = load(x + at);
    squares = fma(v, v, squares);
  }
  if (const size_t rest = columns - at; rest != 0) {
    const Lanes v = load_first(x + at, rest);
    squares = fma(v, v, squares);
  }
  return sum(squares);
}

/// In f32 throughout, as Hugging Face computes it.
AMPHORA_TARGET inline void rms_norm(const float* x, const float* weights, size_t columns, float eps,
                                    bool one_plus, float* out) {
  const float mean = sum_of_squares(x, columns) / static_cast<float>(columns);
  const Lanes factor = broadcast(1.0f / std::sqrt(mean + eps));
  const Lanes one = broadcast(one_plus ? 1.0f : 0.0f);
  size_t at = 0;
  for (; at + kLanes <= columns; at += kLanes)
    store(out + at, mul(mul(load(x + at), factor), add(one, load(weights + at))));
  if (const size_t rest = columns - at; rest != 0)
    store_first(out + at,
                mul(mul(load_first(x + at, rest), factor), add(one, load_first(weights + at, rest))), rest);
}

AMPHORA_TARGET inline void l2_norm(float* x, size_t columns, float eps, float factor) {
  scale(x, factor / std::sqrt(sum_of_squares(x, columns) + eps), columns);
}

/// One head. Every product and the difference are rounded, as Hugging Face's q·cos + rotate_half(q)·sin.
AMPHORA_TARGET inline void rope(float* x, size_t half, const float* cosines, const float* sines) {
  size_t at = 0;
  for (; at + kLanes <= half; at += kLanes) {
    const Lanes a = load(x + at), b = load(x + half + at), c = load(cosines + at), s = load(sines + at);
    store(x + at, sub(mul(a, c), mul(b, s)));
    store(x + half + at, add(mul(b, c), mul(a, s)));
  }
  if (const size_t rest = half - at; rest != 0) {
    const Lanes a = load_first(x + at, rest), b = load_first(x + half + at, rest);
    const Lanes c = load_first(cosines + at, rest), s = load_first(sines + at, rest);
    store_first(x + at, sub(mul(a, c), mul(b, s)), rest);
    store_first(x + half + at, add(mul(b, c), mul(a, s)), rest);
  }
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
