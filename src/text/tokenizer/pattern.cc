// What a text is split or replaced by: a literal, a regular expression or a class of characters.
#include "text/tokenizer/pattern.h"

#include <algorithm>

#include "unicode/utf8.h"

namespace amphora::text {
namespace {

void find_literal_parts(std::string_view text, std::string_view literal, std::vector<Part>& parts) {
  size_t end = 0;
  for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, end)) {
    if (at > end) parts.push_back({{end, at}, false});
    end = at + literal.size();
    parts.push_back({{at, end}, true});
  }
  if (end < text.size()) parts.push_back({{end, text.size()}, false});
}

void find_class_parts(std::string_view text, Pattern::CharacterClass in_class, std::vector<Part>& parts) {
  size_t end = 0;
  for (const unicode::CodePoint c : unicode::CodePoints(text)) {
    if (!in_class(c.value)) continue;
    if (c.offset > end) parts.push_back({{end, c.offset}, false});
    end = c.offset + c.bytes;
    parts.push_back({{c.offset, end}, true});
  }
  if (end < text.size()) parts.push_back({{end, text.size()}, false});
}

Status find_regex_parts(std::string_view text, const Regex& regex, std::vector<Part>& parts) {
  std::vector<Span> matches;
  AMPHORA_TRY(regex.find_all(text, matches));
  size_t end = 0;
  for (const Span match : matches) {
    if (match.begin != end) parts.push_back({{end, match.begin}, false});
    parts.push_back({match, true});
    end = match.end;
  }
  if (end < text.size()) parts.push_back({{end, text.size()}, false});
  return {};
}

}  // namespace

Result<Pattern> Pattern::literal(std::string text) {
  if (text.empty()) return regex("");  // matches between all characters, as the reference's does
  return Pattern(What(std::in_place_type<std::string>, std::move(text)));
}

Result<Pattern> Pattern::regex(std::string_view source) {
  AMPHORA_ASSIGN(Regex compiled, Regex::compile(source));
  return Pattern(What(std::move(compiled)));
}

Status Pattern::find_parts(std::string_view text, std::vector<Part>& parts) const {
  parts.clear();
  if (text.empty()) return {};
  if (const auto* regex = std::get_if<Regex>(&what_)) return find_regex_parts(text, *regex, parts);
  if (const auto* literal = std::get_if<std::string>(&what_))
    find_literal_parts(text, *literal, parts);
  else
    find_class_parts(text, std::get<CharacterClass>(what_), parts);
  return {};
}

void append_words(const std::vector<Part>& parts, SplitBehavior behavior, bool invert, size_t offset,
                  std::vector<Span>& words) {
  const size_t first_word = words.size();
  const auto add = [&](Span span) { words.push_back({span.begin + offset, span.end + offset}); };
  bool previous = false;  // whether the part before was a delimiter
  bool opens_next = false;
  for (const Part& part : parts) {
    const bool is_delimiter = part.is_match != invert;
    const bool has_word = words.size() > first_word;
    switch (behavior) {
      case SplitBehavior::kRemoved:
        if (!is_delimiter) add(part.span);
        break;
      case SplitBehavior::kIsolated: add(part.span); break;
      case SplitBehavior::kContiguous:
        if (is_delimiter == previous && has_word)
          words.back().end = part.span.end + offset;
        else
          add(part.span);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (is_delimiter && !previous && has_word)
          words.back().end = part.span.end + offset;
        else
          add(part.span);
        break;
      case SplitBehavior::kMergedWithNext:
        // Only the last of several delimiters joins what follows, and only if that is not a delimiter.
        if (!is_delimiter && opens_next)
          words.back().end = part.span.end + offset;
        else
          add(part.span);
        opens_next = is_delimiter;
        break;
    }
    previous = is_delimiter;
  }
  const auto fresh = words.begin() + static_cast<std::ptrdiff_t>(first_word);
  words.erase(std::remove_if(fresh, words.end(), [](Span word) { return word.empty(); }), words.end());
}

Result<std::string> replace_matches(std::string_view text, const Pattern& pattern, std::string_view content,
                                    size_t* origin_bytes) {
  std::vector<Part> parts;
  AMPHORA_TRY(pattern.find_parts(text, parts));
  std::string out;
  out.reserve(text.size());
  size_t origin = 0;
  for (const Part& part : parts) {
    if (part.is_match)
      out += content;
    else
      out += slice(text, part.span);
    if (origin_bytes == nullptr || part.span.begin >= *origin_bytes) continue;
    // A replacement stands where its match began; of an untouched part the front bytes keep their origin.
    origin =
        part.is_match ? out.size() : out.size() - (part.span.end - std::min(part.span.end, *origin_bytes));
  }
  if (origin_bytes != nullptr) *origin_bytes = origin;
  return out;
}

}  // namespace amphora::text
