// Which parts of a rendered prompt a template only quotes: they come from the messages, the tools or other
// values of the request, and not from the template itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace amphora::text {

/// Bytes [begin, end) of a text; 32 bits are enough for what a template may write.
struct QuotedRange {
  uint32_t begin, end;
  bool operator==(const QuotedRange&) const = default;
};

/// In order, none empty, no two touching.
using QuotedRanges = std::vector<QuotedRange>;

struct QuotedText {
  std::string text;
  QuotedRanges quoted;
};

/// Adds a range behind all others.
inline void append_range(QuotedRanges& ranges, size_t begin, size_t end) {
  if (begin == end) return;
  if (!ranges.empty() && ranges.back().end >= begin) {
    ranges.back().end = static_cast<uint32_t>(end);
  } else {
    ranges.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
}

/// The ranges of the part [begin, end) of their text, counted from `begin`.
inline QuotedRanges ranges_of_part(const QuotedRanges& ranges, size_t begin, size_t end) {
  QuotedRanges part;
  for (auto it = std::ranges::upper_bound(ranges, begin, {}, &QuotedRange::end);
       it != ranges.end() && it->begin < end; ++it)
    append_range(part, std::max<size_t>(it->begin, begin) - begin, std::min<size_t>(it->end, end) - begin);
  return part;
}

}  // namespace amphora::text
