// Sixteen float lanes in four NEON registers; lanes_scalar.h says what each operation means.
#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

#define AMPHORA_VARIANT neon
#define AMPHORA_TARGET [[gnu::target("arch=armv8.2-a+dotprod")]]
#define AMPHORA_INLINE [[gnu::target("arch=armv8.2-a+dotprod"), gnu::always_inline]] inline

namespace amphora::kernels::AMPHORA_VARIANT {

inline constexpr size_t kLanes = 16;
/// A tile of two by two holds 16 of the 32 registers in sums and leaves 12 for its operands.
inline constexpr size_t kDenseRows = 2, kDenseTokens = 2, kExactTokens = 4;
inline constexpr size_t kAttentionHeads = 2, kAttentionKeys = 2, kAttentionVectors = 2;

struct Lanes {
  float32x4_t a, b, c, d;  ///< lanes 0 … 3, 4 … 7, 8 … 11, 12 … 15
};

AMPHORA_INLINE uint32x4_t as_integers(float32x4_t v) { return vreinterpretq_u32_f32(v); }
AMPHORA_INLINE float32x4_t as_floats(uint32x4_t v) { return vreinterpretq_f32_u32(v); }

// FUNCTION(registers of x), FUNCTION(registers of x, of y) for all four.
#define AMPHORA_FOUR(FUNCTION, x) {FUNCTION((x).a), FUNCTION((x).b), FUNCTION((x).c), FUNCTION((x).d)}
#define AMPHORA_FOUR_OF_TWO(FUNCTION, x, y) \
  {FUNCTION((x).a, (y).a), FUNCTION((x).b, (y).b), FUNCTION((x).c, (y).c), FUNCTION((x).d, (y).d)}

AMPHORA_INLINE Lanes broadcast(float value) {
  const float32x4_t v = vdupq_n_f32(value);
  return {v, v, v, v};
}
AMPHORA_INLINE Lanes load(const float* from) {
  return {vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8), vld1q_f32(from + 12)};
}
/// Lanes [first, count) of a register that begins with lane `first`, the others 0.
AMPHORA_INLINE float32x4_t load_first_four(const float* from, size_t first, size_t count) {
  if (count >= first + 4) return vld1q_f32(from + first);
  float32x4_t v = vdupq_n_f32(0.0f);
  if (count > first) v = vld1q_lane_f32(from + first, v, 0);
  if (count > first + 1) v = vld1q_lane_f32(from + first + 1, v, 1);
  if (count > first + 2) v = vld1q_lane_f32(from + first + 2, v, 2);
  return v;
}
AMPHORA_INLINE Lanes load_first(const float* from, size_t count) {
  return {load_first_four(from, 0, count), load_first_four(from, 4, count), load_first_four(from, 8, count),
          load_first_four(from, 12, count)};
}
AMPHORA_INLINE void store(float* to, Lanes x) {
  vst1q_f32(to, x.a);
  vst1q_f32(to + 4, x.b);
  vst1q_f32(to + 8, x.c);
  vst1q_f32(to + 12, x.d);
}
AMPHORA_INLINE void store_first_four(float* to, float32x4_t v, size_t first, size_t count) {
  if (count >= first + 4) return vst1q_f32(to + first, v);
  if (count > first) vst1q_lane_f32(to + first, v, 0);
  if (count > first + 1) vst1q_lane_f32(to + first + 1, v, 1);
  if (count > first + 2) vst1q_lane_f32(to + first + 2, v, 2);
}
AMPHORA_INLINE void store_first(float* to, Lanes x, size_t count) {
  store_first_four(to, x.a, 0, count);
  store_first_four(to, x.b, 4, count);
  store_first_four(to, x.c, 8, count);
  store_first_four(to, x.d, 12, count);
}

AMPHORA_INLINE uint8x16_t load_16_bytes(const void* from) {
  return vld1q_u8(static_cast<const uint8_t*>(from));
}
AMPHORA_INLINE float32x4_t load_four_f32(const std::byte* from) {
  return vreinterpretq_f32_u8(load_16_bytes(from));
}
AMPHORA_INLINE Lanes load_f32(const std::byte* from) {
  return {load_four_f32(from), load_four_f32(from + 16), load_four_f32(from + 32), load_four_f32(from + 48)};
}
AMPHORA_INLINE Lanes load_f16(const std::byte* from) {
  const float16x8_t low = vreinterpretq_f16_u8(load_16_bytes(from));
  const float16x8_t high = vreinterpretq_f16_u8(load_16_bytes(from + 16));
  return {vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
          vcvt_high_f32_f16(high)};
}
AMPHORA_INLINE Lanes load_bf16(const std::byte* from) {
  const uint16x8_t low = vreinterpretq_u16_u8(load_16_bytes(from));
  const uint16x8_t high = vreinterpretq_u16_u8(load_16_bytes(from + 16));
  return {as_floats(vshll_n_u16(vget_low_u16(low), 16)), as_floats(vshll_high_n_u16(low, 16)),
          as_floats(vshll_n_u16(vget_low_u16(high), 16)), as_floats(vshll_high_n_u16(high, 16))};
}
AMPHORA_INLINE Lanes load_i8(const int8_t* from) {
  const int8x16_t codes = vld1q_s8(from);
  const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_high_s8(codes);
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
          vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))};
}
AMPHORA_INLINE void store_f16(std::byte* to, Lanes x) {
  const float16x8_t low = vcvt_high_f16_f32(vcvt_f16_f32(x.a), x.b);
  const float16x8_t high = vcvt_high_f16_f32(vcvt_f16_f32(x.c), x.d);
  vst1q_u8(reinterpret_cast<uint8_t*>(to), vreinterpretq_u8_f16(low));
  vst1q_u8(reinterpret_cast<uint8_t*>(to + 16), vreinterpretq_u8_f16(high));
}

AMPHORA_INLINE Lanes add(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(vaddq_f32, x, y); }
AMPHORA_INLINE Lanes sub(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(vsubq_f32, x, y); }
AMPHORA_INLINE Lanes mul(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(vmulq_f32, x, y); }
AMPHORA_INLINE Lanes div(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(vdivq_f32, x, y); }
AMPHORA_INLINE Lanes fma(Lanes x, Lanes y, Lanes z) {
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
          vfmaq_f32(z.d, x.d, y.d)};
}
// FMAX and FMIN give NaN for a NaN: so compare and select.
AMPHORA_INLINE float32x4_t max(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
AMPHORA_INLINE float32x4_t min(float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); }
AMPHORA_INLINE Lanes max(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(max, x, y); }
AMPHORA_INLINE Lanes min(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(min, x, y); }
AMPHORA_INLINE Lanes absolute(Lanes x) { return AMPHORA_FOUR(vabsq_f32, x); }
AMPHORA_INLINE float32x4_t with_sign(float32x4_t magnitude, float32x4_t sign) {
  return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}
AMPHORA_INLINE Lanes with_sign(Lanes magnitude, Lanes sign) {
  return AMPHORA_FOUR_OF_TWO(with_sign, magnitude, sign);
}
AMPHORA_INLINE Lanes select_less(Lanes x, Lanes y, Lanes yes, Lanes no) {
  return {vbslq_f32(vcltq_f32(x.a, y.a), yes.a, no.a), vbslq_f32(vcltq_f32(x.b, y.b), yes.b, no.b),
          vbslq_f32(vcltq_f32(x.c, y.c), yes.c, no.c), vbslq_f32(vcltq_f32(x.d, y.d), yes.d, no.d)};
}
AMPHORA_INLINE float32x4_t max_magnitude(float32x4_t x, float32x4_t y) {
  return as_floats(vmaxq_u32(as_integers(x), as_integers(y)));
}
AMPHORA_INLINE Lanes max_magnitude(Lanes x, Lanes y) { return AMPHORA_FOUR_OF_TWO(max_magnitude, x, y); }

inline constexpr float kRoundingShift = 0x1.8p23f;
AMPHORA_INLINE float32x4_t times_power_of_two(float32x4_t x, float32x4_t shifted) {
  const int32x4_t n =
      vreinterpretq_s32_u32(vsubq_u32(as_integers(shifted), as_integers(vdupq_n_f32(kRoundingShift))));
  const int32x4_t half = vshrq_n_s32(n, 1), bias = vdupq_n_s32(127);
  const int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
  const int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(n, half), bias), 23);
  return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
}
AMPHORA_INLINE Lanes times_power_of_two(Lanes x, Lanes shifted) {
  return AMPHORA_FOUR_OF_TWO(times_power_of_two, x, shifted);
}

AMPHORA_INLINE float sum(Lanes x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
  return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}
AMPHORA_INLINE float largest(Lanes x) {
  float32x4_t four = max(max(x.a, x.c), max(x.b, x.d));
  four = max(four, vextq_f32(four, four, 2));
  return vgetq_lane_f32(max(four, vextq_f32(four, four, 1)), 0);
}
AMPHORA_INLINE float largest_magnitude(Lanes x) {
  const float32x4_t four = max_magnitude(max_magnitude(x.a, x.c), max_magnitude(x.b, x.d));
  return std::bit_cast<float>(vmaxvq_u32(as_integers(four)));
}
AMPHORA_INLINE int32_t store_i8(int8_t* to, Lanes x) {
  const int32x4_t a = vcvtnq_s32_f32(x.a), b = vcvtnq_s32_f32(x.b);
  const int32x4_t c = vcvtnq_s32_f32(x.c), d = vcvtnq_s32_f32(x.d);
  const int16x8_t low = vcombine_s16(vmovn_s32(a), vmovn_s32(b));
  const int16x8_t high = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
  vst1q_s8(to, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  return vaddvq_s32(vaddq_s32(vaddq_s32(a, b), vaddq_s32(c, d)));
}
AMPHORA_INLINE bool any_equal(Lanes x, Lanes y) {
  const uint32x4_t low = vorrq_u32(vceqq_f32(x.a, y.a), vceqq_f32(x.b, y.b));
  const uint32x4_t high = vorrq_u32(vceqq_f32(x.c, y.c), vceqq_f32(x.d, y.d));
  return vmaxvq_u32(vorrq_u32(low, high)) != 0;
}

#undef AMPHORA_FOUR
#undef AMPHORA_FOUR_OF_TWO

}  // namespace amphora::kernels::AMPHORA_VARIANT
