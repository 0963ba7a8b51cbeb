// Splitting, stripping and searching text: see text_search.h.
#include "text/jinja/text_search.h"

#include <algorithm>

#include "text/jinja/code_points.h"

namespace amphora::text::jinja {
namespace {

// A limit on the number of splits that leads to one part too many at most.
int64_t bounded(int64_t limit) {
  const auto most = static_cast<int64_t>(kMaxParts);
  return limit < 0 ? most : std::min(limit, most);
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

size_t word_end(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    size_t next = offset;
    if (is_space(next_code_point(text, next))) break;
    offset = next;
  }
  return offset;
}

size_t previous_start(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

size_t last_word_start(std::string_view text) {
  size_t start = text.size();
  while (start > 0) {
    const size_t previous = previous_start(text, start);
    size_t offset = previous;
    if (is_space(next_code_point(text, offset))) break;
    start = previous;
  }
  return start;
}

}  // namespace

std::vector<std::string_view> split_at_spaces(std::string_view text, int64_t limit) {
  limit = bounded(limit);
  std::vector<std::string_view> parts;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (static_cast<int64_t>(parts.size()) >= limit) {
      parts.push_back(text);  // with the white space at its end
      break;
    }
    const size_t end = word_end(text);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_at_spaces_from_right(std::string_view text, int64_t limit) {
  limit = bounded(limit);
  std::vector<std::string_view> parts;
  for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
    if (static_cast<int64_t>(parts.size()) >= limit) {
      parts.push_back(text);
      break;
    }
    const size_t start = last_word_start(text);
    parts.push_back(text.substr(start));
    text = text.substr(0, start);
  }
  std::ranges::reverse(parts);
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit) {
  limit = bounded(limit);
  std::vector<std::string_view> parts;
  while (static_cast<int64_t>(parts.size()) < limit) {
    const size_t offset = text.find(separator);
    if (offset == std::string_view::npos) break;
    parts.push_back(text.substr(0, offset));
    text.remove_prefix(offset + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator,
                                                  int64_t limit) {
  limit = bounded(limit);
  std::vector<std::string_view> parts;
  while (static_cast<int64_t>(parts.size()) < limit) {
    const size_t offset = text.rfind(separator);
    if (offset == std::string_view::npos) break;
    parts.push_back(text.substr(offset + separator.size()));
    text = text.substr(0, offset);
  }
  parts.push_back(text);
  std::ranges::reverse(parts);
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t offset = 0; offset < text.size() && lines.size() <= kMaxParts;) {
    const size_t end = offset;
    const char32_t c = next_code_point(text, offset);
    if (!is_line_end(c)) continue;
    if (c == U'\r' && offset < text.size() && text[offset] == '\n') ++offset;
    lines.push_back(text.substr(start, (keep_ends ? offset : end) - start));
    start = offset;
  }
  if (start < text.size() && lines.size() <= kMaxParts) lines.push_back(text.substr(start));
  return lines;
}

std::string_view strip(std::string_view text, std::optional<std::string_view> characters, Side side) {
  if (!characters) {
    if (side != Side::kRight) text = strip_left(text);
    return side == Side::kLeft ? text : strip_right(text);
  }
  const std::u32string set = to_code_points(*characters);
  const auto is_stripped = [&](size_t offset) {
    return set.find(next_code_point(text, offset)) != std::u32string::npos;
  };
  while (side != Side::kRight && !text.empty() && is_stripped(0)) {
    size_t next = 0;
    next_code_point(text, next);
    text.remove_prefix(next);
  }
  while (side != Side::kLeft && !text.empty()) {
    const size_t start = previous_start(text, text.size());
    if (!is_stripped(start)) break;
    text = text.substr(0, start);
  }
  return text;
}

void append_replaced(TextBuilder& out, std::string_view text, std::string_view before, std::string_view after,
                     int64_t limit) {
  size_t offset = 0;
  for (int64_t done = 0; (limit < 0 || done < limit) && out.ok(); ++done) {
    if (before.empty()) {  // before each character and at the end
      out.append(after);
      if (offset == text.size()) return;
      const size_t start = offset;
      next_code_point(text, offset);
      out.append(text.substr(start, offset - start));
      continue;
    }
    const size_t found = text.find(before, offset);
    if (found == std::string_view::npos) break;
    out.append(text.substr(offset, found - offset));
    out.append(after);
    offset = found + before.size();
  }
  out.append(text.substr(offset));
}

}  // namespace amphora::text::jinja
