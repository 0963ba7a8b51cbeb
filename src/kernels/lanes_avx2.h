// Sixteen float lanes in two AVX2 registers; lanes_scalar.h says what each operation means.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

#define AMPHORA_VARIANT avx2
#define AMPHORA_TARGET [[gnu::target("avx2,fma,f16c")]]
#define AMPHORA_INLINE [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline

namespace amphora::kernels::AMPHORA_VARIANT {

inline constexpr size_t kLanes = 16;
inline constexpr size_t kDenseRows = 2, kDenseTokens = 2, kExactTokens = 4;
inline constexpr size_t kAttentionHeads = 2, kAttentionKeys = 2, kAttentionVectors = 2;

struct Lanes {
  __m256 low, high;
};

AMPHORA_INLINE __m256i as_integers(__m256 a) { return _mm256_castps_si256(a); }
AMPHORA_INLINE __m256 as_floats(__m256i a) { return _mm256_castsi256_ps(a); }
/// All ones in the lanes from `first` on that lie before `count`.
AMPHORA_INLINE __m256i mask_of(size_t count, int first) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count) - first), lane);
}

AMPHORA_INLINE Lanes broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
AMPHORA_INLINE Lanes load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
AMPHORA_INLINE Lanes load_first(const float* from, size_t count) {
  const __m256 low = _mm256_maskload_ps(from, mask_of(count, 0));
  return {low, count > 8 ? _mm256_maskload_ps(from + 8, mask_of(count, 8)) : _mm256_setzero_ps()};
}
AMPHORA_INLINE void store(float* to, Lanes a) {
  _mm256_storeu_ps(to, a.low);
  _mm256_storeu_ps(to + 8, a.high);
}
AMPHORA_INLINE void store_first(float* to, Lanes a, size_t count) {
  _mm256_maskstore_ps(to, mask_of(count, 0), a.low);
  if (count > 8) _mm256_maskstore_ps(to + 8, mask_of(count, 8), a.high);
}

AMPHORA_INLINE __m256i load_32_bytes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
AMPHORA_INLINE __m128i load_16_bytes(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
AMPHORA_INLINE Lanes load_f32(const std::byte* from) {
  return {as_floats(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))),
          as_floats(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32)))};
}
AMPHORA_INLINE Lanes load_f16(const std::byte* from) {
  return {_mm256_cvtph_ps(load_16_bytes(from)), _mm256_cvtph_ps(load_16_bytes(from + 16))};
}
AMPHORA_INLINE __m256 widen_bf16(__m128i halves) {
  return as_floats(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
AMPHORA_INLINE Lanes load_bf16(const std::byte* from) {
  return {widen_bf16(load_16_bytes(from)), widen_bf16(load_16_bytes(from + 16))};
}
AMPHORA_INLINE Lanes load_i8(const int8_t* from) {
  const __m128i codes = load_16_bytes(from);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)))};
}
AMPHORA_INLINE void store_f16(std::byte* to, Lanes a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
}

AMPHORA_INLINE Lanes add(Lanes a, Lanes b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes sub(Lanes a, Lanes b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes mul(Lanes a, Lanes b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes div(Lanes a, Lanes b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
AMPHORA_INLINE Lanes max(Lanes a, Lanes b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes min(Lanes a, Lanes b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
AMPHORA_INLINE Lanes absolute(Lanes a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
AMPHORA_INLINE __m256 with_sign(__m256 magnitude, __m256 sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}
AMPHORA_INLINE Lanes with_sign(Lanes magnitude, Lanes sign) {
  return {with_sign(magnitude.low, sign.low), with_sign(magnitude.high, sign.high)};
}
AMPHORA_INLINE Lanes select_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
AMPHORA_INLINE __m256 max_magnitude(__m256 a, __m256 b) {
  return as_floats(_mm256_max_epu32(as_integers(a), as_integers(b)));
}
AMPHORA_INLINE Lanes max_magnitude(Lanes a, Lanes b) {
  return {max_magnitude(a.low, b.low), max_magnitude(a.high, b.high)};
}

inline constexpr float kRoundingShift = 0x1.8p23f;
AMPHORA_INLINE __m256 times_power_of_two(__m256 a, __m256 shifted) {
  const __m256i n = _mm256_sub_epi32(as_integers(shifted), as_integers(_mm256_set1_ps(kRoundingShift)));
  const __m256i half = _mm256_srai_epi32(n, 1), bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(a, as_floats(first)), as_floats(second));
}
AMPHORA_INLINE Lanes times_power_of_two(Lanes a, Lanes shifted) {
  return {times_power_of_two(a.low, shifted.low), times_power_of_two(a.high, shifted.high)};
}

AMPHORA_INLINE float sum(Lanes a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
AMPHORA_INLINE float largest(Lanes a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
AMPHORA_INLINE float largest_magnitude(Lanes a) {
  const __m256i eight = as_integers(max_magnitude(a.low, a.high));
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
  four = _mm_max_epu32(four, _mm_srli_epi64(four, 32));
  return _mm_cvtss_f32(_mm_castsi128_ps(four));
}
AMPHORA_INLINE int32_t store_i8(int8_t* to, Lanes a) {
  const __m256i low = _mm256_cvtps_epi32(a.low), high = _mm256_cvtps_epi32(a.high);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  const __m256i eight = _mm256_add_epi32(low, high);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_srli_epi64(four, 32)));
}
AMPHORA_INLINE bool any_equal(Lanes a, Lanes b) {
  const __m256 equal =
      _mm256_or_ps(_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ));
  return _mm256_movemask_ps(equal) != 0;
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
