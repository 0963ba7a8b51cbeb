// q4_tiled: per group of 32 along a row `f16` scale, `u8[16]` of codes.
#include <algorithm>

#include "base/byte_writer.h"
#include "quant/dtypes.h"
#include "quant/nibbles.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kTileBytes = 2 + kNibbleBytes;

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_groups(shape, kTileBytes, 0); }

Status check_payload(Bytes payload, Shape) {
  return check_finite_halves(payload, 0, payload.size() / kTileBytes, kTileBytes, "scale");
}

void decode(Bytes payload, Shape, uint64_t first, std::span<float> out) {
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t group = (first + done) / kGroup;
    const uint64_t inside = (first + done) % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    const float scale = half_at(payload, group * kTileBytes);
    const std::byte* nibbles = payload.data() + group * kTileBytes + 2;
    for (uint64_t i = 0; i < count; ++i) out[done + i] = decode_nibble(nibbles, inside + i, scale);
    done += count;
  }
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions& options, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  AMPHORA_TRY(check_importance(options, shape));
  std::array<float, kGroup> storage{};
  for (uint64_t group = 0; group < values.size() / kGroup; ++group) {
    const std::span<const float> weights = values.subspan(group * kGroup, kGroup);
    const auto half = nibble_scale(
        weights, importance_of(options.importance, group * kGroup, kGroup, storage), options.encoder);
    if (!half) return scale_refusal(weights, group * kGroup);
    std::byte* tile = out.data() + group * kTileBytes;
    store_little_endian(tile, *half);
    encode_nibbles(weights, half_to_float(*half), tile + 2);
  }
  return {};
}

}  // namespace

const Codec kQ4TiledCodec{.dtype = DType::kQ4Tiled,
                          .name = "q4_tiled",
                          .cli_name = "q4t",
                          .check_place = place_grouped_matrix,
                          .payload_bytes = payload_bytes,
                          .check_payload = check_payload,
                          .decode = decode,
                          .encode = encode,
                          .row_parts = [](uint64_t columns) -> std::optional<RowParts> {
                            return RowParts{columns / kGroup * kTileBytes};
                          },
                          .has_search = true};

}  // namespace amphora::quant
