// vbit: `u8` width of every row, `f16` scale of every group, rows of codes packed from the most significant
// bit. vbit_ro has a table of row offsets before the packed rows. Recognised and checked.
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

constexpr std::array<uint8_t, 5> kWidths = {3, 4, 5, 6, 8};

/// Checks the widths and gives the bytes of each row to `visit` in order; the sum must fill the payload
/// behind `fixed`.
template <class Visit>
Status check_rows(Bytes payload, Shape shape, std::optional<uint64_t> fixed, Visit visit) {
  if (!fixed || payload.size() < *fixed)
    return payload_fault("Bounds", 0, "the payload is shorter than its fixed part");
  for (uint64_t row = 0; row < shape[0]; ++row) {
    const auto width = std::to_integer<uint8_t>(payload[row]);
    if (std::ranges::find(kWidths, width) == kWidths.end())
      return payload_fault("Parse", row,
                           "row " + std::to_string(row) + " has a width of " + std::to_string(width));
  }
  uint64_t packed = 0;
  for (uint64_t row = 0; row < shape[0]; ++row) {
    const auto more = checked_add(packed, shape[1] / 8 * std::to_integer<uint64_t>(payload[row]));
    if (!more) return payload_fault("Bounds", 0, "the size of the packed rows overflows");
    packed = *more;
  }
  if (packed != payload.size() - *fixed)
    return payload_fault("Bounds", 0,
                         "the widths ask for " + std::to_string(packed) +
                             " bytes of packed rows, there are " + std::to_string(payload.size() - *fixed));
  return visit();
}

Status check_vbit_tables(Bytes payload, Shape shape) {
  return check_rows(payload, shape, bytes_of_groups(shape, 2, 1), [] { return Status(); });
}

Status check_vbit_ro_tables(Bytes payload, Shape shape) {
  const auto table = bytes_of_groups(shape, 2, 1);
  const auto table_bytes = checked_mul(shape[0] + 1, 4);
  const auto fixed = table && table_bytes ? checked_add(*table, *table_bytes) : std::nullopt;
  return check_rows(payload, shape, fixed, [&]() -> Status {
    uint64_t wanted = 0;
    for (uint64_t row = 0; row <= shape[0]; ++row) {
      const uint64_t at = *table + 4 * row;
      const auto found = load_little_endian<uint32_t>(payload.data() + at);
      if (found != wanted)
        return payload_fault("Parse", at,
                             "row_offsets[" + std::to_string(row) + "] is " + std::to_string(found) +
                                 ", the widths give " + std::to_string(wanted));
      if (row < shape[0]) wanted += shape[1] / 8 * std::to_integer<uint64_t>(payload[row]);
    }
    return {};
  });
}

Status check_payload(Bytes payload, Shape shape) {
  return check_finite_halves(payload, shape[0], shape[0] * (shape[1] / kGroup), 2, "scale");
}

}  // namespace

const Codec kVbitCodec{.dtype = DType::kVbit,
                       .name = "vbit",
                       .check_place = place_grouped_matrix,
                       .check_tables = check_vbit_tables,
                       .check_payload = check_payload};

const Codec kVbitRoCodec{.dtype = DType::kVbitRo,
                         .name = "vbit_ro",
                         .check_place = place_grouped_matrix,
                         .check_tables = check_vbit_ro_tables,
                         .check_payload = check_payload};

}  // namespace amphora::quant
