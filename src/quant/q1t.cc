// q1t: per group of 32 along a row `f16` scale, `u8[7]` of base-3 codes; `u32 row_ptr[rows + 1]`; an overlay
// of `[u16 column][f16 value]` that replaces.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/overlay.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kCodeBytes = 7;
constexpr uint64_t kTileBytes = 2 + kCodeBytes;
constexpr uint64_t kEntryBytes = 4;
constexpr uint64_t kCodesPerByte = 5;
constexpr uint64_t kMostColumns = 65535;
constexpr double kDefaultShare = 0;
constexpr double kDeadZone = 0.7;  // of the mean magnitude: what lies below has code 0

/// Where the parts of a payload begin.
struct Layout {
  uint64_t row_pointers, entries;
};

std::optional<Layout> layout_of(Shape shape) {
  const auto tiles = bytes_of_groups(shape, kTileBytes, 0);
  const auto pointers = checked_add(shape[0], 1);
  const auto table = pointers ? checked_mul(*pointers, 4) : std::nullopt;
  const auto fixed = tiles && table ? checked_add(*tiles, *table) : std::nullopt;
  if (!fixed) return std::nullopt;
  return Layout{*tiles, *fixed};
}

uint64_t row_pointer(Bytes payload, const Layout& layout, uint64_t row) {
  return load_little_endian<uint32_t>(payload.data() + layout.row_pointers + 4 * row);
}

Status check_place(std::string_view tensor_name, Shape shape) {
  AMPHORA_TRY(place_grouped_matrix(tensor_name, shape));
  if (shape[1] > kMostColumns)
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

/// Whether a tile breaks no rule: looks at all of it at once, and does not say where a fault is.
bool is_sound_tile(const std::byte* tile) {
  const auto scale_and_codes = load_little_endian<uint64_t>(tile);
  const uint64_t codes = scale_and_codes >> 16;
  // A byte above 242 has its top bit set, and adding 13 to its other bits carries into that bit.
  const uint64_t carries = (codes & 0x7F7F7F7F7F7F) + 0x0D0D0D0D0D0D;
  return (scale_and_codes & 0x7C00) != 0x7C00 && (carries & codes & 0x808080808080) == 0 &&
         std::to_integer<uint8_t>(tile[kTileBytes - 1]) <= 8;
}

bool are_sound_tiles(Bytes payload, uint64_t groups) {
  bool sound = true;
  for (uint64_t group = 0; group < groups; ++group)
    sound &= is_sound_tile(payload.data() + group * kTileBytes);
  return sound;
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
  if (!are_sound_tiles(payload, groups)) {
    AMPHORA_TRY(check_finite_halves(payload, 0, groups, kTileBytes, "scale"));
    AMPHORA_TRY(check_codes(payload, groups));
  }
  const Layout layout = *layout_of(shape);
  for (uint64_t row = 0; row < shape[0]; ++row) AMPHORA_TRY(check_overlay_row(payload, shape, layout, row));
  return check_finite_halves(payload, layout.entries + 2, row_pointer(payload, layout, shape[0]), kEntryBytes,
                             "overlay value");
}

constexpr std::array<std::array<uint8_t, kCodesPerByte>, 256> make_digits() {
  std::array<std::array<uint8_t, kCodesPerByte>, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (uint32_t i = 0, rest = byte; i < kCodesPerByte; ++i, rest /= 3)
      table[byte][i] = static_cast<uint8_t>(rest % 3);
  return table;
}

/// The five base-3 digits of a byte, least significant first.
constexpr std::array<std::array<uint8_t, kCodesPerByte>, 256> kDigits = make_digits();

void decode_tile(const std::byte* tile, std::array<float, kCodeBytes * kCodesPerByte>& out) {
  const float scale = half_to_float(load_little_endian<uint16_t>(tile));
  const std::array<float, 3> values = {0.0f, scale, -scale};
  for (uint64_t i = 0; i < kCodeBytes; ++i) {
    const auto& digits = kDigits[std::to_integer<uint8_t>(tile[2 + i])];
    for (uint64_t k = 0; k < kCodesPerByte; ++k) out[i * kCodesPerByte + k] = values[digits[k]];
  }
}

void decode_tiles(Bytes payload, uint64_t first, std::span<float> out) {
  std::array<float, kCodeBytes * kCodesPerByte> group;
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t inside = (first + done) % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    decode_tile(payload.data() + (first + done) / kGroup * kTileBytes, group);
    std::copy_n(group.begin() + inside, count, out.begin() + static_cast<ptrdiff_t>(done));
    done += count;
  }
}

/// Replaces what the overlay has of columns [first_column, first_column + out.size()) of a row.
void replace_outliers(Bytes payload, const Layout& layout, uint64_t row, uint64_t first_column,
                      std::span<float> out) {
  const std::byte* entries = payload.data() + layout.entries;
  const auto column_of = [&](uint64_t entry) {
    return uint64_t{load_little_endian<uint16_t>(entries + kEntryBytes * entry)};
  };
  const auto order =
      std::views::iota(row_pointer(payload, layout, row), row_pointer(payload, layout, row + 1));
  for (auto entry = std::ranges::lower_bound(order, first_column, {}, column_of); entry != order.end();
       ++entry) {
    const uint64_t offset = column_of(*entry) - first_column;  // wraps below it, where only unsorted ones are
    if (offset >= out.size()) break;
    out[offset] = half_to_float(load_little_endian<uint16_t>(entries + kEntryBytes * *entry + 2));
  }
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  decode_tiles(payload, first, out);
  const Layout layout = *layout_of(shape);
  if (payload.size() == layout.entries) return;
  const uint64_t columns = shape[1];
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t row = (first + done) / columns;
    const uint64_t column = (first + done) % columns;
    const uint64_t count = std::min(columns - column, out.size() - done);
    replace_outliers(payload, layout, row, column, out.subspan(done, count));
    done += count;
  }
}

Result<uint64_t> entries_of(Shape shape, const EncodeOptions& options) {
  const auto elements = element_count(shape);
  if (!elements) return fail(Fault::kRefused, "the tensor has too many weights");
  AMPHORA_ASSIGN(const uint64_t count,
                 overlay_count(*elements, options.overlay_share.value_or(kDefaultShare)));
  if (count > std::numeric_limits<uint32_t>::max())
    return fail(Fault::kRefused, "q1t counts overlay entries with 32 bits; there are too many");
  return count;
}

std::optional<uint64_t> encoded_bytes(Shape shape, const EncodeOptions& options) {
  const auto layout = layout_of(shape);
  const auto entries = entries_of(shape, options);
  if (!layout || !entries) return std::nullopt;
  return checked_add(layout->entries, kEntryBytes * *entries);
}

/// 1 for weights above the dead zone, 2 for those below its mirror image, 0 for others and outliers.
std::array<uint8_t, kCodeBytes * kCodesPerByte> codes_of(std::span<const float, kGroup> weights,
                                                         uint32_t kept) {
  const double limit = kDeadZone * mean_magnitude(weights, kept);
  std::array<uint8_t, kCodeBytes * kCodesPerByte> codes{};
  for (uint64_t i = 0; i < kGroup; ++i)
    if ((kept >> i & 1u) != 0 && double{std::fabs(weights[i])} > limit) codes[i] = weights[i] > 0 ? 1 : 2;
  return codes;
}

/// False if the scale does not fit f16.
bool encode_tile(std::span<const float, kGroup> weights, uint32_t kept, std::byte* tile) {
  const auto codes = codes_of(weights, kept);
  uint32_t large = 0;
  for (uint64_t i = 0; i < kGroup; ++i) large |= uint32_t{codes[i] != 0} << i;
  const auto half = scale_to_half(mean_magnitude(weights, large));
  if (!half) return false;
  store_little_endian(tile, *half);
  for (uint64_t i = 0; i < kCodeBytes; ++i) {
    uint32_t byte = 0;
    for (uint64_t k = kCodesPerByte; k-- > 0;) byte = 3 * byte + codes[i * kCodesPerByte + k];
    tile[2 + i] = static_cast<std::byte>(byte);
  }
  return true;
}

Status encode_overlay(std::span<const float> values, Shape shape, const Layout& layout,
                      std::span<const uint64_t> outliers, MutableBytes out) {
  uint64_t entry = 0;
  for (uint64_t row = 0; row <= shape[0]; ++row) {
    store_little_endian(out.data() + layout.row_pointers + 4 * row, static_cast<uint32_t>(entry));
    for (; entry < outliers.size() && outliers[entry] < (row + 1) * shape[1]; ++entry) {
      AMPHORA_ASSIGN(const uint16_t half, outlier_to_half(values, outliers[entry]));
      std::byte* at = out.data() + layout.entries + kEntryBytes * entry;
      store_little_endian(at, static_cast<uint16_t>(outliers[entry] - row * shape[1]));
      store_little_endian(at + 2, half);
    }
  }
  return {};
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions& options, MutableBytes out) {
  AMPHORA_ASSIGN(const uint64_t count, entries_of(shape, options));
  AMPHORA_TRY(check_finite(values));
  const std::vector<uint64_t> outliers = select_outliers(values, count);
  AMPHORA_TRY(encode_overlay(values, shape, *layout_of(shape), outliers, out));
  KeptWeights kept(outliers);
  for (uint64_t first = 0; first < values.size(); first += kGroup) {
    const auto weights = values.subspan(first).first<kGroup>();
    if (!encode_tile(weights, kept.mask_of_group(first), out.data() + first / kGroup * kTileBytes))
      return scale_refusal(weights, first);
  }
  return {};
}

}  // namespace

const Codec kQ1TCodec{.dtype = DType::kQ1T,
                      .name = "q1t",
                      .cli_name = "q1t",
                      .check_place = check_place,
                      .check_tables = check_tables,
                      .check_payload = check_payload,
                      .decode = decode,
                      .encoded_bytes = encoded_bytes,
                      .encode = encode};

}  // namespace amphora::quant
