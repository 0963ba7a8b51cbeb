// Text as Python sees it: see code_points.h. Categories and simple mappings are utf8proc's.
#include "text/jinja/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace amphora::text::jinja {
namespace {

struct Range {
  char32_t first, last;
};
struct FullMapping {
  char32_t from;
  std::array<char32_t, 3> to;  ///< padded with zeros
};
#include "text/jinja/case_tables.inc"

template <size_t kCount>
bool lies_in(const Range (&ranges)[kCount], char32_t c) {
  const auto* it = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                    [](char32_t value, const Range& range) { return value < range.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

template <size_t kCount>
const FullMapping* find_mapping(const FullMapping (&mappings)[kCount], char32_t c) {
  const auto* it =
      std::lower_bound(std::begin(mappings), std::end(mappings), c,
                       [](const FullMapping& mapping, char32_t value) { return mapping.from < value; });
  return it != std::end(mappings) && it->from == c ? it : nullptr;
}

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

void append_mapping(std::string& text, const FullMapping& mapping) {
  for (const char32_t c : mapping.to)
    if (c != 0) append_code_point(text, c);
}

void append_upper(std::string& text, char32_t c) {
  if (const auto* mapping = find_mapping(kFullUpper, c)) return append_mapping(text, *mapping);
  append_code_point(text, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& text, char32_t c) {
  if (const auto* mapping = find_mapping(kFullTitle, c)) return append_mapping(text, *mapping);
  append_code_point(text, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

// Unicode's Case_Ignorable, as far as it decides about a final sigma.
bool is_case_ignorable(char32_t c) {
  static constexpr char32_t kMidLetters[] = {U'\'',  U'.',   U':',   U'^',   U'`',   0xA8,   0xAD,   0xAF,
                                             0xB4,   0xB7,   0xB8,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                             0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  if (std::ranges::find(kMidLetters, c) != std::end(kMidLetters)) return true;
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return false;
  }
}

// A capital sigma at the end of a word becomes ς: a cased letter before it and none after, ignorable ones
// skipped.
bool is_final_sigma(const std::u32string& text, size_t index) {
  size_t before = index;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = index + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::string& result, const std::u32string& text, size_t index) {
  const char32_t c = text[index];
  if (c == 0x3A3) return append_code_point(result, is_final_sigma(text, index) ? 0x3C2 : 0x3C3);
  if (c == 0x130) {  // İ: the only character whose lower case is two
    append_code_point(result, U'i');
    return append_code_point(result, 0x307);
  }
  append_code_point(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool is_ascii_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

size_t sequence_bytes(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

}  // namespace

bool is_well_formed_utf8(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    utf8proc_int32_t code_point = 0;
    const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + offset,
                                        static_cast<utf8proc_ssize_t>(text.size() - offset), &code_point);
    if (bytes <= 0) return false;
    offset += static_cast<size_t>(bytes);
  }
  return true;
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

char32_t next_code_point(std::string_view text, size_t& offset) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(offset);
  const size_t bytes = sequence_bytes(lead);
  if (bytes <= 1 || bytes > text.size() - offset) return byte(offset++);
  auto c = static_cast<char32_t>(lead & (0xFF >> (bytes + 1)));
  for (size_t i = 1; i < bytes; ++i) c = c << 6 | (byte(offset + i) & 0x3Fu);
  offset += bytes;
  return c;
}

void append_code_point(std::string& text, char32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

std::u32string to_code_points(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) result += next_code_point(text, offset);
  return result;
}

std::string to_utf8(std::u32string_view code_points) {
  std::string result;
  result.reserve(code_points.size());
  for (const char32_t c : code_points) append_code_point(result, c);
  return result;
}

size_t offset_of_code_point(std::string_view text, size_t index) {
  size_t offset = 0;
  for (; offset < text.size(); ++offset) {
    if ((static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) continue;
    if (index-- == 0) break;
  }
  return offset;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_decimal(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_ND; }
bool is_digit(char32_t c) { return is_decimal(c) || lies_in(kDigitsBesideNd, c); }

bool is_numeric(char32_t c) {
  const auto category = category_of(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO || lies_in(kNumericLetters, c);
}

bool is_alpha(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return true;
    default: return false;
  }
}

bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }

// The tables list the differences in either direction.
bool is_identifier_start(char32_t c) {
  return (c == U'_' || is_alpha(c)) != lies_in(kIdentifierStartBesideAlpha, c);
}
bool is_identifier_part(char32_t c) {
  return (c == U'_' || is_alnum(c)) != lies_in(kIdentifierPartBesideAlnum, c);
}

bool is_printable(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    case UTF8PROC_CATEGORY_ZS: return c == U' ';
    default: return true;
  }
}

bool is_lower(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_LL || lies_in(kLowerBesideLl, c); }
bool is_upper(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_LU || lies_in(kUpperBesideLu, c); }
bool is_titlecase(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_LT; }
bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_titlecase(c); }

std::string to_upper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      result += ascii_upper(text[offset++]);
    } else {
      append_upper(result, next_code_point(text, offset));
    }
  }
  return result;
}

std::string to_lower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  if (is_ascii_text(text)) {
    std::ranges::transform(text, std::back_inserter(result), ascii_lower);
    return result;
  }
  const std::u32string points = to_code_points(text);
  for (size_t i = 0; i < points.size(); ++i) append_lower(result, points, i);
  return result;
}

std::string to_title(std::string_view text) {
  std::string result;
  const std::u32string points = to_code_points(text);
  bool within_word = false;
  for (size_t i = 0; i < points.size(); ++i) {
    within_word ? append_lower(result, points, i) : append_title(result, points[i]);
    within_word = is_cased(points[i]);
  }
  return result;
}

std::string to_capitalized(std::string_view text) {
  std::string result;
  const std::u32string points = to_code_points(text);
  for (size_t i = 0; i < points.size(); ++i)
    i == 0 ? append_title(result, points[i]) : append_lower(result, points, i);
  return result;
}

std::string to_swapped_case(std::string_view text) {
  std::string result;
  const std::u32string points = to_code_points(text);
  for (size_t i = 0; i < points.size(); ++i) {
    if (is_upper(points[i])) {
      append_lower(result, points, i);
    } else if (is_lower(points[i])) {
      append_upper(result, points[i]);
    } else {
      append_code_point(result, points[i]);
    }
  }
  return result;
}

std::string to_casefolded(std::string_view text) {
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    std::array<utf8proc_int32_t, 4> folded{};
    int boundary_class = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(), folded.size(),
                                               UTF8PROC_CASEFOLD, &boundary_class);
    for (utf8proc_ssize_t i = 0; i < count; ++i)
      append_code_point(result, static_cast<char32_t>(folded[static_cast<size_t>(i)]));
  }
  return result;
}

std::string_view strip_left(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    size_t next = offset;
    if (!is_space(next_code_point(text, next))) break;
    offset = next;
  }
  return text.substr(offset);
}

std::string_view strip_right(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    size_t offset = start;
    if (!is_space(next_code_point(text, offset))) break;
    end = start;
  }
  return text.substr(0, end);
}

}  // namespace amphora::text::jinja
