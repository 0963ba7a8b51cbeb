// q4tp: `u8[16]` of 4-bit codes per group, ladder parameters per row, 5-bit scale codes per row. Recognised
// and checked.
#include "quant/dtypes.h"
#include "quant/ladder.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kGroupBytes = 16;

std::optional<uint64_t> payload_bytes(Shape shape) { return ladder_payload_bytes(shape, kGroupBytes); }

Status check_payload(Bytes payload, Shape shape) { return check_ladder_payload(payload, shape, kGroupBytes); }

}  // namespace

const Codec kQ4TPCodec{.dtype = DType::kQ4TP,
                       .name = "q4tp",
                       .cli_name = "q4tp",
                       .check_place = place_grouped_matrix,
                       .payload_bytes = payload_bytes,
                       .check_payload = check_payload};

}  // namespace amphora::quant
