// What a text is split or replaced by: a literal, a regular expression or a class of characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "amphora/result.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/span.h"

namespace amphora::text {

/// A part of a text that matched, or that lies between two matches.
struct Part {
  Span span;
  bool is_match;
};

class Pattern {
 public:
  using CharacterClass = bool (*)(char32_t);

  static Result<Pattern> literal(std::string text);
  static Result<Pattern> regex(std::string_view source);
  static Pattern characters(CharacterClass in_class) { return Pattern(in_class); }

  /// Cuts the text into matches and what lies between them; together they cover it. Nothing for an empty
  /// text.
  Status find_parts(std::string_view text, std::vector<Part>& parts) const;

  /// The literal, or null.
  const std::string* find_literal() const { return std::get_if<std::string>(&what_); }

 private:
  using What = std::variant<std::string, Regex, CharacterClass>;
  explicit Pattern(What what) : what_(std::move(what)) {}
  What what_;
};

/// What becomes of the delimiters when a text is split.
enum class SplitBehavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// The words that remain of `parts`, shifted by `offset`; empty ones are left out.
void append_words(const std::vector<Part>& parts, SplitBehavior behavior, bool invert, size_t offset,
                  std::vector<Span>& words);

/// The text with `content` in place of each match. `origin_bytes` is kept up to date (see Stretch).
Result<std::string> replace_matches(std::string_view text, const Pattern& pattern, std::string_view content,
                                    size_t* origin_bytes);

}  // namespace amphora::text
