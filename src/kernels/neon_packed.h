// Products of blocks of eight rows (packed_rows.h) in pairs of NEON registers, four rows each. Included after
// lanes_neon.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/lanes_neon.h"
#include "kernels/packed_rows.h"
#include "kernels/unroll.h"

namespace amphora::kernels::neon {

/// Registers of a block: rows 0 … 3 and 4 … 7.
inline constexpr size_t kHalves = kBlockRows / 4;

/// Moves `kBits` bits of every byte from bit kFrom to bit kTo, the others become 0.
template <size_t kBits, size_t kFrom, size_t kTo>
AMPHORA_INLINE uint8x16_t take_bits(uint8x16_t v) {
  if constexpr (kFrom > kTo) v = vshrq_n_u8(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = vshlq_n_u8(v, kTo - kFrom);
  return vandq_u8(v, vdupq_n_u8(static_cast<uint8_t>(((1u << kBits) - 1) << kTo)));
}

/// Codes times step of quad kQuad of four rows: signed ones of 8 bits, else at most 63, which is the same
/// signed.
template <PackedKind kKind, size_t kQuad>
AMPHORA_INLINE int8x16_t load_quad(const std::byte* half) {
  using P = Planes<kKind>;
  if constexpr (P::kBits == 8) {
    return vreinterpretq_s8_u8(load_16_bytes(half + 32 * kQuad));
  } else {
    uint8x16_t codes = vdupq_n_u8(0);
    if constexpr (P::kNibble)
      codes = take_bits<4, 4 * (kQuad / 4), P::kStep>(load_16_bytes(half + 32 * (kQuad % 4)));
    if constexpr (P::kCrumb)
      codes = vorrq_u8(codes, take_bits<2, 2 * (kQuad / 2), P::kCrumbTo>(
                                  load_16_bytes(half + P::kCrumbPlane + 32 * (kQuad % 2))));
    if constexpr (P::kBit)
      codes = vorrq_u8(codes, take_bits<1, kQuad, P::kBitTo>(load_16_bytes(half + P::kBitPlane)));
    return vreinterpretq_s8_u8(codes);
  }
}

/// GCC would run one sum's dot products after the other, each waiting for the last.
AMPHORA_INLINE void keep_in_order(int32x4_t& v) { asm volatile("" : "+w"(v)); }

/// The quads from kQuad on of a group, for all tokens.
template <PackedKind kKind, size_t kTokens, size_t kQuad = 0>
AMPHORA_INLINE void add_quads(const std::byte* codes, const int8_t* columns, size_t stride,
                              int32x4_t (&sums)[kTokens][kHalves]) {
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHalves; ++h) {
    const int8x16_t weights = load_quad<kKind, kQuad>(codes + 16 * h);
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) {
      const int8x16_t x = vld1q_s8(columns + t * stride + kQuad / 4 * 16);
      sums[t][h] = vdotq_laneq_s32(sums[t][h], weights, x, kQuad % 4);
      keep_in_order(sums[t][h]);
    }
  }
  if constexpr (kQuad + 1 < kQuads) add_quads<kKind, kTokens, kQuad + 1>(codes, columns, stride, sums);
}

/// The scales of four rows in one group of a step.
template <PackedKind kKind>
AMPHORA_INLINE float32x4_t load_row_scales(const std::byte* step, size_t group, size_t half) {
  if constexpr (code_of(kKind).scales == PackedScales::kHalf) {
    const uint16x8_t halves = vreinterpretq_u16_u8(load_16_bytes(step + 16 * group));
    return vcvt_f32_f16(vreinterpret_f16_u16(half == 0 ? vget_low_u16(halves) : vget_high_u16(halves)));
  } else {
    return load_four_f32(step + 32 * group + 16 * half);
  }
}

/// One group of a block: chains[token][group mod kChains].
template <PackedKind kKind, size_t kTokens>
AMPHORA_INLINE void add_group(const std::byte* step, const PackedTokens& x, size_t group,
                              float32x4_t (&chains)[kTokens][kChains][kHalves]) {
  const size_t chain = group % kChains;
  int32x4_t sums[kTokens][kHalves];  // begins with -zero · Σx
  AMPHORA_UNROLL
  for (size_t t = 0; t < kTokens; ++t)
    sums[t][0] = sums[t][1] = vdupq_n_s32(-code_of(kKind).zero * x.sums[t * x.groups + group]);
  add_quads<kKind, kTokens>(step + scale_bytes_of_step(kKind) + chain * code_bytes_of_group(kKind),
                            x.codes + group * kGroup, x.columns, sums);
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHalves; ++h) {
    AMPHORA_UNROLL
    for (size_t t = 0; t < kTokens; ++t) {
      const float x_scale = x.scales[t * x.groups + group];
      float32x4_t& sum = chains[t][chain][h];
      if constexpr (code_of(kKind).scales == PackedScales::kRow)
        sum = vfmaq_n_f32(sum, vcvtq_f32_s32(sums[t][h]), x_scale);
      else
        sum = vfmaq_f32(sum, vcvtq_f32_s32(sums[t][h]),
                        vmulq_n_f32(load_row_scales<kKind>(step, chain, h), x_scale));
    }
  }
}

// The chains of all streams do not fit into registers, so the loops over streams and groups stay loops.
template <PackedKind kKind, size_t kTokens>
AMPHORA_TARGET void multiply_packed(const std::byte* const* blocks, size_t steps, const PackedTokens& x,
                                    float* out) {
  float32x4_t chains[kStreams][kTokens][kChains][kHalves] = {};
  for (size_t step = 0; step < steps; ++step) AMPHORA_NO_UNROLL
  for (size_t s = 0; s < kStreams; ++s) {
    const std::byte* const at = blocks[s] + step * bytes_of_step(kKind);
    AMPHORA_NO_UNROLL
    for (size_t g = 0; g < kChains; ++g) add_group<kKind, kTokens>(at, x, step * kChains + g, chains[s]);
  }
  for (size_t s = 0; s < kStreams; ++s)
    for (size_t t = 0; t < kTokens; ++t)
      for (size_t h = 0; h < kHalves; ++h) {
        const auto& c = chains[s][t];
        vst1q_f32(out + (s * kTokens + t) * kBlockRows + 4 * h,
                  vaddq_f32(vaddq_f32(c[0][h], c[2][h]), vaddq_f32(c[1][h], c[3][h])));
      }
}

inline constexpr PackedKernels kPackedKernels = make_packed_kernels(
    []<PackedKind kKind, size_t kTokens>() -> PackedKernel { return multiply_packed<kKind, kTokens>; });

}  // namespace amphora::kernels::neon
