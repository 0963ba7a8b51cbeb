// int8 products of the AVX2 variant. The arithmetic is that of scalar_int8.cc.
//
// One token: the integer products of four rows (far_rows.h) are reduced together until the lanes are
//   [rows 0 … 3 of one group | rows 0 … 3 of the next group],
// so two registers hold the four chains of four rows. Many tokens: tiles.h.
#include "kernels/avx2_int8.h"

#include "base/byte_reader.h"
#include "kernels/far_rows.h"
#include "kernels/lanes_avx2.h"
#include "kernels/tiles.h"
#include "kernels/unroll.h"
// After the lanes:
#include "kernels/body/halves.h"
#define AMPHORA_VNNI 0
#include "kernels/body/packed_rows.h"

namespace amphora::kernels::avx2 {
namespace {

constexpr size_t kBlock = kChains * kGroup;  // columns of a step

/// Dwords 2 and 3 of a, then 0 and 1 of b, per 128-bit half.
AMPHORA_INLINE __m256i cross(__m256i a, __m256i b) {
  return as_integers(_mm256_shuffle_ps(as_floats(a), as_floats(b), _MM_SHUFFLE(1, 0, 3, 2)));
}
AMPHORA_INLINE __m256i evens(__m256i a, __m256i b) {
  return as_integers(_mm256_shuffle_ps(as_floats(a), as_floats(b), _MM_SHUFFLE(2, 0, 2, 0)));
}
AMPHORA_INLINE __m256i odds(__m256i a, __m256i b) {
  return as_integers(_mm256_shuffle_ps(as_floats(a), as_floats(b), _MM_SHUFFLE(3, 1, 3, 1)));
}
/// Per half: the sums of the four dwords of v[0] … v[3].
AMPHORA_INLINE __m256i sum_rows_i32(const __m256i v[4]) {
  const __m256i ab = _mm256_add_epi32(_mm256_blend_epi32(v[0], v[1], 0xCC), cross(v[0], v[1]));
  const __m256i cd = _mm256_add_epi32(_mm256_blend_epi32(v[2], v[3], 0xCC), cross(v[2], v[3]));
  return _mm256_add_epi32(evens(ab, cd), odds(ab, cd));
}
/// The same of eight words each, which must be so small that the words of the sums do not overflow.
AMPHORA_INLINE __m256i sum_rows_i16(const __m256i v[4]) {
  const __m256i ab = _mm256_add_epi16(_mm256_blend_epi32(v[0], v[1], 0xCC), cross(v[0], v[1]));
  const __m256i cd = _mm256_add_epi16(_mm256_blend_epi32(v[2], v[3], 0xCC), cross(v[2], v[3]));
  return _mm256_madd_epi16(_mm256_add_epi16(evens(ab, cd), odds(ab, cd)), _mm256_set1_epi16(1));
}
/// Four values of neighbouring groups as [first ×4 | second ×4] of pair 0 or 1.
template <int kPair>
AMPHORA_INLINE __m256i spread(__m128i four) {
  const __m256i lanes =
      kPair == 0 ? _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1) : _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), lanes);
}

/// The chains of four rows: [rows of chain 0 | of chain 1] and [of chain 2 | of chain 3].
struct Chains {
  __m256 pair[2];
};
AMPHORA_INLINE Chains zero_chains() { return {{_mm256_setzero_ps(), _mm256_setzero_ps()}}; }
AMPHORA_INLINE __m128 total(const Chains& chains) {
  const __m256 halves = _mm256_add_ps(chains.pair[0], chains.pair[1]);
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

/// The integer products of two neighbouring groups of four rows of 8-bit codes: [rows of the first | of the
/// second].
template <class Code>
AMPHORA_INLINE __m256i multiply_two_groups(const Code* const rows[4], size_t first, const int8_t* codes) {
  __m256i groups[2];
  AMPHORA_UNROLL
  for (size_t g = 0; g < 2; ++g) {
    const size_t at = first + g * kGroup;
    const __m256i x = load_32_bytes(codes + at);
    __m256i products[4];
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) {  // |w| · (x with the sign of w): exact for w = -128 too
      const __m256i w = load_32_bytes(rows[r] + at);
      products[r] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)),
                                      _mm256_set1_epi16(1));
    }
    groups[g] = sum_rows_i32(products);
  }
  return _mm256_add_epi32(_mm256_blend_epi32(groups[0], groups[1], 0xF0),
                          _mm256_permute2x128_si256(groups[0], groups[1], 0x21));
}

/// Four groups of four q8 rows.
AMPHORA_INLINE void add_q8_block(const std::byte* const rows[4], const int8_t* codes, const float* scales,
                                 Chains& chains) {
  const __m128i four_scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales));
  AMPHORA_UNROLL
  for (size_t pair = 0; pair < 2; ++pair) {
    const __m256i sums = multiply_two_groups(rows, 2 * pair * kGroup, codes);
    const __m256i spread_scales = pair == 0 ? spread<0>(four_scales) : spread<1>(four_scales);
    chains.pair[pair] =
        _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), as_floats(spread_scales), chains.pair[pair]);
  }
}

AMPHORA_TARGET void multiply_q8_rows(const std::byte* const rows[4], uint64_t row_scales, size_t columns,
                                     const QuantisedToken& x, float products[4]) {
  Chains chains = zero_chains();
  size_t at = 0;
  for (; at + kBlock <= columns; at += kBlock) {
    const std::byte* const here[4] = {rows[0] + at, rows[1] + at, rows[2] + at, rows[3] + at};
    add_q8_block(here, x.codes + at, x.scales + at / kGroup, chains);
  }
  if (const size_t rest = columns - at; rest != 0) {
    std::byte last[4][kBlock] = {};
    for (size_t r = 0; r < 4; ++r) std::memcpy(last[r], rows[r] + at, rest);
    const std::byte* const here[4] = {last[0], last[1], last[2], last[3]};
    add_q8_block(here, x.codes + at, x.scales + at / kGroup, chains);
  }
  const __m128 scales = _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<long long>(row_scales)));
  _mm_storeu_ps(products, _mm_mul_ps(total(chains), scales));
}

/// Four groups of four coded rows, from group `first` on.
AMPHORA_INLINE void add_coded_block(const CodedRow rows[4], size_t first, __m256i offsets,
                                    const QuantisedToken& x, Chains& chains) {
  const __m128i x_scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.scales + first));
  const __m128i x_sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.sums + first));
  __m128 scales[4];  // [row][group], then [group][row]
  AMPHORA_UNROLL
  for (size_t r = 0; r < 4; ++r) scales[r] = _mm_loadu_ps(rows[r].scales + first);
  _MM_TRANSPOSE4_PS(scales[0], scales[1], scales[2], scales[3]);
  const int8_t* const codes[4] = {rows[0].codes, rows[1].codes, rows[2].codes, rows[3].codes};
  AMPHORA_UNROLL
  for (size_t pair = 0; pair < 2; ++pair) {
    const __m256i sums = pair == 0 ? spread<0>(x_sums) : spread<1>(x_sums);
    const __m256i exact = _mm256_add_epi32(multiply_two_groups(codes, (first + 2 * pair) * kGroup, x.codes),
                                           _mm256_mullo_epi32(offsets, sums));
    const __m256 weight_scales =
        _mm256_insertf128_ps(_mm256_castps128_ps256(scales[2 * pair]), scales[2 * pair + 1], 1);
    const __m256i spread_scales = pair == 0 ? spread<0>(x_scales) : spread<1>(x_scales);
    chains.pair[pair] = _mm256_fmadd_ps(
        _mm256_cvtepi32_ps(exact), _mm256_mul_ps(weight_scales, as_floats(spread_scales)), chains.pair[pair]);
  }
}

/// Four scales, halves of the same group of four rows, as the bits of one integer.
AMPHORA_INLINE long long four_halves(const FourBitRow rows[4], size_t offset) {
  uint64_t bits = 0;
  AMPHORA_UNROLL
  for (size_t r = 0; r < 4; ++r)
    bits |= uint64_t{load_little_endian<uint16_t>(rows[r].scales + offset)} << (16 * r);
  return static_cast<long long>(bits);
}

/// Four groups of four rows of nibbles, the activations split into even and odd columns.
template <DType kType>
AMPHORA_INLINE void add_q4_block(const FourBitRow rows[4], const int8_t* split, const float* scales,
                                 const int32_t* sums, Chains& chains) {
  using Layout = FourBitLayout<kType>;
  const __m128i four_scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales));
  const __m128i four_sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sums));
  const __m256i low_nibbles = _mm256_set1_epi8(15);
  AMPHORA_UNROLL
  for (size_t pair = 0; pair < 2; ++pair) {
    const __m256i even = load_32_bytes(split + 32 * pair), odd = load_32_bytes(split + 64 + 32 * pair);
    const size_t first = 2 * pair, second = first + 1;
    __m256i products[4];
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) {
      const std::byte* const nibbles = rows[r].nibbles + first * Layout::kNibbleStep;
      __m256i w;
      if constexpr (Layout::kNibbleStep == 16)
        w = load_32_bytes(nibbles);
      else
        w = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16_bytes(nibbles)),
                                    load_16_bytes(nibbles + Layout::kNibbleStep), 1);
      const __m256i low = _mm256_and_si256(w, low_nibbles);
      const __m256i high = _mm256_and_si256(_mm256_srli_epi16(w, 4), low_nibbles);
      products[r] = _mm256_add_epi16(_mm256_maddubs_epi16(low, even), _mm256_maddubs_epi16(high, odd));
    }
    // A word is at most 4 · 15 · 127, and 4 of them are added: 30480.
    const __m256i spread_sums = pair == 0 ? spread<0>(four_sums) : spread<1>(four_sums);
    const __m256i spread_scales = pair == 0 ? spread<0>(four_scales) : spread<1>(four_scales);
    const __m256i exact = _mm256_sub_epi32(sum_rows_i16(products), _mm256_slli_epi32(spread_sums, 3));
    const __m256 weight_scales = _mm256_cvtph_ps(_mm_set_epi64x(
        four_halves(rows, second * Layout::kScaleStep), four_halves(rows, first * Layout::kScaleStep)));
    chains.pair[pair] = _mm256_fmadd_ps(
        _mm256_cvtepi32_ps(exact), _mm256_mul_ps(weight_scales, as_floats(spread_scales)), chains.pair[pair]);
  }
}

template <DType kType>
AMPHORA_TARGET void multiply_q4_rows(const FourBitRow rows[4], size_t groups, const QuantisedToken& x,
                                     float products[4]) {
  using Layout = FourBitLayout<kType>;
  Chains chains = zero_chains();
  FourBitRow here[4] = {rows[0], rows[1], rows[2], rows[3]};
  size_t group = 0;
  for (; group + kChains <= groups; group += kChains) {
    add_q4_block<kType>(here, x.split + group * kGroup, x.scales + group, x.sums + group, chains);
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) {
      here[r].nibbles += kChains * Layout::kNibbleStep;
      here[r].scales += kChains * Layout::kScaleStep;
    }
  }
  if (const size_t rest = groups - group; rest != 0) {
    const LastGroups<kType> last[4] = {{here[0], rest}, {here[1], rest}, {here[2], rest}, {here[3], rest}};
    for (size_t r = 0; r < 4; ++r) here[r] = last[r].row();
    add_q4_block<kType>(here, x.split + group * kGroup, x.scales + group, x.sums + group, chains);
  }
  _mm_storeu_ps(products, total(chains));
}

}  // namespace

AMPHORA_TARGET void multiply_coded_rows(const CodedRow rows[4], const QuantisedToken& x, float products[4]) {
  const __m256i offsets = _mm256_setr_epi32(rows[0].offset, rows[1].offset, rows[2].offset, rows[3].offset,
                                            rows[0].offset, rows[1].offset, rows[2].offset, rows[3].offset);
  Chains chains = zero_chains();
  for (size_t group = 0; group < x.groups; group += kChains) add_coded_block(rows, group, offsets, x, chains);
  _mm_storeu_ps(products, total(chains));
}

namespace {

constexpr FourRowKernels kFourRows = {.q8 = multiply_q8_rows,
                                      .q4_tiled = multiply_q4_rows<DType::kQ4Tiled>,
                                      .q4_block = multiply_q4_rows<DType::kQ4Block>,
                                      .coded = multiply_coded_rows};

/// What the codes of a panel are: with a scale per row; 0 … 15 with a scale per group; with a scale per group
/// and an offset per row.
enum class PanelKind : uint8_t { kEightBit, kFourBit, kCoded };

/// The integer products of one group, rows by tokens.
template <PanelKind kKind>
AMPHORA_INLINE void group_products(const uint8_t* const rows[kTileRows], const int8_t* codes,
                                   __m256i products[kTileRows][2]) {
  const __m256i ones = _mm256_set1_epi16(1);
  AMPHORA_UNROLL
  for (size_t r = 0; r < kTileRows; ++r) products[r][0] = products[r][1] = _mm256_setzero_si256();
  AMPHORA_UNROLL
  for (size_t at = 0; at < kGroup; at += 4) {
    const __m256i x[2] = {load_32_bytes(codes + at * kTileTokens),
                          load_32_bytes(codes + at * kTileTokens + 32)};
    AMPHORA_UNROLL
    for (size_t r = 0; r < kTileRows; ++r) {
      const __m256i w = _mm256_set1_epi32(
          static_cast<int>(load_little_endian<uint32_t>(reinterpret_cast<const std::byte*>(rows[r] + at))));
      AMPHORA_UNROLL
      for (size_t v = 0; v < 2; ++v) {
        if constexpr (kKind == PanelKind::kFourBit) {  // eight sums of at most 2 · 15 · 127: within a word
          products[r][v] = _mm256_add_epi16(products[r][v], _mm256_maddubs_epi16(w, x[v]));
        } else {
          const __m256i words = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x[v], w));
          products[r][v] = _mm256_add_epi32(products[r][v], _mm256_madd_epi16(words, ones));
        }
        keep_in_order(products[r][v]);
      }
    }
  }
  if constexpr (kKind == PanelKind::kFourBit) {
    AMPHORA_UNROLL
    for (size_t r = 0; r < kTileRows; ++r) {
      AMPHORA_UNROLL
      for (size_t v = 0; v < 2; ++v) products[r][v] = _mm256_madd_epi16(products[r][v], ones);
    }
  }
}

/// One chain of a tile: out[row][vector].
template <PanelKind kKind>
AMPHORA_INLINE void run_chain(size_t chain, const uint8_t* const rows[kTileRows], const float* weight_scales,
                              const int32_t* offsets, size_t groups, const TokenTile& x,
                              __m256 out[kTileRows][2]) {
  AMPHORA_UNROLL
  for (size_t r = 0; r < kTileRows; ++r) out[r][0] = out[r][1] = _mm256_setzero_ps();
  for (size_t group = chain; group < groups; group += kChains) {
    const uint8_t* here[kTileRows];
    AMPHORA_UNROLL
    for (size_t r = 0; r < kTileRows; ++r) here[r] = rows[r] + group * kGroup;
    __m256i products[kTileRows][2];
    group_products<kKind>(here, x.codes + group * kGroup * kTileTokens, products);
    AMPHORA_UNROLL
    for (size_t v = 0; v < 2; ++v) {
      const __m256 x_scale = _mm256_loadu_ps(x.scales + group * kTileTokens + 8 * v);
      const __m256i x_sum = load_32_bytes(x.sums + group * kTileTokens + 8 * v);
      AMPHORA_UNROLL
      for (size_t r = 0; r < kTileRows; ++r) {
        __m256i exact = products[r][v];
        __m256 scale = x_scale;
        if constexpr (kKind == PanelKind::kFourBit) {
          exact = _mm256_sub_epi32(exact, _mm256_slli_epi32(x_sum, 3));
        } else if constexpr (kKind == PanelKind::kCoded) {
          exact = _mm256_add_epi32(exact, _mm256_mullo_epi32(_mm256_set1_epi32(offsets[r]), x_sum));
        }
        if constexpr (kKind != PanelKind::kEightBit) {
          scale = _mm256_mul_ps(_mm256_broadcast_ss(weight_scales + r * groups + group), x_scale);
        }
        out[r][v] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), scale, out[r][v]);
      }
    }
  }
}

template <PanelKind kKind>
AMPHORA_TARGET void multiply_tile(const Panel& panel, size_t first_row, const TokenTile& x,
                                  TileProducts products) {
  const uint8_t* rows[kTileRows];
  for (size_t r = 0; r < kTileRows; ++r) rows[r] = panel.codes.data() + (first_row + r) * panel.columns;
  const float* const weight_scales = panel.scales.data() + first_row * panel.groups;
  __m256 totals[2][kTileRows][2];  // of the even chains, of the odd ones
  for (size_t odd = 0; odd < 2; ++odd) {
    __m256 later[kTileRows][2];
    run_chain<kKind>(odd, rows, weight_scales, panel.offsets + first_row, panel.groups, x, totals[odd]);
    run_chain<kKind>(odd + 2, rows, weight_scales, panel.offsets + first_row, panel.groups, x, later);
    for (size_t r = 0; r < kTileRows; ++r)
      for (size_t v = 0; v < 2; ++v) totals[odd][r][v] = _mm256_add_ps(totals[odd][r][v], later[r][v]);
  }
  for (size_t r = 0; r < kTileRows; ++r)
    for (size_t v = 0; v < 2; ++v)
      _mm256_storeu_ps(products[r] + 8 * v, _mm256_mul_ps(_mm256_add_ps(totals[0][r][v], totals[1][r][v]),
                                                          _mm256_set1_ps(panel.row_scales[first_row + r])));
}

void multiply_tiles(const Panel& panel, size_t first_row, const TokenTile* x, size_t /*tiles*/,
                    TileProducts* products) {
  const auto multiply = panel.coded      ? multiply_tile<PanelKind::kCoded>
                        : panel.four_bit ? multiply_tile<PanelKind::kFourBit>
                                         : multiply_tile<PanelKind::kEightBit>;
  multiply(panel, first_row, x[0], products[0]);
}

constexpr TileKernels kTiles = {
    .most_tiles = 1, .flip = 0, .decode_halves = decode_halves, .multiply = multiply_tiles};

}  // namespace

void multiply_coded_tiles(const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                          size_t out_stride) {
  multiply_by_tiles(kTiles, weights, rows, x, out, out_stride);
}

const Int8Kernels kInt8Kernels = {
    .least_tiled_tokens = kMostUntiledTokens + 1,
    .multiply_row = [](const Matrix& weights, const Rows& rows, const Quantised& x, size_t token,
                       float* out) { multiply_far_rows(kFourRows, weights, rows, x, token, out); },
    .multiply_tiles = [](const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                         size_t out_stride) { multiply_by_tiles(kTiles, weights, rows, x, out, out_stride); },
    .packed = &kPackedKernels};

}  // namespace amphora::kernels::avx2
