// q1t: per group of 32 along a row `f16` scale, `u8[7]` of base-3 codes; `u32 row_ptr[rows + 1]`; an overlay
// of
// `[u16 column][f16 value]`. Recognised and checked.
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kCodeBytes = 7;
constexpr uint64_t kTileBytes = 2 + kCodeBytes;
constexpr uint64_t kEntryBytes = 4;
constexpr uint64_t kCodesPerByte = 5;

/// Where the parts of a payload begin.
struct Layout {
  uint64_t row_pointers, entries;
};

std::optional<Layout> layout_of(Shape shape) {
  const auto tiles = bytes_of_groups(shape, kTileBytes, 0);
  const auto table = checked_mul(shape[0] + 1, 4);
  const auto fixed = tiles && table ? checked_add(*tiles, *table) : std::nullopt;
  if (!fixed) return std::nullopt;
  return Layout{*tiles, *fixed};
}

uint64_t row_pointer(Bytes payload, const Layout& layout, uint64_t row) {
  return load_little_endian<uint32_t>(payload.data() + layout.row_pointers + 4 * row);
}

Status check_place(std::string_view tensor_name, Shape shape) {
  AMPHORA_TRY(place_grouped_matrix(tensor_name, shape));
  if (shape[1] > 65535)
    return fail_at(Fault::kCorrupt, "Parse", {}, std::nullopt, "q1t holds at most 65535 columns");
  return {};
}

Status check_tables(Bytes payload, Shape shape) {
  const auto layout = layout_of(shape);
  if (!layout || payload.size() < layout->entries)
    return payload_fault("Bounds", 0, "the payload is shorter than its fixed part");
  uint64_t before = 0;
  for (uint64_t row = 0; row <= shape[0]; ++row) {
    const uint64_t pointer = row_pointer(payload, *layout, row);
    if (pointer < before || (row == 0 && pointer != 0))
      return payload_fault("Parse", layout->row_pointers + 4 * row,
                           "row_ptr[" + std::to_string(row) + "] is " + std::to_string(pointer) + " after " +
                               std::to_string(before));
    before = pointer;
  }
  if (payload.size() - layout->entries != before * kEntryBytes)
    return payload_fault("Bounds", 0,
                         "the overlay has " + std::to_string(before) + " entries, there are " +
                             std::to_string(payload.size() - layout->entries) + " bytes for them");
  return {};
}

Status check_codes(Bytes payload, uint64_t groups) {
  for (uint64_t group = 0; group < groups; ++group)
    for (uint64_t i = 0; i < kCodeBytes; ++i) {
      const uint64_t at = group * kTileBytes + 2 + i;
      const uint32_t limit = i + 1 < kCodeBytes ? 242 : 8;  // five digits, but two in the last byte
      if (std::to_integer<uint32_t>(payload[at]) > limit)
        return payload_fault(
            "Parse", at,
            "group " + std::to_string(group) + ": byte " + std::to_string(i) + " is no base-3 code");
    }
  return {};
}

uint32_t base_code(Bytes payload, Shape shape, uint64_t row, uint64_t column) {
  const uint64_t group = row * (shape[1] / kGroup) + column / kGroup;
  const uint64_t inside = column % kGroup;
  auto digits = std::to_integer<uint32_t>(payload[group * kTileBytes + 2 + inside / kCodesPerByte]);
  for (uint64_t i = 0; i < inside % kCodesPerByte; ++i) digits /= 3;
  return digits % 3;
}

Status check_overlay_row(Bytes payload, Shape shape, const Layout& layout, uint64_t row) {
  const uint64_t first = row_pointer(payload, layout, row), last = row_pointer(payload, layout, row + 1);
  const auto column_at = [&](uint64_t entry) {
    return uint64_t{load_little_endian<uint16_t>(payload.data() + layout.entries + kEntryBytes * entry)};
  };
  uint64_t least = 0;
  for (uint64_t entry = first; entry < last; ++entry) {
    const uint64_t column = column_at(entry);
    if (column >= shape[1] || column < least)
      return payload_fault("Parse", layout.entries + kEntryBytes * entry,
                           "row " + std::to_string(row) + ": overlay column " + std::to_string(column) +
                               " is out of range or not ascending");
    least = column + 1;
  }
  for (uint64_t entry = first; entry < last; ++entry)
    if (base_code(payload, shape, row, column_at(entry)) != 0)
      return payload_fault("Parse", layout.entries + kEntryBytes * entry,
                           "row " + std::to_string(row) + ": the code under the overlay at column " +
                               std::to_string(column_at(entry)) + " is not 0");
  return {};
}

Status check_payload(Bytes payload, Shape shape) {
  const uint64_t groups = shape[0] * (shape[1] / kGroup);
  AMPHORA_TRY(check_finite_halves(payload, 0, groups, kTileBytes, "scale"));
  AMPHORA_TRY(check_codes(payload, groups));
  const Layout layout = *layout_of(shape);
  for (uint64_t row = 0; row < shape[0]; ++row) AMPHORA_TRY(check_overlay_row(payload, shape, layout, row));
  return check_finite_halves(payload, layout.entries + 2, row_pointer(payload, layout, shape[0]), kEntryBytes,
                             "overlay value");
}

}  // namespace

const Codec kQ1TCodec{.dtype = DType::kQ1T,
                      .name = "q1t",
                      .cli_name = "q1t",
                      .check_place = check_place,
                      .check_tables = check_tables,
                      .check_payload = check_payload};

}  // namespace amphora::quant
