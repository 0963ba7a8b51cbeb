// One number in a formatted text: see format_number.h.
#include "text/jinja/format_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/number.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

std::string sign_text(bool is_negative, char sign) {
  if (is_negative) return "-";
  return sign == 0 || sign == '-' ? std::string() : std::string(1, sign);
}

std::unexpected<Error> unknown_code(char type, std::string_view type_text) {
  return render_error("Unknown format code '" + std::string(1, type) + "' for object of type '" +
                      std::string(type_text) + "'");
}

// Separates the first `count` digits into groups: "1234567.5" to "1,234,567.5". Zeros that fill the width are
// grouped too, and no separator comes first.
void group_digits(NumberText& number, size_t count, size_t group, const FormatSpec& spec) {
  const std::string rest = number.digits.substr(count);
  size_t wanted = count;
  if (spec.fill == "0" && spec.align == '=') {
    const size_t others = number.prefix.size() + rest.size();
    while (others + wanted + (wanted - 1) / group < spec.width) ++wanted;
  }
  std::string grouped;
  for (size_t left = wanted; left > 0; --left) {
    grouped += left > count ? '0' : number.digits[count - left];
    if (left > 1 && left % group == 1) grouped += spec.grouping;
  }
  number.digits = grouped + rest;
}

// The character of a code point.
Result<NumberText> format_character(const Value& value, const FormatSpec& spec) {
  if (spec.sign != 0) return render_error("Sign not allowed with integer format specifier 'c'");
  if (spec.alternate) return render_error("Alternate form (#) not allowed with integer format specifier 'c'");
  if (!value.is_integral() || value.as_integer() < 0 || value.as_integer() > 0x10FFFF)
    return render_error("%c arg not in range(0x110000)");
  const auto code_point = static_cast<char32_t>(value.as_integer());
  if (code_point >= 0xD800 && code_point < 0xE000)
    return unsupported_error("a surrogate character is not supported");
  NumberText text;
  append_code_point(text.digits, code_point);
  return text;
}

std::string digits_in_base(uint64_t value, char type) {
  switch (type) {
    case 'b': return fmt::format("{:b}", value);
    case 'o': return fmt::format("{:o}", value);
    case 'x': return fmt::format("{:x}", value);
    default: return fmt::format("{:X}", value);
  }
}

// As C's printf writes a magnitude; `type` is one of eEfF.
std::string printed(double magnitude, char type, int precision, bool alternate) {
  const bool is_fixed = type == 'f' || type == 'F';
  std::string text =
      print_float(magnitude, is_fixed ? std::chars_format::fixed : std::chars_format::scientific, precision);
  if (alternate && precision == 0 && std::isfinite(magnitude))
    text.insert(std::min(text.find('e'), text.size()), 1, '.');
  if (type == 'E' || type == 'F')
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

void strip_zeros(std::string& decimals, size_t kept_decimals) {
  const size_t point = decimals.find('.');
  if (point == std::string::npos) return;
  while (decimals.size() > point + 1 + kept_decimals && decimals.back() == '0') decimals.pop_back();
  if (decimals.back() == '.') decimals.pop_back();
}

// As few digits as 'g' and 'G' write; `exponent_type` is one of eE. Without a type there is always a decimal,
// which takes one of the digits.
std::string general(double magnitude, char exponent_type, int precision, bool alternate, bool has_decimal) {
  const int count = std::max(1, precision);
  std::string scientific = printed(magnitude, exponent_type, count - 1, alternate);
  if (!std::isfinite(magnitude)) return scientific;
  const size_t mantissa_end = scientific.find(exponent_type);
  const size_t sign_end = mantissa_end + (scientific[mantissa_end + 1] == '+' ? 2 : 1);
  int exponent = 0;
  std::from_chars(scientific.data() + sign_end, scientific.data() + scientific.size(), exponent);
  if (exponent < -4 || exponent >= count - (has_decimal ? 1 : 0)) {
    std::string mantissa = scientific.substr(0, mantissa_end);
    if (!alternate) strip_zeros(mantissa, 0);
    return mantissa + scientific.substr(mantissa_end);
  }
  std::string fixed = printed(magnitude, 'f', count - 1 - exponent, alternate);
  if (!alternate) strip_zeros(fixed, has_decimal ? 1 : 0);
  return fixed;
}

std::string shortest(double magnitude, bool alternate) {
  std::string digits = repr_of_float(magnitude);
  const size_t e = digits.find('e');
  if (alternate && e != std::string::npos && !digits.contains('.')) digits.insert(e, 1, '.');
  return digits;
}

Result<std::string> float_digits(double magnitude, const FormatSpec& spec) {
  const auto precision = static_cast<int>(spec.precision.value_or(6));
  switch (spec.type) {
    case 'e':
    case 'E':
    case 'f':
    case 'F': return printed(magnitude, spec.type, precision, spec.alternate);
    case 'g':
    case 'n': return general(magnitude, 'e', precision, spec.alternate, /*has_decimal=*/false);
    case 'G': return general(magnitude, 'E', precision, spec.alternate, /*has_decimal=*/false);
    case '%': return printed(magnitude * 100, 'f', precision, spec.alternate) + "%";
    case 0:
      if (!spec.precision) return shortest(magnitude, spec.alternate);
      return general(magnitude, 'e', precision, spec.alternate, /*has_decimal=*/true);
    default: return unknown_code(spec.type, "float");
  }
}

// Whether the digits before an exponent are all zeros.
bool is_zero(std::string_view digits) {
  return digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

Result<NumberText> format_integer(const Value& value, const FormatSpec& spec) {
  if (spec.coerces_zero)
    return render_error("Negative zero coercion (z) not allowed in format specifier with integer");
  if (spec.type == 'c') return format_character(value, spec);
  const std::string decimal = decimal_digits(value);
  const bool is_negative = decimal.starts_with('-');
  NumberText text{sign_text(is_negative, spec.sign), decimal.substr(is_negative ? 1 : 0)};
  const bool is_decimal = spec.type == 0 || spec.type == 'd' || spec.type == 'n';
  if (!is_decimal) {
    if (std::string_view("boxX").find(spec.type) == std::string_view::npos)
      return unknown_code(spec.type, "int");
    if (!value.is_integral()) return integer_overflow();
    uint64_t magnitude = 0;  // unsigned: that of the least integer has no signed type
    std::from_chars(text.digits.data(), text.digits.data() + text.digits.size(), magnitude);
    text.digits = digits_in_base(magnitude, spec.type);
    if (spec.alternate) text.prefix += {'0', spec.type};
  }
  if (spec.grouping != 0) group_digits(text, text.digits.size(), is_decimal ? 3 : 4, spec);
  return text;
}

Result<NumberText> format_float(double value, const FormatSpec& spec) {
  if (spec.precision.value_or(0) > kMaxDecimals)
    return limit_error("limit of float precision exceeded (" + std::to_string(kMaxDecimals) + ")");
  NumberText text;
  AMPHORA_ASSIGN(text.digits, float_digits(std::isnan(value) ? value : std::fabs(value), spec));
  const bool is_negative = std::signbit(value) && !std::isnan(value);
  text.prefix = sign_text(is_negative && !(spec.coerces_zero && is_zero(text.digits)), spec.sign);
  if (spec.grouping != 0 && std::isfinite(value))
    group_digits(text, std::min(text.digits.find_first_not_of("0123456789"), text.digits.size()), 3, spec);
  return text;
}

void append_number(TextBuilder& out, const NumberText& number, const FormatSpec& spec) {
  if (spec.align != '=') return append_padded(out, number.prefix + number.digits, spec, '>');
  const size_t characters = number.prefix.size() + count_code_points(number.digits);
  out.append(number.prefix);
  out.append_repeated(spec.fill, spec.width > characters ? spec.width - characters : 0);
  out.append(number.digits);
}

}  // namespace amphora::text::jinja
