// Products of blocks of eight rows (packed_rows.h) in 256-bit registers, for AVX2 and AVX-512. Included after
// a lanes_*.h that has them, with AMPHORA_VNNI set where dot products of bytes are one instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_reader.h"
#include "kernels/packed_rows.h"
#include "kernels/unroll.h"

namespace amphora::kernels::AMPHORA_VARIANT {

AMPHORA_INLINE __m256i broadcast_quad(const int8_t* from) {
  int quad;
  std::memcpy(&quad, from, sizeof quad);
  return _mm256_set1_epi32(quad);
}

/// Moves `kBits` bits of every byte from bit kFrom to bit kTo, the others become 0.
template <size_t kBits, size_t kFrom, size_t kTo>
AMPHORA_INLINE __m256i take_bits(__m256i v) {
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(((1u << kBits) - 1) << kTo));
  if constexpr (kFrom > kTo) v = _mm256_srli_epi16(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = _mm256_slli_epi16(v, kTo - kFrom);
  return _mm256_and_si256(v, mask);
}

/// Codes times step of quad kQuad of eight rows, unsigned.
template <PackedKind kKind, size_t kQuad>
AMPHORA_INLINE __m256i load_codes(const std::byte* group) {
  using P = Planes<kKind>;
  if constexpr (P::kBits == 8) return load_32_bytes(group + 32 * kQuad);
  __m256i codes = _mm256_setzero_si256();
  if constexpr (P::kNibble)
    codes = take_bits<4, 4 * (kQuad / 4), P::kStep>(load_32_bytes(group + 32 * (kQuad % 4)));
  if constexpr (P::kCrumb)
    codes = _mm256_or_si256(codes, take_bits<2, 2 * (kQuad / 2), P::kCrumbTo>(
                                       load_32_bytes(group + P::kCrumbPlane + 32 * (kQuad % 2))));
  if constexpr (P::kBit)
    codes = _mm256_or_si256(codes, take_bits<1, kQuad, P::kBitTo>(load_32_bytes(group + P::kBitPlane)));
  return codes;
}

/// GCC would turn a chain of integer additions into a tree, compute all products first and spill them.
AMPHORA_INLINE void keep_in_order(__m256i& v) { asm("" : "+x"(v)); }

/// The integer products of a group: those that have not been widened yet as words, the others as dwords.
struct GroupSums {
  __m256i words, dwords;
};

/// How many products of codes up to `largest` may be added in a word.
constexpr size_t products_of_a_word(size_t largest) { return 32767 / (2 * 127 * largest); }

template <PackedKind kKind, size_t kQuad>
AMPHORA_INLINE void add_quad(__m256i codes, __m256i x, GroupSums& sums) {
  constexpr PackedCode kCode = code_of(kKind);
#if AMPHORA_VNNI
  // Unsigned by signed bytes: signed codes become c + 128, which take_zero_off() knows.
  if constexpr (kCode.bits == 8) codes = _mm256_xor_si256(codes, _mm256_set1_epi8(static_cast<char>(0x80)));
  sums.dwords = _mm256_dpbusd_epi32(sums.dwords, codes, x);
#else
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (kCode.bits == 8) {  // |w| · (x with the sign of w): exact for w = -128 too
    const __m256i words = _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
    sums.dwords = _mm256_add_epi32(sums.dwords, _mm256_madd_epi16(words, ones));
  } else {
    constexpr size_t kMost =
        std::min(kQuads, products_of_a_word(((size_t{1} << kCode.bits) - 1) << kCode.step_shift));
    const __m256i words = _mm256_maddubs_epi16(codes, x);
    sums.words = kQuad % kMost == 0 ? words : _mm256_add_epi16(sums.words, words);
    keep_in_order(sums.words);
    if constexpr (kQuad % kMost == kMost - 1 || kQuad == kQuads - 1)
      sums.dwords = kQuad < kMost ? _mm256_madd_epi16(sums.words, ones)
                                  : _mm256_add_epi32(sums.dwords, _mm256_madd_epi16(sums.words, ones));
  }
#endif
  keep_in_order(sums.dwords);
}

/// Σ code · x to Σ (code - zero) · x.
template <PackedKind kKind>
AMPHORA_INLINE __m256i take_zero_off(__m256i products, int32_t sum_of_x) {
  constexpr PackedCode kCode = code_of(kKind);
  constexpr int kZero = kCode.zero + (AMPHORA_VNNI && kCode.bits == 8 ? 128 : 0);
  if constexpr (kZero == 0) return products;
  return _mm256_sub_epi32(products,
                          _mm256_mullo_epi32(_mm256_set1_epi32(kZero), _mm256_set1_epi32(sum_of_x)));
}

/// The scales of eight rows in one group of a step.
template <PackedKind kKind>
AMPHORA_INLINE __m256 load_row_scales(const std::byte* step, size_t group) {
  if constexpr (code_of(kKind).scales == PackedScales::kHalf)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(step + 16 * group)));
  else
    return _mm256_loadu_ps(reinterpret_cast<const float*>(step + 32 * group));
}

/// The quads from kQuad on of a group, for all tokens.
template <PackedKind kKind, size_t kTokens, size_t kQuad = 0>
AMPHORA_INLINE void add_quads(const std::byte* codes, const int8_t* columns, size_t stride,
                              GroupSums (&sums)[kTokens]) {
  const __m256i weights = load_codes<kKind, kQuad>(codes);
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t)
    add_quad<kKind, kQuad>(weights, broadcast_quad(columns + t * stride + 4 * kQuad), sums[t]);
  if constexpr (kQuad + 1 < kQuads) add_quads<kKind, kTokens, kQuad + 1>(codes, columns, stride, sums);
}

/// One group of a block: chains[token][group mod kChains].
template <PackedKind kKind, size_t kTokens>
AMPHORA_INLINE void add_group(const std::byte* step, const PackedTokens& x, size_t group,
                              __m256 (&chains)[kTokens][kChains]) {
  const size_t chain = group % kChains;
  GroupSums sums[kTokens];
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t) sums[t].words = sums[t].dwords = _mm256_setzero_si256();
  add_quads<kKind, kTokens>(step + scale_bytes_of_step(kKind) + chain * code_bytes_of_group(kKind),
                            x.codes + group * kGroup, x.columns, sums);
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t) {
    const size_t at = t * x.groups + group;
    const __m256i exact = take_zero_off<kKind>(sums[t].dwords, x.sums[at]);
    __m256 scale = _mm256_broadcast_ss(x.scales + at);
    if constexpr (code_of(kKind).scales != PackedScales::kRow)
      scale = _mm256_mul_ps(load_row_scales<kKind>(step, chain), scale);
    chains[t][chain] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), scale, chains[t][chain]);
  }
}

// The streams take turns group by group, so that the processor has requests of all of them in flight. Their
// chains do not fit into registers; with several tokens the loop over streams stays a loop, since its code
// would be as long as slow.
template <PackedKind kKind, size_t kTokens>
AMPHORA_TARGET void multiply_packed(const std::byte* const* blocks, size_t steps, const PackedTokens& x,
                                    float* out) {
  __m256 chains[kStreams][kTokens][kChains];
  for (auto& of_stream : chains)
    for (auto& of_token : of_stream)
      for (__m256& chain : of_token) chain = _mm256_setzero_ps();
  for (size_t step = 0; step < steps; ++step) {
    const size_t at = step * bytes_of_step(kKind);
    AMPHORA_NO_UNROLL
    for (size_t group = step * kChains; group < (step + 1) * kChains; ++group) {
      if constexpr (kTokens == 1) {
        AMPHORA_UNROLL
        for (size_t s = 0; s < kStreams; ++s) add_group<kKind, kTokens>(blocks[s] + at, x, group, chains[s]);
      } else {
        AMPHORA_NO_UNROLL
        for (size_t s = 0; s < kStreams; ++s) add_group<kKind, kTokens>(blocks[s] + at, x, group, chains[s]);
      }
    }
  }
  for (size_t s = 0; s < kStreams; ++s)
    for (size_t t = 0; t < kTokens; ++t) {
      const __m256* const c = chains[s][t];
      _mm256_storeu_ps(out + (s * kTokens + t) * kBlockRows,
                       _mm256_add_ps(_mm256_add_ps(c[0], c[2]), _mm256_add_ps(c[1], c[3])));
    }
}

inline constexpr PackedKernels kPackedKernels = make_packed_kernels(
    []<PackedKind kKind, size_t kTokens>() -> PackedKernel { return multiply_packed<kKind, kTokens>; });

}  // namespace amphora::kernels::AMPHORA_VARIANT
