// q1s: the tiles of q1, then `u32` count and an overlay of `[u32 flat index][f16 value]`. Recognised and
// checked.
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kTileBytes = 6;
constexpr uint64_t kEntryBytes = 6;

Status check_tables(Bytes payload, Shape shape) {
  const auto tiles = bytes_of_groups(shape, kTileBytes, 0);
  const auto fixed = tiles ? checked_add(*tiles, 4) : std::nullopt;
  if (!fixed || payload.size() < *fixed)
    return payload_fault("Bounds", 0, "the payload is shorter than its fixed part");
  const uint64_t count = load_little_endian<uint32_t>(payload.data() + *tiles);
  if (payload.size() - *fixed != count * kEntryBytes)
    return payload_fault("Bounds", 0,
                         "the overlay has " + std::to_string(count) + " entries, there are " +
                             std::to_string(payload.size() - *fixed) + " bytes for them");
  return {};
}

Status check_payload(Bytes payload, Shape shape) {
  const uint64_t elements = shape[0] * shape[1];
  const uint64_t groups = elements / kGroup;
  AMPHORA_TRY(check_finite_halves(payload, 0, groups, kTileBytes, "scale"));
  const uint64_t entries = groups * kTileBytes + 4;
  const uint64_t count = (payload.size() - entries) / kEntryBytes;
  uint64_t least = 0;  // the lowest index that is still ascending
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = entries + kEntryBytes * i;
    const uint64_t index = load_little_endian<uint32_t>(payload.data() + at);
    if (index >= elements || index < least)
      return payload_fault("Parse", at,
                           "overlay index " + std::to_string(index) + " is out of range or not ascending");
    least = index + 1;
  }
  return check_finite_halves(payload, entries + 4, count, kEntryBytes, "overlay value");
}

}  // namespace

const Codec kQ1SCodec{.dtype = DType::kQ1S,
                      .name = "q1s",
                      .cli_name = "q1s",
                      .check_place = place_grouped_matrix,
                      .check_tables = check_tables,
                      .check_payload = check_payload};

}  // namespace amphora::quant
