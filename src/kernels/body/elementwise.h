// Functions of single elements: exp, tanh, activations, sums. Included after a lanes_*.h.
#pragma once

#include <cstddef>
#include <limits>

namespace amphora::kernels::AMPHORA_VARIANT {

/// e^x within 1 ulp: x = n·ln 2 + r, |r| ≤ ln 2 / 2, a polynomial for e^r (Cephes' expf), then 2^n. Infinity
/// and 0 beyond the range, subnormal results rounded, NaN stays NaN.
AMPHORA_INLINE Lanes exp_of(Lanes x) {
  x = min(broadcast(150.0f), max(broadcast(-150.0f), x));
  const Lanes shifted = fma(x, broadcast(0x1.715476p+0f), broadcast(kRoundingShift));
  const Lanes n = sub(shifted, broadcast(kRoundingShift));
  Lanes r =
      fma(n, broadcast(-0x1.62e4p-1f), x);  // ln 2 in two parts, the first of few bits: n times it is exact
  r = fma(n, broadcast(-0x1.7f7d1cp-20f), r);
  Lanes p = broadcast(1.9875691500e-4f);
  p = fma(p, r, broadcast(1.3981999507e-3f));
  p = fma(p, r, broadcast(8.3334519073e-3f));
  p = fma(p, r, broadcast(4.1665795894e-2f));
  p = fma(p, r, broadcast(1.6666665459e-1f));
  p = fma(p, r, broadcast(5.0000001201e-1f));
  p = add(fma(p, mul(r, r), r), broadcast(1.0f));
  return times_power_of_two(p, shifted);
}

/// tanh x within 2 ulp: a polynomial near 0 (Cephes' tanhf), 1 - 2 / (e^2|x| + 1) elsewhere.
AMPHORA_INLINE Lanes tanh_of(Lanes x) {
  const Lanes size = absolute(x);
  const Lanes square = mul(x, x);
  Lanes p = broadcast(-5.70498872745e-3f);
  p = fma(p, square, broadcast(2.06390887954e-2f));
  p = fma(p, square, broadcast(-5.37397155531e-2f));
  p = fma(p, square, broadcast(1.33314422036e-1f));
  p = fma(p, square, broadcast(-3.33332819422e-1f));
  const Lanes near_zero = fma(mul(p, square), size, size);
  const Lanes grown = add(exp_of(add(size, size)), broadcast(1.0f));
  const Lanes far = sub(broadcast(1.0f), div(broadcast(2.0f), grown));
  return with_sign(select_less(size, broadcast(0.625f), near_zero, far), x);
}

/// x · σ(x).
AMPHORA_INLINE Lanes silu_of(Lanes x) {
  return div(x, add(broadcast(1.0f), exp_of(sub(broadcast(0.0f), x))));
}

/// x/2 · (1 + tanh(√(2/π)(x + 0.044715 x³))) = x · σ(2√(2/π)(x + 0.044715 x³)), which does not cancel for x <
/// 0.
AMPHORA_INLINE Lanes gelu_tanh_of(Lanes x) {
  const Lanes inner = fma(mul(x, x), mul(x, broadcast(0.044715f)), x);
  return div(x, add(broadcast(1.0f), exp_of(mul(inner, broadcast(-1.5957691216057308f)))));
}

/// Applies FUNCTION(lanes of x, lanes of y) to x, tail included. A macro: a lambda would not inherit the
/// target.
#define AMPHORA_EACH_LANES(x, y, count, FUNCTION)                                                         \
  size_t at = 0;                                                                                          \
  for (; at + kLanes <= (count); at += kLanes) store((x) + at, FUNCTION(load((x) + at), load((y) + at))); \
  if (const size_t rest = (count) - at; rest != 0)                                                        \
  store_first((x) + at, FUNCTION(load_first((x) + at, rest), load_first((y) + at, rest)), rest)

AMPHORA_INLINE Lanes silu_product(Lanes gate, Lanes up) { return mul(silu_of(gate), up); }
AMPHORA_INLINE Lanes gelu_tanh_product(Lanes gate, Lanes up) { return mul(gelu_tanh_of(gate), up); }

AMPHORA_TARGET inline void silu_multiply(float* gate, const float* up, size_t count) {
  AMPHORA_EACH_LANES(gate, up, count, silu_product);
}
AMPHORA_TARGET inline void gelu_tanh_multiply(float* gate, const float* up, size_t count) {
  AMPHORA_EACH_LANES(gate, up, count, gelu_tanh_product);
}
AMPHORA_TARGET inline void add_to(float* x, const float* y, size_t count) {
  AMPHORA_EACH_LANES(x, y, count, add);
}
#undef AMPHORA_EACH_LANES

AMPHORA_TARGET inline void scale(float* x, float factor, size_t count) {
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) store(x + at, mul(load(x + at), broadcast(factor)));
  if (const size_t rest = count - at; rest != 0)
    store_first(x + at, mul(load_first(x + at, rest), broadcast(factor)), rest);
}

AMPHORA_INLINE Lanes capped(Lanes x, Lanes cap) { return mul(cap, tanh_of(div(x, cap))); }

AMPHORA_TARGET inline void softcap(float* x, float cap, size_t count) {
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) store(x + at, capped(load(x + at), broadcast(cap)));
  if (const size_t rest = count - at; rest != 0)
    store_first(x + at, capped(load_first(x + at, rest), broadcast(cap)), rest);
}

AMPHORA_TARGET inline float exponential(float x) {
  float result = 0;
  store_first(&result, exp_of(broadcast(x)), 1);
  return result;
}

AMPHORA_TARGET inline size_t argmax(const float* values, size_t count) {
  const float lowest = -std::numeric_limits<float>::infinity();
  Lanes best = broadcast(lowest);
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) best = max(load(values + at), best);  // NaN never wins
  float maximum = largest(best);
  for (; at < count; ++at) maximum = values[at] > maximum ? values[at] : maximum;
  const Lanes wanted = broadcast(maximum);
  for (at = 0; at + kLanes <= count && !any_equal(load(values + at), wanted);) at += kLanes;
  for (; at < count; ++at)
    if (values[at] == maximum) return at;
  return 0;  // nothing but NaN
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
