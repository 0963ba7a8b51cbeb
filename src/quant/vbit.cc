// vbit: `u8` width of every row, `f16` scale of every group, rows of codes packed from the most significant
// bit. vbit_ro has a table of row offsets before the packed rows.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/scale_search.h"
#include "quant/vbit_codes.h"

namespace amphora::quant {
namespace {

bool is_width(uint8_t width) { return std::ranges::find(kVbitWidths, width) != kVbitWidths.end(); }

/// Bytes before the packed rows, which are the widths and scales, and for vbit_ro the table of row offsets.
std::optional<uint64_t> fixed_bytes(Shape shape) { return bytes_of_groups(shape, 2, 1); }

std::optional<uint64_t> fixed_bytes_ro(Shape shape) {
  const auto before = fixed_bytes(shape);
  const auto offsets = checked_add(shape[0], 1);
  const auto table = offsets ? checked_mul(*offsets, 4) : std::nullopt;
  return before && table ? checked_add(*before, *table) : std::nullopt;
}

/// Checks the widths and gives the bytes of each row to `visit` in order; the sum must fill the payload
/// behind `fixed`.
template <class Visit>
Status check_rows(Bytes payload, Shape shape, std::optional<uint64_t> fixed, Visit visit) {
  if (!fixed || payload.size() < *fixed)
    return payload_fault("Bounds", 0, "the payload is shorter than its fixed part");
  for (uint64_t row = 0; row < shape[0]; ++row) {
    const auto width = std::to_integer<uint8_t>(payload[row]);
    if (!is_width(width))
      return payload_fault("Parse", row,
                           "row " + std::to_string(row) + " has a width of " + std::to_string(width));
  }
  uint64_t packed = 0;
  for (uint64_t row = 0; row < shape[0]; ++row) {
    const auto more = checked_add(packed, packed_bytes(shape[1], std::to_integer<uint64_t>(payload[row])));
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
  return check_rows(payload, shape, fixed_bytes(shape), [] { return Status(); });
}

Status check_vbit_ro_tables(Bytes payload, Shape shape) {
  return check_rows(payload, shape, fixed_bytes_ro(shape), [&]() -> Status {
    const uint64_t table = *fixed_bytes(shape);
    uint64_t wanted = 0;
    for (uint64_t row = 0; row <= shape[0]; ++row) {
      const uint64_t at = table + 4 * row;
      const auto found = load_little_endian<uint32_t>(payload.data() + at);
      if (found != wanted)
        return payload_fault("Parse", at,
                             "row_offsets[" + std::to_string(row) + "] is " + std::to_string(found) +
                                 ", the widths give " + std::to_string(wanted));
      if (row < shape[0]) wanted += packed_bytes(shape[1], std::to_integer<uint64_t>(payload[row]));
    }
    return {};
  });
}

Status check_payload(Bytes payload, Shape shape) {
  return check_finite_halves(payload, shape[0], shape[0] * (shape[1] / kGroup), 2, "scale");
}

/// Columns [first_column, first_column + out.size()) of one row.
template <unsigned kWidth>
void decode_row(const std::byte* packed, const std::byte* scales, uint64_t first_column,
                std::span<float> out) {
  const auto decode_group = [&](uint64_t group, std::span<float, kGroup> into) {
    const float scale = half_to_float(load_little_endian<uint16_t>(scales + 2 * group));
    decode_vbit_group<kWidth>(packed + packed_bytes(group * kGroup, kWidth), scale, into);
  };
  std::array<float, kGroup> whole;
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t group = (first_column + done) / kGroup;
    const uint64_t inside = (first_column + done) % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    if (count == kGroup) {
      decode_group(group, out.subspan(done).first<kGroup>());
    } else {
      decode_group(group, whole);
      std::copy_n(whole.begin() + inside, count, out.begin() + static_cast<ptrdiff_t>(done));
    }
    done += count;
  }
}

/// Decodes rows whose first lies `offset` bytes behind the packed area's start `packed`.
void decode_rows(Bytes payload, Shape shape, uint64_t packed, uint64_t offset, uint64_t first,
                 std::span<float> out) {
  const uint64_t rows = shape[0], columns = shape[1];
  uint64_t row = first / columns, column = first % columns;
  for (uint64_t done = 0; done < out.size(); ++row, column = 0) {
    const uint64_t count = std::min(columns - column, out.size() - done);
    const auto width = std::to_integer<uint8_t>(payload[row]);
    const std::byte* scales = payload.data() + rows + 2 * (row * (columns / kGroup));
    with_vbit_width(width, [&]<unsigned kWidth>() {
      decode_row<kWidth>(payload.data() + packed + offset, scales, column, out.subspan(done, count));
    });
    offset += packed_bytes(columns, width);
    done += count;
  }
}

void decode_vbit(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  if (out.empty()) return;
  const Bytes before = payload.first(first / shape[1]);
  const uint64_t widths =
      std::transform_reduce(before.begin(), before.end(), uint64_t{0}, std::plus<>(),
                            [](std::byte width) { return std::to_integer<uint64_t>(width); });
  decode_rows(payload, shape, *fixed_bytes(shape), packed_bytes(shape[1], widths), first, out);
}

void decode_vbit_ro(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  if (out.empty()) return;
  const uint64_t place = *fixed_bytes(shape) + 4 * (first / shape[1]);
  const uint64_t offset = load_little_endian<uint32_t>(payload.data() + place);
  decode_rows(payload, shape, *fixed_bytes_ro(shape), offset, first, out);
}

Status check_widths(Shape shape, std::span<const uint8_t> widths) {
  if (widths.size() != shape[0])
    return fail(Fault::kRefused, "there are " + std::to_string(widths.size()) + " row widths for " +
                                     std::to_string(shape[0]) + " rows");
  const auto bad = std::ranges::find_if_not(widths, is_width);
  if (bad == widths.end()) return {};
  return fail(Fault::kRefused, "row " + std::to_string(bad - widths.begin()) + " is given a width of " +
                                   std::to_string(*bad) + ", which the type does not have");
}

/// Bytes of all packed rows; empty on overflow. The widths have been checked.
std::optional<uint64_t> all_packed_bytes(Shape shape, std::span<const uint8_t> widths) {
  return checked_mul(shape[1] / 8, std::accumulate(widths.begin(), widths.end(), uint64_t{0}));
}

std::optional<uint64_t> encoded_vbit_bytes(Shape shape, const EncodeOptions& options) {
  const auto fixed = fixed_bytes(shape);
  if (!fixed || !check_widths(shape, options.row_widths)) return std::nullopt;
  const auto packed = all_packed_bytes(shape, options.row_widths);
  return packed ? checked_add(*fixed, *packed) : std::nullopt;
}

std::optional<uint64_t> encoded_vbit_ro_bytes(Shape shape, const EncodeOptions& options) {
  const auto fixed = fixed_bytes_ro(shape);
  if (!fixed || !check_widths(shape, options.row_widths)) return std::nullopt;
  const auto packed = all_packed_bytes(shape, options.row_widths);
  return packed ? checked_add(*fixed, *packed) : std::nullopt;
}

/// The scale of a group; empty if f16 cannot hold it.
template <unsigned kWidth>
std::optional<uint16_t> choose_scale(std::span<const float, kGroup> weights, uint64_t first_index,
                                     const EncodeOptions& options) {
  constexpr int kZero = vbit_zero_code(kWidth);
  if (options.encoder == Encoder::kPlain)
    return scale_to_half(largest_magnitude(weights) / static_cast<float>(kZero));
  // The one code more above zero, which plain scales never reach, can only help the scale that is found.
  std::array<float, kGroup> storage{};
  return search_scale(weights, importance_of(options.importance, first_index, kGroup, storage), -kZero,
                      kZero);
}

/// Scales and codes of one row; `first_index` is the flat index of its first weight.
template <unsigned kWidth>
Status encode_row(std::span<const float> row, uint64_t first_index, const EncodeOptions& options,
                  std::byte* scales, std::byte* packed) {
  for (uint64_t i = 0; i < row.size(); i += kGroup) {
    const auto weights = row.subspan(i).first<kGroup>();
    const auto half = choose_scale<kWidth>(weights, first_index + i, options);
    if (!half) return scale_refusal(weights, first_index + i);
    store_little_endian(scales + 2 * (i / kGroup), *half);
    encode_vbit_group<kWidth>(weights, half_to_float(*half), packed + packed_bytes(i, kWidth));
  }
  return {};
}

/// Widths, scales, and packed rows from `packed` on.
Status encode_rows(std::span<const float> values, Shape shape, const EncodeOptions& options, uint64_t packed,
                   MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  AMPHORA_TRY(check_importance(options, shape));
  const std::span<const uint8_t> widths = options.row_widths;
  const uint64_t rows = shape[0], columns = shape[1];
  for (uint64_t row = 0; row < rows; ++row) {
    out[row] = std::byte{widths[row]};
    std::byte* scales = out.data() + rows + 2 * (row * (columns / kGroup));
    AMPHORA_TRY(with_vbit_width(widths[row], [&]<unsigned kWidth>() {
      return encode_row<kWidth>(values.subspan(row * columns, columns), row * columns, options, scales,
                                out.data() + packed);
    }));
    packed += packed_bytes(columns, widths[row]);
  }
  return {};
}

Status encode_vbit(std::span<const float> values, Shape shape, const EncodeOptions& options,
                   MutableBytes out) {
  AMPHORA_TRY(check_widths(shape, options.row_widths));
  return encode_rows(values, shape, options, *fixed_bytes(shape), out);
}

Status encode_vbit_ro(std::span<const float> values, Shape shape, const EncodeOptions& options,
                      MutableBytes out) {
  AMPHORA_TRY(check_widths(shape, options.row_widths));
  const auto packed = all_packed_bytes(shape, options.row_widths);
  if (!packed || *packed > std::numeric_limits<uint32_t>::max())
    return fail(Fault::kRefused, "vbit_ro has row offsets of 32 bits; the packed rows are too long");
  const uint64_t table = *fixed_bytes(shape);
  uint64_t offset = 0;
  for (uint64_t row = 0; row <= shape[0]; ++row) {
    store_little_endian(out.data() + table + 4 * row, static_cast<uint32_t>(offset));
    if (row < shape[0]) offset += packed_bytes(shape[1], options.row_widths[row]);
  }
  return encode_rows(values, shape, options, *fixed_bytes_ro(shape), out);
}

}  // namespace

const Codec kVbitCodec{.dtype = DType::kVbit,
                       .name = "vbit",
                       .cli_name = "vbit",
                       .check_place = place_grouped_matrix,
                       .check_tables = check_vbit_tables,
                       .check_payload = check_payload,
                       .decode = decode_vbit,
                       .encoded_bytes = encoded_vbit_bytes,
                       .encode = encode_vbit,
                       .has_search = true};

const Codec kVbitRoCodec{.dtype = DType::kVbitRo,
                         .name = "vbit_ro",
                         .check_place = place_grouped_matrix,
                         .check_tables = check_vbit_ro_tables,
                         .check_payload = check_payload,
                         .decode = decode_vbit_ro,
                         .encoded_bytes = encoded_vbit_ro_bytes,
                         .encode = encode_vbit_ro,
                         .has_search = true};

}  // namespace amphora::quant
