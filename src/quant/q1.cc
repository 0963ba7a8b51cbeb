// q1: per group of 32 along a row `f16` scale, `u8[4]` of signs.
#include "quant/dtypes.h"
#include "quant/q1_tiles.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_groups(shape, kQ1TileBytes, 0); }

Status check_payload(Bytes payload, Shape) {
  return check_finite_halves(payload, 0, payload.size() / kQ1TileBytes, kQ1TileBytes, "scale");
}

void decode(Bytes payload, Shape, uint64_t first, std::span<float> out) {
  decode_q1_tiles(payload, first, out);
}

Status encode(std::span<const float> values, Shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  return encode_q1_tiles(values, {}, out);
}

}  // namespace

const Codec kQ1Codec{.dtype = DType::kQ1,
                     .name = "q1",
                     .cli_name = "q1",
                     .check_place = place_grouped_matrix,
                     .payload_bytes = payload_bytes,
                     .check_payload = check_payload,
                     .decode = decode,
                     .encode = encode,
                     .row_parts = [](uint64_t columns) -> std::optional<RowParts> {
                       return RowParts{columns / kGroup * kQ1TileBytes};
                     }};

}  // namespace amphora::quant
