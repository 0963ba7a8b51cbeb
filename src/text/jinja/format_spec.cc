// One conversion of a formatted text: see format_spec.h.
#include "text/jinja/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

// Digits that a double can have: more would only be zeros, at a cost.
constexpr uint64_t kMaxPrecision = 1100;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

std::string with_sign(std::string digits, bool negative, char sign) {
  if (negative) return "-" + digits;
  return sign == 0 || sign == '-' ? digits : std::string(1, sign) + digits;
}

// "1234567.5" to "1,234,567.5".
std::string grouped(std::string digits, char separator, size_t group) {
  const size_t end = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  for (size_t at = end; at > group;) digits.insert(at -= group, 1, separator);
  return digits;
}

std::unexpected<Error> unknown_code(char type, std::string_view type_text) {
  return render_error("Unknown format code '" + std::string(1, type) + "' for object of type '" +
                      std::string(type_text) + "'");
}

}  // namespace

Result<std::optional<uint64_t>> take_number(std::string_view text, size_t& offset) {
  if (offset >= text.size() || text[offset] < '0' || text[offset] > '9') return std::nullopt;
  uint64_t value = 0;
  for (; offset < text.size() && text[offset] >= '0' && text[offset] <= '9'; ++offset) {
    value = value * 10 + static_cast<uint64_t>(text[offset] - '0');
    if (value > kMaxTextBytes)
      return limit_error("limit of text bytes exceeded (" + std::to_string(kMaxTextBytes) + ")");
  }
  return value;
}

Result<FormatSpec> parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t offset = 0;
  size_t after_fill = 0;
  if (!text.empty()) next_code_point(text, after_fill);
  const bool has_fill = after_fill < text.size() && is_align(text[after_fill]);
  if (has_fill) {
    spec.fill = text.substr(0, after_fill);
    spec.align = text[after_fill];
    offset = after_fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    offset = 1;
  }
  const auto next_is = [&](char c) { return offset < text.size() && text[offset] == c; };
  if (next_is('+') || next_is('-') || next_is(' ')) spec.sign = text[offset++];
  if (next_is('#')) spec.alternate = true, ++offset;
  if (next_is('0') && !has_fill) {
    spec.fill = "0";
    if (spec.align == 0) spec.align = '=';
    ++offset;
  }
  AMPHORA_ASSIGN(const auto width, take_number(text, offset));
  spec.width = width.value_or(0);
  if (next_is(',') || next_is('_')) spec.grouping = text[offset++];
  if (next_is('.')) {
    ++offset;
    AMPHORA_ASSIGN(spec.precision, take_number(text, offset));
    if (!spec.precision) return render_error("Format specifier missing precision");
  }
  if (offset < text.size()) spec.type = text[offset++];
  if (offset != text.size()) return render_error("Invalid format specifier");
  return spec;
}

// The character of a code point.
Result<std::string> format_character(int64_t value, const FormatSpec& spec) {
  if (spec.sign != 0) return render_error("Sign not allowed with integer format specifier 'c'");
  if (spec.alternate) return render_error("Alternate form (#) not allowed with integer format specifier 'c'");
  if (spec.grouping != 0)
    return render_error(std::string("Cannot specify '") + spec.grouping + "' with 'c'.");
  if (value < 0 || value > 0x10FFFF) return render_error("%c arg not in range(0x110000)");
  if (value >= 0xD800 && value < 0xE000) return unsupported_error("a surrogate character is not supported");
  std::string text;
  append_code_point(text, static_cast<char32_t>(value));
  return text;
}

Result<std::string> format_integer(int64_t value, const FormatSpec& spec) {
  const bool negative = value < 0;
  const uint64_t magnitude = negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  std::string digits, prefix;
  size_t group = 3;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n': digits = std::to_string(magnitude); break;
    case 'b': digits = fmt::format("{:b}", magnitude), prefix = "0b", group = 4; break;
    case 'o': digits = fmt::format("{:o}", magnitude), prefix = "0o", group = 4; break;
    case 'x': digits = fmt::format("{:x}", magnitude), prefix = "0x", group = 4; break;
    case 'X': digits = fmt::format("{:X}", magnitude), prefix = "0X", group = 4; break;
    case 'c': return format_character(value, spec);
    default: return unknown_code(spec.type, "int");
  }
  if (spec.grouping != 0) digits = grouped(std::move(digits), spec.grouping, group);
  return with_sign((spec.alternate ? prefix : std::string()) + digits, negative, spec.sign);
}

Result<std::string> format_big_integer(std::string_view digits, const FormatSpec& spec) {
  if (spec.type != 0 && spec.type != 'd' && spec.type != 'n')
    return render_error("integer does not fit 64 bits");
  const bool negative = digits.starts_with('-');
  std::string magnitude(digits.substr(negative ? 1 : 0));
  if (spec.grouping != 0) magnitude = grouped(std::move(magnitude), spec.grouping, 3);
  return with_sign(std::move(magnitude), negative, spec.sign);
}

Result<std::string> format_float(double value, const FormatSpec& spec) {
  if (spec.precision.value_or(0) > kMaxPrecision)
    return limit_error("limit of float precision exceeded (" + std::to_string(kMaxPrecision) + ")");
  const auto precision = static_cast<int>(spec.precision.value_or(6));
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::isnan(value) ? value : std::fabs(value);
  std::string digits;
  switch (spec.type) {
    case 'e': digits = fmt::format("{:.{}e}", magnitude, precision); break;
    case 'E': digits = fmt::format("{:.{}E}", magnitude, precision); break;
    case 'f': digits = fmt::format("{:.{}f}", magnitude, precision); break;
    case 'F': digits = fmt::format("{:.{}F}", magnitude, precision); break;
    case 'g':
    case 'n': digits = fmt::format("{:.{}g}", magnitude, precision); break;
    case 'G': digits = fmt::format("{:.{}G}", magnitude, precision); break;
    case '%': digits = fmt::format("{:.{}f}%", magnitude * 100, precision); break;
    case 0:
      if (!spec.precision) {
        digits = repr_of_float(magnitude);
      } else {
        digits = fmt::format("{:.{}g}", magnitude, precision);
        if (std::isfinite(magnitude) && digits.find_first_of(".e") == std::string::npos) digits += ".0";
      }
      break;
    default: return unknown_code(spec.type, "float");
  }
  if (spec.grouping != 0 && std::isfinite(magnitude)) digits = grouped(std::move(digits), spec.grouping, 3);
  return with_sign(std::move(digits), negative, spec.sign);
}

void append_padded(TextBuilder& out, std::string_view text, const FormatSpec& spec, char otherwise) {
  const size_t characters = count_code_points(text);
  const uint64_t padding = spec.width > characters ? spec.width - characters : 0;
  switch (spec.align != 0 ? spec.align : otherwise) {
    case '<': out.append(text); return out.append_repeated(spec.fill, padding);
    case '^':
      out.append_repeated(spec.fill, padding / 2);
      out.append(text);
      return out.append_repeated(spec.fill, padding - padding / 2);
    case '=': {
      size_t prefix = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
      if (text.size() > prefix + 1 && text[prefix] == '0' && spec.alternate) prefix += 2;
      out.append(text.substr(0, prefix));
      out.append_repeated(spec.fill, padding);
      return out.append(text.substr(prefix));
    }
    default: out.append_repeated(spec.fill, padding); return out.append(text);
  }
}

std::string_view cut_to_precision(std::string_view text, const FormatSpec& spec) {
  return spec.precision ? text.substr(0, offset_of_code_point(text, *spec.precision)) : text;
}

}  // namespace amphora::text::jinja
