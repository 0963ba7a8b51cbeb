// Numbers out of text and other values: see number_text.h.
#include "text/jinja/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/number.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

// Other digits than ASCII's are looked up one by one.
void pay_for_digits(Budget& budget, std::string_view text) {
  const bool is_ascii = count_code_points(text) == text.size();
  budget.spend_bytes((is_ascii ? 2 : 16) * text.size());
}

// Digits with single underscores between them, without these; empty if they stand elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
      continue;
    }
    const auto is_alnum_ascii = [](char c) {
      return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    };
    if (i == 0 || i + 1 == text.size() || !is_alnum_ascii(text[i - 1]) || !is_alnum_ascii(text[i + 1]))
      return std::nullopt;
  }
  return result;
}

// Python reads the decimal digits of every script. They come in runs from zero to nine.
std::string with_ascii_digits(std::string_view text) {
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    const size_t start = offset;
    const char32_t c = next_code_point(text, offset);
    if (c < 0x80 || !is_decimal(c)) {
      result += text.substr(start, offset - start);
      continue;
    }
    uint32_t digit = 0;
    while (is_decimal(c - digit - 1)) ++digit;
    result += static_cast<char>('0' + digit % 10);
  }
  return result;
}

bool takes_sign(std::string_view& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

// "0x1F" and the like, where the base agrees; base 0 means the prefix's own.
void take_base_prefix(std::string_view& text, int64_t& base) {
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == named || base == 0)) {
      base = named;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
}

}  // namespace

Result<std::optional<Value>> parse_integer(Budget* budget, std::string_view text, int64_t base) {
  pay_for_digits(*budget, text);
  const std::string stripped = with_ascii_digits(strip_left(strip_right(text)));
  std::string_view rest = stripped;
  const bool is_negative = takes_sign(rest);
  take_base_prefix(rest, base);
  if (base < 2 || base > 36) return std::nullopt;
  const auto digits = without_underscores(rest);
  if (!digits || digits->empty() || digits->front() == '-') return std::nullopt;
  const std::string whole = (is_negative ? "-" : "") + *digits;
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(whole.data(), whole.data() + whole.size(), value, static_cast<int>(base));
  if (end != whole.data() + whole.size()) return std::nullopt;
  if (error == std::errc{}) return Value::integer(value);
  const size_t first = digits->find_first_not_of('0');
  if (base != 10 || digits->size() - first > std::numeric_limits<double>::max_exponent10 + 1)
    return integer_overflow();
  return make_integer(budget, (is_negative ? "-" : "") + digits->substr(first));
}

std::optional<double> parse_float(Budget* budget, std::string_view raw) {
  pay_for_digits(*budget, raw);
  const auto text = without_underscores(with_ascii_digits(strip_left(strip_right(raw))));
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const bool is_negative = takes_sign(rest);
  if (rest.empty() || rest.front() == '-' || rest.contains('(')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = read_float(rest);
  return is_negative ? -value : value;
}

Result<Value> to_integer(Budget* budget, const Value& value) {
  if (value.is(Kind::kFloat)) {
    if (std::isfinite(value.as_float())) return make_truncated(budget, value.as_float());
    return render_error("cannot convert float " + repr_of_float(value.as_float()) + " to integer");
  }
  if (value.is_number()) return make_integer(budget, decimal_digits(value));
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_string())
    return render_error("int() argument must be a string, a bytes-like object or a real number, not '" +
                        type_name(value) + "'");
  AMPHORA_ASSIGN(const auto integer, parse_integer(budget, value.text(), 10));
  if (integer) return *integer;
  return render_error("invalid literal for int() with base 10: " + repr_of_text(value.text()));
}

Result<double> to_float(Budget* budget, const Value& value) {
  if (value.is_number()) return to_double(value);
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_string())
    return render_error("float() argument must be a string or a real number, not '" + type_name(value) + "'");
  if (const auto number = parse_float(budget, value.text())) return *number;
  return render_error("could not convert string to float: " + repr_of_text(value.text()));
}

}  // namespace amphora::text::jinja
