// Signs with one scale.
#include "quant/q1_tiles.h"

#include <algorithm>
#include <bit>

#include "base/byte_writer.h"
#include "quant/overlay.h"

namespace amphora::quant {
namespace {

/// Elements [inside, inside + out.size()) of one tile: the scale, its sign flipped where the bit is clear.
void decode_tile(const std::byte* tile, uint64_t inside, std::span<float> out) {
  const uint32_t scale = std::bit_cast<uint32_t>(half_to_float(load_little_endian<uint16_t>(tile)));
  const uint32_t flips = ~load_little_endian<uint32_t>(tile + 2);
  for (uint64_t i = 0; i < out.size(); ++i)
    out[i] = std::bit_cast<float>(scale ^ (flips >> (inside + i) & 1u) << 31);
}

uint32_t signs_of(std::span<const float, kGroup> weights) {
  uint32_t bits = 0;
  for (uint64_t i = 0; i < kGroup; ++i) bits |= uint32_t{weights[i] >= 0} << i;
  return bits;
}

}  // namespace

void decode_q1_tiles(Bytes tiles, uint64_t first, std::span<float> out) {
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t inside = (first + done) % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    decode_tile(tiles.data() + (first + done) / kGroup * kQ1TileBytes, inside, out.subspan(done, count));
    done += count;
  }
}

Status encode_q1_tiles(std::span<const float> values, std::span<const uint64_t> outliers,
                       MutableBytes tiles) {
  KeptWeights kept(outliers);
  for (uint64_t first = 0; first < values.size(); first += kGroup) {
    const auto weights = values.subspan(first).first<kGroup>();
    const auto half = scale_to_half(mean_magnitude(weights, kept.mask_of_group(first)));
    if (!half) return scale_refusal(weights, first);
    std::byte* tile = tiles.data() + first / kGroup * kQ1TileBytes;
    store_little_endian(tile, *half);
    store_little_endian(tile + 2, signs_of(weights));
  }
  return {};
}

}  // namespace amphora::quant
