// int8 products of the NEON variant, with the dot products of Armv8.2. The arithmetic is that of
// scalar_int8.cc, the walks are those of far_rows.h and tiles.h.
//
// One token: four groups of a row are reduced together, so the lanes of a register are the row's four chains,
// and the scales and sums of four groups are used as they lie in memory. Many tokens: the tokens lie in the
// lanes, and a dot product takes its four columns of weights from any quarter of a register.
#include "kernels/neon_int8.h"

#include "base/byte_reader.h"
#include "kernels/far_rows.h"
#include "kernels/lanes_neon.h"
#include "kernels/tiles.h"
#include "kernels/unroll.h"
// After the lanes:
#include "kernels/body/halves.h"
#include "kernels/neon_packed.h"

namespace amphora::kernels::neon {
namespace {

constexpr size_t kBlock = kChains * kGroup;  // columns of a step

/// The sums of v[0], v[1], v[2] and v[3].
AMPHORA_INLINE int32x4_t sum_each(const int32x4_t v[4]) {
  return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
}
AMPHORA_INLINE float total(float32x4_t chains) {
  return vpadds_f32(vadd_f32(vget_low_f32(chains), vget_high_f32(chains)));
}
/// Four halves, the first lowest.
AMPHORA_INLINE float32x4_t widen_halves(uint64_t halves) {
  return vcvt_f32_f16(vreinterpret_f16_u64(vcreate_u64(halves)));
}

/// The codes of four groups of activations.
struct BlockCodes {
  int8x16_t at[8];
};
AMPHORA_INLINE BlockCodes load_codes(const int8_t* from) {
  BlockCodes codes;
  AMPHORA_UNROLL
  for (size_t i = 0; i < 8; ++i) codes.at[i] = vld1q_s8(from + 16 * i);
  return codes;
}

/// The integer products of four groups of a row of 8-bit codes.
AMPHORA_INLINE int32x4_t multiply_groups(const void* row, const BlockCodes& x) {
  const auto* const codes = static_cast<const int8_t*>(row);
  int32x4_t products[4];
  AMPHORA_UNROLL
  for (size_t g = 0; g < 4; ++g) {
    products[g] = vdotq_s32(vdupq_n_s32(0), vld1q_s8(codes + g * kGroup), x.at[2 * g]);
    products[g] = vdotq_s32(products[g], vld1q_s8(codes + g * kGroup + 16), x.at[2 * g + 1]);
  }
  return sum_each(products);
}

/// Four groups of four q8 rows.
AMPHORA_INLINE void add_q8_block(const std::byte* const rows[4], const int8_t* codes, const float* scales,
                                 float32x4_t chains[4]) {
  const BlockCodes x = load_codes(codes);
  const float32x4_t x_scales = vld1q_f32(scales);
  AMPHORA_UNROLL
  for (size_t r = 0; r < 4; ++r)
    chains[r] = vfmaq_f32(chains[r], vcvtq_f32_s32(multiply_groups(rows[r], x)), x_scales);
}

AMPHORA_TARGET void multiply_q8_rows(const std::byte* const rows[4], uint64_t row_scales, size_t columns,
                                     const QuantisedToken& x, float products[4]) {
  float32x4_t chains[4] = {};
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
  float scales[4];
  vst1q_f32(scales, widen_halves(row_scales));
  for (size_t r = 0; r < 4; ++r) products[r] = total(chains[r]) * scales[r];
}

AMPHORA_TARGET void multiply_coded_rows(const CodedRow rows[4], const QuantisedToken& x, float products[4]) {
  float32x4_t chains[4] = {};
  for (size_t group = 0; group < x.groups; group += kChains) {
    const BlockCodes codes = load_codes(x.codes + group * kGroup);
    const float32x4_t x_scales = vld1q_f32(x.scales + group);
    const int32x4_t x_sums = vld1q_s32(x.sums + group);
    AMPHORA_UNROLL
    for (size_t r = 0; r < 4; ++r) {
      const int32x4_t exact =
          vmlaq_n_s32(multiply_groups(rows[r].codes + group * kGroup, codes), x_sums, rows[r].offset);
      const float32x4_t scales = vmulq_f32(vld1q_f32(rows[r].scales + group), x_scales);
      chains[r] = vfmaq_f32(chains[r], vcvtq_f32_s32(exact), scales);
    }
  }
  for (size_t r = 0; r < 4; ++r) products[r] = total(chains[r]);
}

/// The scales of four groups of a row.
template <DType kType>
AMPHORA_INLINE float32x4_t load_scales(const std::byte* from) {
  if constexpr (kType == DType::kQ4Block) return widen_halves(load_little_endian<uint64_t>(from));
  uint64_t halves = 0;
  AMPHORA_UNROLL
  for (size_t g = 0; g < 4; ++g)
    halves |= uint64_t{load_little_endian<uint16_t>(from + g * FourBitLayout<kType>::kScaleStep)} << (16 * g);
  return widen_halves(halves);
}

/// Four groups of four rows of nibbles, the activations split into even and odd columns.
template <DType kType>
AMPHORA_INLINE void add_q4_block(const FourBitRow rows[4], const int8_t* split, const float* scales,
                                 const int32_t* sums, float32x4_t chains[4]) {
  const BlockCodes x = load_codes(split);  // even columns of the four groups, then odd ones
  const float32x4_t x_scales = vld1q_f32(scales);
  const int32x4_t eight_sums = vshlq_n_s32(vld1q_s32(sums), 3);
  AMPHORA_UNROLL
  for (size_t r = 0; r < 4; ++r) {
    int32x4_t products[4];
    AMPHORA_UNROLL
    for (size_t g = 0; g < 4; ++g) {
      const uint8x16_t w = load_16_bytes(rows[r].nibbles + g * FourBitLayout<kType>::kNibbleStep);
      const int8x16_t low = vreinterpretq_s8_u8(vandq_u8(w, vdupq_n_u8(15)));
      const int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(w, 4));
      products[g] = vdotq_s32(vdotq_s32(vdupq_n_s32(0), low, x.at[g]), high, x.at[4 + g]);
    }
    const int32x4_t exact = vsubq_s32(sum_each(products), eight_sums);
    const float32x4_t weight_scales = load_scales<kType>(rows[r].scales);
    chains[r] = vfmaq_f32(chains[r], vcvtq_f32_s32(exact), vmulq_f32(weight_scales, x_scales));
  }
}

template <DType kType>
AMPHORA_TARGET void multiply_q4_rows(const FourBitRow rows[4], size_t groups, const QuantisedToken& x,
                                     float products[4]) {
  using Layout = FourBitLayout<kType>;
  float32x4_t chains[4] = {};
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
  for (size_t r = 0; r < 4; ++r) products[r] = total(chains[r]);
}

constexpr FourRowKernels kFourRows = {.q8 = multiply_q8_rows,
                                      .q4_tiled = multiply_q4_rows<DType::kQ4Tiled>,
                                      .q4_block = multiply_q4_rows<DType::kQ4Block>,
                                      .coded = multiply_coded_rows};

/// What the codes of a panel are: with a scale per row; 0 … 15 with a scale per group; with a scale per group
/// and an offset per row.
enum class PanelKind : uint8_t { kEightBit, kFourBit, kCoded };

/// Half a tile, eight tokens in two vectors: so the sums of four rows, integer and float, stay in registers.
constexpr size_t kHalfTokens = kTileTokens / 2, kVectors = kHalfTokens / 4;

/// Adds the products of four columns, which lie in quarter kQuarter of the weights.
template <size_t kQuarter>
AMPHORA_INLINE void add_columns(const int8x16_t w[kTileRows], const int8_t* codes,
                                int32x4_t products[kTileRows][kVectors]) {
  const int8_t* const here = codes + 4 * kQuarter * kTileTokens;
  const int8x16_t x[kVectors] = {vld1q_s8(here), vld1q_s8(here + 16)};
  AMPHORA_UNROLL
  for (size_t r = 0; r < kTileRows; ++r) {
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      products[r][v] = vdotq_laneq_s32(products[r][v], x[v], w[r], kQuarter);
      keep_in_order(products[r][v]);
    }
  }
}

/// Adds the integer products of one group, rows by tokens.
AMPHORA_INLINE void add_group(const uint8_t* const rows[kTileRows], const int8_t* codes,
                              int32x4_t products[kTileRows][kVectors]) {
  AMPHORA_UNROLL
  for (size_t at = 0; at < kGroup; at += 16) {
    int8x16_t w[kTileRows];
    AMPHORA_UNROLL
    for (size_t r = 0; r < kTileRows; ++r) w[r] = vreinterpretq_s8_u8(vld1q_u8(rows[r] + at));
    const int8_t* const here = codes + at * kTileTokens;
    add_columns<0>(w, here, products);
    add_columns<1>(w, here, products);
    add_columns<2>(w, here, products);
    add_columns<3>(w, here, products);
  }
}

/// One chain of half a tile: out[row][vector].
template <PanelKind kKind>
AMPHORA_INLINE void run_chain(size_t chain, const uint8_t* const rows[kTileRows], const float* weight_scales,
                              const int32_t* offsets, size_t groups, const TokenTile& half,
                              float32x4_t out[kTileRows][kVectors]) {
  float32x4_t sums[kTileRows][kVectors] = {};
  for (size_t group = chain; group < groups; group += kChains) {
    const uint8_t* here[kTileRows];
    int32x4_t products[kTileRows][kVectors];
    AMPHORA_UNROLL
    for (size_t r = 0; r < kTileRows; ++r) {
      here[r] = rows[r] + group * kGroup;
      AMPHORA_UNROLL
      for (size_t v = 0; v < kVectors; ++v) {
        const int32x4_t x_sums = vld1q_s32(half.sums + group * kTileTokens + 4 * v);
        products[r][v] = kKind == PanelKind::kEightBit  ? vdupq_n_s32(0)
                         : kKind == PanelKind::kFourBit ? vmulq_n_s32(x_sums, -8)
                                                        : vmulq_n_s32(x_sums, offsets[r]);
      }
    }
    add_group(here, half.codes + group * kGroup * kTileTokens, products);
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      const float32x4_t x_scales = vld1q_f32(half.scales + group * kTileTokens + 4 * v);
      AMPHORA_UNROLL
      for (size_t r = 0; r < kTileRows; ++r) {
        const float32x4_t scales = kKind == PanelKind::kEightBit
                                       ? x_scales
                                       : vmulq_n_f32(x_scales, weight_scales[r * groups + group]);
        sums[r][v] = vfmaq_f32(sums[r][v], vcvtq_f32_s32(products[r][v]), scales);
      }
    }
  }
  AMPHORA_UNROLL
  for (size_t r = 0; r < kTileRows; ++r) {
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) out[r][v] = sums[r][v];
  }
}

/// Eight tokens of a tile, from `first_token` on.
template <PanelKind kKind>
AMPHORA_INLINE void multiply_half(const Panel& panel, size_t first_row, const TokenTile& x,
                                  size_t first_token, TileProducts products) {
  const TokenTile half = {x.codes + 4 * first_token, x.scales + first_token, x.sums + first_token};
  const uint8_t* rows[kTileRows];
  for (size_t r = 0; r < kTileRows; ++r) rows[r] = panel.codes.data() + (first_row + r) * panel.columns;
  const float* const weight_scales = panel.scales.data() + first_row * panel.groups;
  float32x4_t totals[2][kTileRows][kVectors];  // of the even chains, of the odd ones
  for (size_t odd = 0; odd < 2; ++odd) {
    float32x4_t later[kTileRows][kVectors];
    run_chain<kKind>(odd, rows, weight_scales, panel.offsets + first_row, panel.groups, half, totals[odd]);
    run_chain<kKind>(odd + 2, rows, weight_scales, panel.offsets + first_row, panel.groups, half, later);
    for (size_t r = 0; r < kTileRows; ++r)
      for (size_t v = 0; v < kVectors; ++v) totals[odd][r][v] = vaddq_f32(totals[odd][r][v], later[r][v]);
  }
  for (size_t r = 0; r < kTileRows; ++r)
    for (size_t v = 0; v < kVectors; ++v)
      vst1q_f32(products[r] + first_token + 4 * v,
                vmulq_n_f32(vaddq_f32(totals[0][r][v], totals[1][r][v]), panel.row_scales[first_row + r]));
}

template <PanelKind kKind>
AMPHORA_TARGET void multiply_tile(const Panel& panel, size_t first_row, const TokenTile& x,
                                  TileProducts products) {
  for (size_t token = 0; token < kTileTokens; token += kHalfTokens)
    multiply_half<kKind>(panel, first_row, x, token, products);
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

const Int8Kernels kInt8Kernels = {
    .least_tiled_tokens = kMostUntiledTokens + 1,
    .multiply_row = [](const Matrix& weights, const Rows& rows, const Quantised& x, size_t token,
                       float* out) { multiply_far_rows(kFourRows, weights, rows, x, token, out); },
    .multiply_tiles = [](const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                         size_t out_stride) { multiply_by_tiles(kTiles, weights, rows, x, out, out_stride); },
    .packed = &kPackedKernels};

}  // namespace amphora::kernels::neon
