// q1s: the tiles of q1, then `u32` count and an overlay of `[u32 flat index][f16 value]` that replaces.
#include <algorithm>
#include <limits>
#include <ranges>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/overlay.h"
#include "quant/q1_tiles.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kEntryBytes = 6;
constexpr double kDefaultShare = 0.01;

Status check_tables(Bytes payload, Shape shape) {
  const auto tiles = bytes_of_groups(shape, kQ1TileBytes, 0);
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
  AMPHORA_TRY(check_finite_halves(payload, 0, groups, kQ1TileBytes, "scale"));
  const uint64_t entries = groups * kQ1TileBytes + 4;
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

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  decode_q1_tiles(payload, first, out);
  const uint64_t table = shape[0] * shape[1] / kGroup * kQ1TileBytes;
  const std::byte* entries = payload.data() + table + 4;
  const uint64_t count = load_little_endian<uint32_t>(payload.data() + table);
  const auto index_of = [&](uint64_t entry) {
    return uint64_t{load_little_endian<uint32_t>(entries + kEntryBytes * entry)};
  };
  const auto order = std::views::iota(uint64_t{0}, count);
  for (auto entry = std::ranges::lower_bound(order, first, {}, index_of); entry != order.end(); ++entry) {
    const uint64_t offset = index_of(*entry) - first;  // wraps below `first`, where only unsorted entries are
    if (offset >= out.size()) break;
    out[offset] = half_to_float(load_little_endian<uint16_t>(entries + kEntryBytes * *entry + 4));
  }
}

/// How many weights the overlay takes, if indices and count fit their fields.
Result<uint64_t> entries_of(Shape shape, const EncodeOptions& options) {
  const auto elements = element_count(shape);
  constexpr uint64_t kMostElements = uint64_t{1} << 32;
  if (!elements || *elements > kMostElements)
    return fail(Fault::kRefused, "q1s numbers weights with 32 bits; the tensor has too many");
  AMPHORA_ASSIGN(const uint64_t count,
                 overlay_count(*elements, options.overlay_share.value_or(kDefaultShare)));
  if (count > std::numeric_limits<uint32_t>::max())
    return fail(Fault::kRefused, "q1s counts overlay entries with 32 bits; there are too many");
  return count;
}

std::optional<uint64_t> encoded_bytes(Shape shape, const EncodeOptions& options) {
  const auto entries = entries_of(shape, options);
  if (!entries) return std::nullopt;
  return *bytes_of_groups(shape, kQ1TileBytes, 0) + 4 + kEntryBytes * *entries;  // at most 2^32 elements
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions& options, MutableBytes out) {
  AMPHORA_ASSIGN(const uint64_t count, entries_of(shape, options));
  AMPHORA_TRY(check_finite(values));
  const std::vector<uint64_t> outliers = select_outliers(values, count);
  std::byte* at = out.data() + values.size() / kGroup * kQ1TileBytes;
  store_little_endian(at, static_cast<uint32_t>(count));
  at += 4;
  for (const uint64_t index : outliers) {
    AMPHORA_ASSIGN(const uint16_t half, outlier_to_half(values, index));
    store_little_endian(at, static_cast<uint32_t>(index));
    store_little_endian(at + 4, half);
    at += kEntryBytes;
  }
  return encode_q1_tiles(values, outliers, out);
}

}  // namespace

const Codec kQ1SCodec{.dtype = DType::kQ1S,
                      .name = "q1s",
                      .cli_name = "q1s",
                      .check_place = place_grouped_matrix,
                      .check_tables = check_tables,
                      .check_payload = check_payload,
                      .decode = decode,
                      .encoded_bytes = encoded_bytes,
                      .encode = encode};

}  // namespace amphora::quant
