// q1: per group of 32 along a row `f16` scale, `u8[4]` of signs. Recognised and checked.
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kTileBytes = 6;

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_groups(shape, kTileBytes, 0); }

Status check_payload(Bytes payload, Shape) {
  return check_finite_halves(payload, 0, payload.size() / kTileBytes, kTileBytes, "scale");
}

}  // namespace

const Codec kQ1Codec{.dtype = DType::kQ1,
                     .name = "q1",
                     .cli_name = "q1",
                     .check_place = place_grouped_matrix,
                     .payload_bytes = payload_bytes,
                     .check_payload = check_payload};

}  // namespace amphora::quant
