// Functions of single elements: exp, tanh, log, activations, sums. Included after a lanes_*.h.
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

/// log(1 + u) for u in [0, 1] within 1 ulp: log(1 + f) with f in [-1/4, 1/2) (fdlibm's, with s = f / (2 + f)
/// and the terms of 2 artanh s to s⁹), and from u = 1/2 on 1 + u = 2(1 + f).
AMPHORA_INLINE Lanes log1p_of_unit(Lanes u) {
  const Lanes half = broadcast(0.5f);
  const Lanes f = select_less(u, half, u, mul(sub(u, broadcast(1.0f)), half));
  const Lanes doubled = select_less(u, half, broadcast(0.0f), broadcast(0x1.62e43p-1f));  // ln 2
  const Lanes s = div(f, add(broadcast(2.0f), f));
  const Lanes z = mul(s, s);
  Lanes p = broadcast(2.0f / 9);
  p = fma(p, z, broadcast(2.0f / 7));
  p = fma(p, z, broadcast(2.0f / 5));
  p = fma(p, z, broadcast(2.0f / 3));
  const Lanes half_square = mul(mul(half, f), f);
  const Lanes bend = sub(mul(s, fma(p, z, half_square)), half_square);
  return add(doubled, add(f, bend));
}

/// 1 / (1 + e^-x).
AMPHORA_INLINE Lanes sigmoid_of(Lanes x) {
  return div(broadcast(1.0f), add(broadcast(1.0f), exp_of(sub(broadcast(0.0f), x))));
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
AMPHORA_INLINE Lanes softplus_of(Lanes x) {
  const Lanes zero = broadcast(0.0f);
  return add(max(zero, x), log1p_of_unit(exp_of(sub(zero, absolute(x)))));
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

// Apply FUNCTION(lanes of x, further arguments) or FUNCTION(lanes of x, lanes of y, further arguments) to x,
// tail included. Macros: a lambda would not inherit the target.
#define AMPHORA_EACH_LANES(x, count, FUNCTION, ...)                       \
  size_t at = 0;                                                          \
  for (; at + kLanes <= (count); at += kLanes)                            \
    store((x) + at, FUNCTION(load((x) + at) __VA_OPT__(, ) __VA_ARGS__)); \
  if (const size_t rest = (count) - at; rest != 0)                        \
  store_first((x) + at, FUNCTION(load_first((x) + at, rest) __VA_OPT__(, ) __VA_ARGS__), rest)
#define AMPHORA_EACH_LANES_OF_TWO(x, y, count, FUNCTION, ...)                                              \
  size_t at = 0;                                                                                           \
  for (; at + kLanes <= (count); at += kLanes)                                                             \
    store((x) + at, FUNCTION(load((x) + at), load((y) + at) __VA_OPT__(, ) __VA_ARGS__));                  \
  if (const size_t rest = (count) - at; rest != 0)                                                         \
  store_first((x) + at,                                                                                    \
              FUNCTION(load_first((x) + at, rest), load_first((y) + at, rest) __VA_OPT__(, ) __VA_ARGS__), \
              rest)

AMPHORA_INLINE Lanes silu_product(Lanes gate, Lanes up) { return mul(silu_of(gate), up); }
AMPHORA_INLINE Lanes gelu_tanh_product(Lanes gate, Lanes up) { return mul(gelu_tanh_of(gate), up); }
AMPHORA_INLINE Lanes sigmoid_product(Lanes x, Lanes gate) { return mul(x, sigmoid_of(gate)); }
AMPHORA_INLINE Lanes scaled_sum(Lanes x, Lanes y, Lanes factor) { return fma(y, factor, x); }
AMPHORA_INLINE Lanes capped(Lanes x, Lanes cap) { return mul(cap, tanh_of(div(x, cap))); }

AMPHORA_TARGET inline void silu_multiply(float* gate, const float* up, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(gate, up, count, silu_product);
}
AMPHORA_TARGET inline void gelu_tanh_multiply(float* gate, const float* up, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(gate, up, count, gelu_tanh_product);
}
AMPHORA_TARGET inline void sigmoid_multiply(float* x, const float* gate, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(x, gate, count, sigmoid_product);
}
AMPHORA_TARGET inline void add_to(float* x, const float* y, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(x, y, count, add);
}
AMPHORA_TARGET inline void add_scaled(float* x, const float* y, float factor, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(x, y, count, scaled_sum, broadcast(factor));
}
AMPHORA_TARGET inline void multiply(float* x, const float* y, size_t count) {
  AMPHORA_EACH_LANES_OF_TWO(x, y, count, mul);
}
AMPHORA_TARGET inline void scale(float* x, float factor, size_t count) {
  AMPHORA_EACH_LANES(x, count, mul, broadcast(factor));
}
AMPHORA_TARGET inline void softcap(float* x, float cap, size_t count) {
  AMPHORA_EACH_LANES(x, count, capped, broadcast(cap));
}
AMPHORA_TARGET inline void silu(float* x, size_t count) { AMPHORA_EACH_LANES(x, count, silu_of); }
AMPHORA_TARGET inline void sigmoid(float* x, size_t count) { AMPHORA_EACH_LANES(x, count, sigmoid_of); }
AMPHORA_TARGET inline void softplus(float* x, size_t count) { AMPHORA_EACH_LANES(x, count, softplus_of); }
#undef AMPHORA_EACH_LANES
#undef AMPHORA_EACH_LANES_OF_TWO

AMPHORA_TARGET inline float exponential(float x) {
  float result = 0;
  store_first(&result, exp_of(broadcast(x)), 1);
  return result;
}

/// The largest ; a NaN never wins.
AMPHORA_INLINE float largest_of(const float* values, size_t count) {
  Lanes best = broadcast(-std::numeric_limits<float>::infinity());
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) best = max(load(values + at), best);
  float maximum = largest(best);
  for (; at < count; ++at) maximum = values[at] > maximum ? values[at] : maximum;
  return maximum;
}

AMPHORA_TARGET inline size_t argmax(const float* values, size_t count) {
  const float maximum = largest_of(values, count);
  const Lanes wanted = broadcast(maximum);
  size_t at = 0;
  while (at + kLanes <= count && !any_equal(load(values + at), wanted)) at += kLanes;
  for (; at < count; ++at)
    if (values[at] == maximum) return at;
  return 0;  // nothing but NaN
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
