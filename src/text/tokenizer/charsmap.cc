// SentencePiece's compiled table of replacements.
#include "text/tokenizer/charsmap.h"

#include <fmt/format.h>

#include "unicode/utf8.h"

namespace amphora::text {
namespace {

// SentencePiece's own rules need some 45,000; checking takes time in proportion.
constexpr size_t kMaxUnits = size_t{1} << 22;

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(Fault::kCorrupt, fmt::format("tokenizer: precompiled_charsmap: {}", what));
}

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

}  // namespace

Result<Charsmap> Charsmap::open(std::string_view blob) {
  if (blob.size() < 4) return corrupt("is cut short");
  const size_t array_bytes = read_u32(blob, 0);
  if (array_bytes > blob.size() - 4) return corrupt("its array ends past the blob");
  // The reference rounds down, and reads what is left of the array as replacements.
  const size_t count = array_bytes / 4;
  if (count == 0) return corrupt("its array is empty");
  if (count > kMaxUnits)
    return fail(Fault::kRefused, fmt::format("tokenizer: precompiled_charsmap: {} units are more than the {} "
                                             "that are accepted",
                                             count, kMaxUnits));
  Charsmap map;
  map.units_.reserve(count);
  for (size_t i = 0; i < count; ++i) map.units_.push_back(read_u32(blob, 4 + 4 * i));
  map.replacements_ = blob.substr(4 + 4 * count);
  if (!unicode::is_utf8(map.replacements_)) return corrupt("its replacements are not UTF-8");
  AMPHORA_TRY(map.check_nodes());
  return map;
}

Status Charsmap::check_node(uint32_t base, bool leaf) const {
  if (uint64_t{base | 0xFF} >= units_.size()) return corrupt("a node points outside the array");
  if (!leaf) return {};
  const uint32_t place = value(units_[base]);
  const bool in_character =
      place < replacements_.size() && (static_cast<uint8_t>(replacements_[place]) & 0xC0) == 0x80;
  if (place > replacements_.size() || in_character) return corrupt("a node has no replacement");
  return {};
}

Status Charsmap::check_nodes() const {
  std::vector<bool> seen(units_.size());
  std::vector<uint32_t> open = {0};
  seen[0] = true;
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    const uint32_t base = node ^ offset(units_[node]);
    AMPHORA_TRY(check_node(base, node != 0 && has_leaf(units_[node])));
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const uint32_t child = base ^ byte;
      if (label(units_[child]) != byte || seen[child]) continue;
      seen[child] = true;
      open.push_back(child);
    }
  }
  return {};
}

std::string_view Charsmap::replacement_at(uint32_t place) const {
  const std::string_view rest = std::string_view(replacements_).substr(place);
  return rest.substr(0, rest.find('\0'));
}

std::optional<std::string_view> Charsmap::find_shortest(std::string_view text) const {
  uint32_t base = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const uint32_t unit = units_[base ^ byte];
    if (byte == 0 || label(unit) != byte) return std::nullopt;
    base = base ^ byte ^ offset(unit);
    if (has_leaf(unit)) return replacement_at(value(units_[base]));
  }
  return std::nullopt;
}

std::optional<Charsmap::Match> Charsmap::find_longest(std::string_view text) const {
  std::optional<Match> found;
  uint32_t base = offset(units_[0]);
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const uint32_t unit = units_[base ^ byte];
    if (byte == 0 || label(unit) != byte) break;
    base = base ^ byte ^ offset(unit);
    if (has_leaf(unit)) found = Match{at + 1, replacement_at(value(units_[base]))};
  }
  return found;
}

}  // namespace amphora::text
