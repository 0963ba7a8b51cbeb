// int8 products of the AVX-512 variant, with the dot products of VNNI. The arithmetic is that of
// scalar_int8.cc, the walks are those of far_rows.h and tiles.h.
//
// VNNI multiplies unsigned by signed bytes: an int8 weight becomes w + 128 by flipping its top bit, and 128 ·
// Σx is taken off again, in integers, so the product is exact.
#include "kernels/avx512_int8.h"

#include "base/byte_reader.h"
#include "kernels/avx2_int8.h"
#include "kernels/far_rows.h"
#include "kernels/lanes_avx512.h"
#include "kernels/tiles.h"
#include "kernels/unroll.h"
// After the lanes:
#include "kernels/body/halves.h"
#define AMPHORA_VNNI 1
#include "kernels/body/packed_rows.h"

namespace amphora::kernels::avx512 {
namespace {

constexpr size_t kBlock = kChains * kGroup;  // columns of a step

AMPHORA_INLINE __m512i load_64_bytes(const void* from) { return _mm512_loadu_si512(from); }
AMPHORA_INLINE __m128i load_16_bytes(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

/// Per 128-bit quarter: the sums of the four dwords of v[0] … v[3].
AMPHORA_INLINE __m512i sum_rows(const __m512i v[4]) {
  const auto ab_crossed = _mm512_shuffle_ps(as_floats(v[0]), as_floats(v[1]), _MM_SHUFFLE(1, 0, 3, 2));
  const auto cd_crossed = _mm512_shuffle_ps(as_floats(v[2]), as_floats(v[3]), _MM_SHUFFLE(1, 0, 3, 2));
  const __m512 ab =
      as_floats(_mm512_add_epi32(_mm512_mask_blend_epi32(0xCCCC, v[0], v[1]), as_integers(ab_crossed)));
  const __m512 cd =
      as_floats(_mm512_add_epi32(_mm512_mask_blend_epi32(0xCCCC, v[2], v[3]), as_integers(cd_crossed)));
  return _mm512_add_epi32(as_integers(_mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(2, 0, 2, 0))),
                          as_integers(_mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 1, 3, 1))));
}

/// Each of four neighbouring values four times.
AMPHORA_INLINE __m512i spread(__m128i four) {
  const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  return _mm512_permutexvar_epi32(lanes, _mm512_castsi128_si512(four));
}

/// The sum of the chains of four rows, which lie in the quarters.
AMPHORA_INLINE __m128 total(__m512 chains) {
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(chains), _mm512_extractf32x8_ps(chains, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

/// Four groups of four q8 rows.
AMPHORA_INLINE __m512 add_q8_block(const std::byte* const rows[4], const int8_t* codes, const float* scales,
                                   const int32_t* sums, __m512 chains) {
  const __m512i top_bit = _mm512_set1_epi8(static_cast<char>(0x80));
  const __m512i x[2] = {load_64_bytes(codes), load_64_bytes(codes + 64)};
  __m512i halves[2];
  AMPHORA_UNROLL
  for (size_t h = 0; h < 2; ++h) {
    __m512i products[4];
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r)
      products[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(),
                                        _mm512_xor_si512(load_64_bytes(rows[r] + 64 * h), top_bit), x[h]);
    halves[h] = sum_rows(products);
  }
  const __m512i groups =
      _mm512_add_epi32(_mm512_shuffle_i32x4(halves[0], halves[1], _MM_SHUFFLE(2, 0, 2, 0)),
                       _mm512_shuffle_i32x4(halves[0], halves[1], _MM_SHUFFLE(3, 1, 3, 1)));
  const __m512i exact = _mm512_sub_epi32(groups, _mm512_slli_epi32(spread(load_16_bytes(sums)), 7));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), as_floats(spread(load_16_bytes(scales))), chains);
}

AMPHORA_TARGET void multiply_q8_rows(const std::byte* const rows[4], uint64_t row_scales, size_t columns,
                                     const QuantisedToken& x, float products[4]) {
  __m512 chains = _mm512_setzero_ps();
  size_t at = 0;
  for (; at + kBlock <= columns; at += kBlock) {
    const std::byte* const here[4] = {rows[0] + at, rows[1] + at, rows[2] + at, rows[3] + at};
    chains = add_q8_block(here, x.codes + at, x.scales + at / kGroup, x.sums + at / kGroup, chains);
  }
  if (const size_t rest = columns - at; rest != 0) {
    std::byte last[4][kBlock] = {};
    for (size_t r = 0; r < 4; ++r) std::memcpy(last[r], rows[r] + at, rest);
    const std::byte* const here[4] = {last[0], last[1], last[2], last[3]};
    chains = add_q8_block(here, x.codes + at, x.scales + at / kGroup, x.sums + at / kGroup, chains);
  }
  const __m128 scales = _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<long long>(row_scales)));
  _mm_storeu_ps(products, _mm_mul_ps(total(chains), scales));
}

/// The scales of four groups of four rows as floats, [group][row].
template <DType kType>
AMPHORA_INLINE __m512 load_scales(const FourBitRow rows[4]) {
  uint64_t bits[4] = {};
  if constexpr (kType == DType::kQ4Block) {  // [row][group] in the plane of scales
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) bits[r] = load_little_endian<uint64_t>(rows[r].scales);
  } else {
    AMPHORA_UNROLL
    for (size_t g = 0; g < kChains; ++g) {
      AMPHORA_UNROLL
      for (size_t r = 0; r < 4; ++r)
        bits[g] |=
            uint64_t{load_little_endian<uint16_t>(rows[r].scales + g * FourBitLayout<kType>::kScaleStep)}
            << (16 * r);
    }
  }
  __m256i halves = _mm256_setr_epi64x(static_cast<long long>(bits[0]), static_cast<long long>(bits[1]),
                                      static_cast<long long>(bits[2]), static_cast<long long>(bits[3]));
  if constexpr (kType == DType::kQ4Block)
    halves = _mm256_permutexvar_epi16(_mm256_setr_epi16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                      halves);
  return _mm512_cvtph_ps(halves);
}

template <DType kType>
AMPHORA_INLINE __m512i load_nibbles(const std::byte* from) {
  if constexpr (kType == DType::kQ4Block) return load_64_bytes(from);
  constexpr size_t kStep = FourBitLayout<kType>::kNibbleStep;
  __m512i all = _mm512_castsi128_si512(load_16_bytes(from));
  all = _mm512_inserti32x4(all, load_16_bytes(from + kStep), 1);
  all = _mm512_inserti32x4(all, load_16_bytes(from + 2 * kStep), 2);
  return _mm512_inserti32x4(all, load_16_bytes(from + 3 * kStep), 3);
}

/// Four groups of four rows of nibbles, the activations split into even and odd columns.
template <DType kType>
AMPHORA_INLINE __m512 add_q4_block(const FourBitRow rows[4], const int8_t* split, const float* scales,
                                   const int32_t* sums, __m512 chains) {
  const __m512i low_nibbles = _mm512_set1_epi8(15);
  const __m512i even = load_64_bytes(split), odd = load_64_bytes(split + 64);
  __m512i products[4];
  AMPHORA_UNROLL
  for (size_t r = 0; r < 4; ++r) {
    const __m512i w = load_nibbles<kType>(rows[r].nibbles);
    products[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_and_si512(w, low_nibbles), even);
    products[r] =
        _mm512_dpbusd_epi32(products[r], _mm512_and_si512(_mm512_srli_epi16(w, 4), low_nibbles), odd);
  }
  const __m512i exact =
      _mm512_sub_epi32(sum_rows(products), _mm512_slli_epi32(spread(load_16_bytes(sums)), 3));
  const __m512 scale = _mm512_mul_ps(load_scales<kType>(rows), as_floats(spread(load_16_bytes(scales))));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scale, chains);
}

template <DType kType>
AMPHORA_TARGET void multiply_q4_rows(const FourBitRow rows[4], size_t groups, const QuantisedToken& x,
                                     float products[4]) {
  using Layout = FourBitLayout<kType>;
  __m512 chains = _mm512_setzero_ps();
  FourBitRow here[4] = {rows[0], rows[1], rows[2], rows[3]};
  size_t group = 0;
  for (; group + kChains <= groups; group += kChains) {
    chains = add_q4_block<kType>(here, x.split + group * kGroup, x.scales + group, x.sums + group, chains);
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) {
      here[r].nibbles += kChains * Layout::kNibbleStep;
      here[r].scales += kChains * Layout::kScaleStep;
    }
  }
  if (const size_t rest = groups - group; rest != 0) {
    const LastGroups<kType> last[4] = {{here[0], rest}, {here[1], rest}, {here[2], rest}, {here[3], rest}};
    for (size_t r = 0; r < 4; ++r) here[r] = last[r].row();
    chains = add_q4_block<kType>(here, x.split + group * kGroup, x.scales + group, x.sums + group, chains);
  }
  _mm_storeu_ps(products, total(chains));
}

constexpr FourRowKernels kFourRows = {.q8 = multiply_q8_rows,
                                      .q4_tiled = multiply_q4_rows<DType::kQ4Tiled>,
                                      .q4_block = multiply_q4_rows<DType::kQ4Block>,
                                      .coded = avx2::multiply_coded_rows};

/// One chain of four rows by kTiles tiles of tokens: out[row][tile].
template <bool kFourBit, size_t kTiles>
AMPHORA_INLINE void run_chain(size_t chain, const uint8_t* const rows[kTileRows], const float* weight_scales,
                              size_t groups, const TokenTile x[kTiles], __m512 out[kTileRows][kTiles]) {
  AMPHORA_UNROLL
  for (size_t r = 0; r < kTileRows; ++r) {
    AMPHORA_UNROLL
    for (size_t v = 0; v < kTiles; ++v) out[r][v] = _mm512_setzero_ps();
  }
  for (size_t group = chain; group < groups; group += kChains) {
    __m512i products[kTileRows][kTiles];
    AMPHORA_UNROLL
    for (size_t v = 0; v < kTiles; ++v) {
      const __m512i sums = load_64_bytes(x[v].sums + group * kTileTokens);
      products[0][v] = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums, kFourBit ? 3 : 7));
      AMPHORA_UNROLL
      for (size_t r = 1; r < kTileRows; ++r) products[r][v] = products[0][v];
    }
    AMPHORA_UNROLL
    for (size_t at = 0; at < kGroup; at += 4) {
      __m512i codes[kTiles];
      AMPHORA_UNROLL
      for (size_t v = 0; v < kTiles; ++v)
        codes[v] = load_64_bytes(x[v].codes + (group * kGroup + at) * kTileTokens);
      AMPHORA_UNROLL
      for (size_t r = 0; r < kTileRows; ++r) {
        const __m512i w = _mm512_set1_epi32(static_cast<int>(
            load_little_endian<uint32_t>(reinterpret_cast<const std::byte*>(rows[r] + group * kGroup + at))));
        AMPHORA_UNROLL
        for (size_t v = 0; v < kTiles; ++v) products[r][v] = _mm512_dpbusd_epi32(products[r][v], w, codes[v]);
      }
    }
    AMPHORA_UNROLL
    for (size_t v = 0; v < kTiles; ++v) {
      const __m512 x_scale = _mm512_loadu_ps(x[v].scales + group * kTileTokens);
      AMPHORA_UNROLL
      for (size_t r = 0; r < kTileRows; ++r) {
        __m512 scale = x_scale;
        if constexpr (kFourBit)
          scale = _mm512_mul_ps(_mm512_set1_ps(weight_scales[r * groups + group]), x_scale);
        out[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[r][v]), scale, out[r][v]);
      }
    }
  }
}

template <bool kFourBit, size_t kTiles>
AMPHORA_TARGET void multiply_tile(const Panel& panel, size_t first_row, const TokenTile* x,
                                  TileProducts* products) {
  const uint8_t* rows[kTileRows];
  for (size_t r = 0; r < kTileRows; ++r) rows[r] = panel.codes.data() + (first_row + r) * panel.columns;
  const float* const weight_scales = panel.scales.data() + first_row * panel.groups;
  __m512 totals[2][kTileRows][kTiles];  // of the even chains, of the odd ones
  for (size_t odd = 0; odd < 2; ++odd) {
    __m512 later[kTileRows][kTiles];
    run_chain<kFourBit, kTiles>(odd, rows, weight_scales, panel.groups, x, totals[odd]);
    run_chain<kFourBit, kTiles>(odd + 2, rows, weight_scales, panel.groups, x, later);
    for (size_t r = 0; r < kTileRows; ++r)
      for (size_t v = 0; v < kTiles; ++v) totals[odd][r][v] = _mm512_add_ps(totals[odd][r][v], later[r][v]);
  }
  for (size_t r = 0; r < kTileRows; ++r)
    for (size_t v = 0; v < kTiles; ++v)
      _mm512_storeu_ps(products[v][r], _mm512_mul_ps(_mm512_add_ps(totals[0][r][v], totals[1][r][v]),
                                                     _mm512_set1_ps(panel.row_scales[first_row + r])));
}

void multiply_tiles(const Panel& panel, size_t first_row, const TokenTile* x, size_t tiles,
                    TileProducts* products) {
  if (tiles == 2)
    (panel.four_bit ? multiply_tile<true, 2> : multiply_tile<false, 2>)(panel, first_row, x, products);
  else
    (panel.four_bit ? multiply_tile<true, 1> : multiply_tile<false, 1>)(panel, first_row, x, products);
}

constexpr TileKernels kTiles = {
    .most_tiles = 2, .flip = 0x80, .decode_halves = decode_halves, .multiply = multiply_tiles};

}  // namespace

const Int8Kernels kInt8Kernels = {
    .least_tiled_tokens = kMostUntiledTokens + 1,
    .multiply_row = [](const Matrix& weights, const Rows& rows, const Quantised& x, size_t token,
                       float* out) { multiply_far_rows(kFourRows, weights, rows, x, token, out); },
    .multiply_tiles =
        [](const Matrix& weights, const Rows& rows, const Quantised& x, float* out, size_t out_stride) {
          if (weights.coded) return avx2::multiply_coded_tiles(weights, rows, x, out, out_stride);
          multiply_by_tiles(kTiles, weights, rows, x, out, out_stride);
        },
    .packed = &kPackedKernels};

}  // namespace amphora::kernels::avx512
