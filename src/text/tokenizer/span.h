// The text on its way through the pipeline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace amphora::text {

/// Bytes [begin, end) of a text.
struct Span {
  size_t begin, end;
  bool empty() const { return begin == end; }
  bool operator==(const Span&) const = default;
};

inline std::string_view slice(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

/// Well-formed UTF-8 between two added tokens, and the words into which it has been split so far. Bytes
/// outside of all words have been dropped.
struct Stretch {
  std::string text;
  std::vector<Span> words;
  /// How many bytes at the front stem from the first character of the caller's text or were put before it; 0
  /// for all stretches but the first. Metaspace's scheme "first" needs it.
  size_t origin_bytes = 0;
};

}  // namespace amphora::text
