// Sixteen float lanes in one AVX-512 register; lanes_scalar.h says what each operation means.
#pragma once

// g++ 12 warns about the deliberately undefined vectors inside its own header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

#define AMPHORA_VARIANT avx512
#define AMPHORA_TARGET [[gnu::target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]]
#define AMPHORA_INLINE \
  [[gnu::target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"), gnu::always_inline]] inline

namespace amphora::kernels::AMPHORA_VARIANT {

inline constexpr size_t kLanes = 16;
inline constexpr size_t kDenseRows = 4, kDenseTokens = 4, kExactTokens = 8;
inline constexpr size_t kAttentionHeads = 4, kAttentionKeys = 4, kAttentionVectors = 4;

struct Lanes {
  __m512 all;
};

AMPHORA_INLINE __m512i as_integers(__m512 a) { return _mm512_castps_si512(a); }
AMPHORA_INLINE __m512 as_floats(__m512i a) { return _mm512_castsi512_ps(a); }
AMPHORA_INLINE __mmask16 mask_of(size_t count) { return static_cast<__mmask16>((1u << count) - 1); }

AMPHORA_INLINE Lanes broadcast(float value) { return {_mm512_set1_ps(value)}; }
AMPHORA_INLINE Lanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
AMPHORA_INLINE Lanes load_first(const float* from, size_t count) {
  return {_mm512_maskz_loadu_ps(mask_of(count), from)};
}
AMPHORA_INLINE void store(float* to, Lanes a) { _mm512_storeu_ps(to, a.all); }
AMPHORA_INLINE void store_first(float* to, Lanes a, size_t count) {
  _mm512_mask_storeu_ps(to, mask_of(count), a.all);
}

AMPHORA_INLINE __m256i load_32_bytes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
AMPHORA_INLINE Lanes load_f32(const std::byte* from) { return {_mm512_loadu_ps(from)}; }
AMPHORA_INLINE Lanes load_f16(const std::byte* from) { return {_mm512_cvtph_ps(load_32_bytes(from))}; }
AMPHORA_INLINE Lanes load_bf16(const std::byte* from) {
  return {as_floats(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_32_bytes(from)), 16))};
}
AMPHORA_INLINE Lanes load_i8(const int8_t* from) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))))};
}
AMPHORA_INLINE void store_f16(std::byte* to, Lanes a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(a.all, _MM_FROUND_TO_NEAREST_INT));
}

AMPHORA_INLINE Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes div(Lanes a, Lanes b) { return {_mm512_div_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.all, b.all, c.all)}; }
AMPHORA_INLINE Lanes max(Lanes a, Lanes b) { return {_mm512_max_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes min(Lanes a, Lanes b) { return {_mm512_min_ps(a.all, b.all)}; }
AMPHORA_INLINE Lanes absolute(Lanes a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.all)}; }
AMPHORA_INLINE Lanes with_sign(Lanes magnitude, Lanes sign) {
  const __m512 bit = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(bit, magnitude.all), _mm512_and_ps(bit, sign.all))};
}
AMPHORA_INLINE Lanes select_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.all, b.all, _CMP_LT_OQ), no.all, yes.all)};
}
AMPHORA_INLINE Lanes max_magnitude(Lanes a, Lanes b) {
  return {as_floats(_mm512_max_epu32(as_integers(a.all), as_integers(b.all)))};
}

inline constexpr float kRoundingShift = 0x1.8p23f;
AMPHORA_INLINE Lanes times_power_of_two(Lanes a, Lanes shifted) {
  const __m512i n = _mm512_sub_epi32(as_integers(shifted.all), as_integers(_mm512_set1_ps(kRoundingShift)));
  const __m512i half = _mm512_srai_epi32(n, 1), bias = _mm512_set1_epi32(127);
  const __m512i first = _mm512_slli_epi32(_mm512_add_epi32(half, bias), 23);
  const __m512i second = _mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(n, half), bias), 23);
  return {_mm512_mul_ps(_mm512_mul_ps(a.all, as_floats(first)), as_floats(second))};
}

AMPHORA_INLINE float sum(Lanes a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.all), _mm512_extractf32x8_ps(a.all, 1));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
AMPHORA_INLINE float largest(Lanes a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.all), _mm512_extractf32x8_ps(a.all, 1));
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
AMPHORA_INLINE float largest_magnitude(Lanes a) {
  const __m512i all = as_integers(a.all);
  const __m256i eight = _mm256_max_epu32(_mm512_castsi512_si256(all), _mm512_extracti32x8_epi32(all, 1));
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
  four = _mm_max_epu32(four, _mm_srli_epi64(four, 32));
  return _mm_cvtss_f32(_mm_castsi128_ps(four));
}
AMPHORA_INLINE int32_t store_i8(int8_t* to, Lanes a) {
  const __m512i codes = _mm512_cvtps_epi32(a.all);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(codes));
  const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(codes), _mm512_extracti32x8_epi32(codes, 1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_srli_epi64(four, 32)));
}
AMPHORA_INLINE bool any_equal(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.all, b.all, _CMP_EQ_OQ) != 0; }

}  // namespace amphora::kernels::AMPHORA_VARIANT
