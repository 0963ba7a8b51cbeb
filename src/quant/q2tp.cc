// q2tp: `u8[8]` of 2-bit codes per group, ladder parameters per row, 5-bit scale codes per row. Recognised
// and checked.
#include "quant/dtypes.h"
#include "quant/ladder.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kGroupBytes = 8;

std::optional<uint64_t> payload_bytes(Shape shape) { return ladder_payload_bytes(shape, kGroupBytes); }

Status check_payload(Bytes payload, Shape shape) { return check_ladder_payload(payload, shape, kGroupBytes); }

}  // namespace

const Codec kQ2TPCodec{.dtype = DType::kQ2TP,
                       .name = "q2tp",

                       .check_place = place_grouped_matrix,
                       .payload_bytes = payload_bytes,
                       .check_payload = check_payload};

}  // namespace amphora::quant
