// The escapes of Python string literals: see string_literal.h.
#include "text/jinja/string_literal.h"

#include <cstdint>
#include <optional>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

std::unexpected<Error> escape_error(std::string message) {
  return coded_error(Fault::kCorrupt, "TemplateSyntax", std::move(message));
}

std::optional<uint32_t> hex_value(std::string_view digits) {
  uint32_t value = 0;
  for (const char c : digits) {
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value << 4 | static_cast<uint32_t>(lower - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

Status append_hex_escape(std::string& result, std::string_view text, size_t& offset, size_t digits) {
  const auto value = text.size() - offset >= digits ? hex_value(text.substr(offset, digits)) : std::nullopt;
  if (!value)
    return escape_error("truncated \\" + std::string(1, text[offset - 1]) + std::string(digits, 'X') +
                        " escape");
  if (*value > 0x10FFFF) return escape_error("illegal Unicode character");
  if (*value >= 0xD800 && *value < 0xE000)
    return escape_error("surrogate in an escape: no UTF-8 text can hold it");
  append_code_point(result, *value);
  offset += digits;
  return {};
}

void append_octal_escape(std::string& result, std::string_view text, size_t& offset) {
  uint32_t value = 0;
  for (int i = 0; i < 3 && offset < text.size() && text[offset] >= '0' && text[offset] <= '7'; ++i)
    value = value << 3 | static_cast<uint32_t>(text[offset++] - '0');
  append_code_point(result, value);
}

// Jinja spells characters beyond ASCII as escapes before it unescapes, so a backslash before one escapes that
// spelling's backslash: '\é' comes out as the four characters \xe9.
void append_spelled_out(std::string& result, char32_t c) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto [letter, digits] = c < 0x100     ? std::pair('x', 2)
                                : c < 0x10000 ? std::pair('u', 4)
                                              : std::pair('U', 8);
  result += '\\';
  result += letter;
  for (int i = digits - 1; i >= 0; --i) result += kHex[c >> (4 * i) & 0xF];
}

}  // namespace

Result<std::string> unescape_string_literal(std::string_view text) {
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    if (text[offset] != '\\') {
      result += text[offset++];
      continue;
    }
    if (++offset == text.size()) return escape_error("\\ at end of string");
    const char c = text[offset];
    if (static_cast<unsigned char>(c) >= 0x80) {
      append_spelled_out(result, next_code_point(text, offset));
      continue;
    }
    if (c >= '0' && c <= '7') {
      append_octal_escape(result, text, offset);
      continue;
    }
    ++offset;
    switch (c) {
      case '\n': break;
      case '\\':
      case '\'':
      case '"': result += c; break;
      case 'a': result += '\a'; break;
      case 'b': result += '\b'; break;
      case 'f': result += '\f'; break;
      case 'n': result += '\n'; break;
      case 'r': result += '\r'; break;
      case 't': result += '\t'; break;
      case 'v': result += '\v'; break;
      case 'x': AMPHORA_TRY(append_hex_escape(result, text, offset, 2)); break;
      case 'u': AMPHORA_TRY(append_hex_escape(result, text, offset, 4)); break;
      case 'U': AMPHORA_TRY(append_hex_escape(result, text, offset, 8)); break;
      case 'N':
        return coded_error(Fault::kUnsupported, "TemplateSyntax", "\\N{...} escapes are not supported");
      default: result += '\\', result += c;
    }
  }
  return result;
}

}  // namespace amphora::text::jinja
