// The sparse index, entry by entry.
#include "formats/cmf/sparse_index.h"

#include <algorithm>
#include <concepts>
#include <set>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/checked.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kHeadBytes = 8;
constexpr uint64_t kEntryHeadBytes = 16;

uint64_t padded(uint64_t end) { return divide_rounding_up(end, 4) * 4; }

/// The place, from the list's start, of the first value that is not below `limit` or not above the one before
/// it.
template <std::unsigned_integral T>
std::optional<uint64_t> find_list_fault(Bytes list, uint64_t limit) {
  uint64_t least = 0;
  for (uint64_t at = 0; at < list.size(); at += sizeof(T)) {
    const uint64_t value = load_little_endian<T>(list.data() + at);
    if (value >= limit || value < least) return at;
    least = value + 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint16_t> IndexEntry::group_list() const {
  std::vector<uint16_t> list(groups.size() / sizeof(uint16_t));
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = load_little_endian<uint16_t>(groups.data() + sizeof(uint16_t) * i);
  return list;
}

std::vector<uint8_t> IndexEntry::head_list() const {
  std::vector<uint8_t> list;
  list.reserve(heads.size());
  for (const std::byte head : heads) list.push_back(std::to_integer<uint8_t>(head));
  return list;
}

Checked<std::vector<IndexEntry>> decode_index(Bytes section, uint64_t offset, const ArchDimensions& arch,
                                              const Masks* masks) {
  const auto bad = [&](Code code, uint64_t at, std::string message) {
    return fault(code, Section::kIndex, offset + at, std::move(message));
  };
  if (section.size() < kHeadBytes) return bad(Code::kParse, 0, "shorter than 8 bytes");
  ByteReader head(section);
  const auto count = head.read<uint32_t>();
  if (head.read<uint32_t>() != 0) return bad(Code::kParse, 4, "the reserved word is not zero");
  std::unordered_set<uint32_t> tasks;
  if (masks)
    for (const Mask& mask : masks->masks) tasks.insert(mask.task_id);

  const uint64_t group_limit = divide_rounding_up(arch.intermediate_size, 32);
  std::set<std::pair<uint32_t, uint32_t>> seen;
  std::vector<IndexEntry> entries;
  uint64_t at = kHeadBytes;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string which = "entry " + std::to_string(i);
    if (!lies_within(at, kEntryHeadBytes, section.size()))
      return bad(Code::kBounds, 0, which + " of " + std::to_string(count) + " passes the end of the section");
    ByteReader in(section.subspan(at));
    IndexEntry entry;
    entry.task = in.read<uint32_t>();
    entry.layer = in.read<uint32_t>();
    const uint64_t groups = in.read<uint32_t>();
    const uint64_t heads = in.read<uint32_t>();
    entry.end = at + kEntryHeadBytes + 2 * groups + heads;  // a place in a file plus less than 2^35
    if (padded(entry.end) > section.size())
      return bad(Code::kBounds, at + 8, which + " passes the end of the section");
    entry.groups = in.take(2 * groups);
    entry.heads = in.take(heads);
    if (masks && !tasks.contains(entry.task))
      return bad(Code::kParse, at, which + ": no mask has task id " + std::to_string(entry.task));
    if (entry.layer >= arch.num_layers || !seen.emplace(entry.task, entry.layer).second)
      return bad(Code::kParse, at + 4,
                 which + ": layer " + std::to_string(entry.layer) + " does not exist or comes twice");
    const uint64_t lists = at + kEntryHeadBytes;
    if (const auto place = find_list_fault<uint16_t>(entry.groups, group_limit))
      return bad(Code::kParse, lists + *place, which + ": a group is out of range or not ascending");
    if (const auto place = find_list_fault<uint8_t>(entry.heads, arch.heads_of(entry.layer)))
      return bad(Code::kParse, lists + 2 * groups + *place,
                 which + ": a head is out of range or not ascending");
    at = padded(entry.end);
    entries.push_back(entry);
  }
  if (at != section.size()) return bad(Code::kParse, at, "bytes behind the last entry");
  return entries;
}

std::optional<uint64_t> find_index_padding_fault(Bytes section, std::span<const IndexEntry> entries) {
  for (const IndexEntry& entry : entries)
    for (uint64_t at = entry.end; at < padded(entry.end); ++at)
      if (section[at] != std::byte{0}) return at;
  return std::nullopt;
}

}  // namespace amphora::cmf
