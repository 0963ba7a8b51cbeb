// Python's numbers: see number.h.
#include "text/jinja/number.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

bool fits_64_bits(double value) { return value >= -0x1p63 && value < 0x1p63; }

// All the digits of a float without a fraction.
std::string digits_of(double whole) { return print_float(whole, std::chars_format::fixed, 0); }

const std::string& digits_of(const Value& big) { return big.as<BigIntegerObject>().digits; }

int sign_of(const Value& big) { return digits_of(big).starts_with('-') ? -1 : 1; }

template <class T>
int order_of(const T& a, const T& b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_digits(std::string_view a, std::string_view b) {
  const bool is_negative = a.starts_with('-');
  if (is_negative != b.starts_with('-')) return is_negative ? -1 : 1;
  const int order = a.size() != b.size() ? order_of(a.size(), b.size()) : order_of(a, b);
  return is_negative ? -order : order;
}

int compare_integers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return order_of(a.as_integer(), b.as_integer());
  if (a.is_integral()) return -sign_of(b);
  if (b.is_integral()) return sign_of(a);
  return compare_digits(digits_of(a), digits_of(b));
}

std::optional<int> compare_with_float(const Value& integer, double number) {
  if (std::isnan(number)) return std::nullopt;
  if (!fits_64_bits(number)) {
    if (integer.is_integral() || std::isinf(number)) return number > 0 ? -1 : 1;
    return compare_digits(digits_of(integer), digits_of(number));
  }
  if (!integer.is_integral()) return sign_of(integer);
  const double whole = std::trunc(number);
  const int order = order_of(integer.as_integer(), static_cast<int64_t>(whole));
  return order != 0 ? order : order_of(whole, number);
}

}  // namespace

std::unexpected<Error> integer_overflow() { return render_error("integer does not fit 64 bits"); }

Value make_integer(Budget* budget, std::string digits) {
  int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc{})
    return Value::integer(value);
  return Value::with_object(Kind::kBigInteger, std::make_shared<BigIntegerObject>(budget, std::move(digits)));
}

Value make_truncated(Budget* budget, double value) {
  if (fits_64_bits(value)) return Value::integer(static_cast<int64_t>(value));
  return make_integer(budget, digits_of(std::trunc(value)));
}

std::string decimal_digits(const Value& integer) {
  return integer.is(Kind::kBigInteger) ? digits_of(integer) : std::to_string(integer.as_integer());
}

Value negated(Budget* budget, const Value& integer) {
  std::string digits = decimal_digits(integer);
  if (digits.starts_with('-')) return make_integer(budget, digits.substr(1));
  return make_integer(budget, "-" + digits);
}

Value magnitude_of(Budget* budget, const Value& integer) {
  const std::string digits = decimal_digits(integer);
  return make_integer(budget, digits.substr(digits.starts_with('-') ? 1 : 0));
}

std::string print_float(double value, std::chars_format format, int decimals) {
  constexpr int kMostDigits = std::numeric_limits<double>::max_exponent10 + kMaxDecimals;
  std::array<char, kMostDigits + 8> text;  // beside them a sign, a point, "e+308"
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, decimals).ptr;
  return {text.data(), end};
}

double read_float(std::string_view digits) {
  double value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc{}) return value;
  return std::strtod(std::string(digits).c_str(), nullptr);
}

Result<double> to_double(const Value& number) {
  if (!number.is(Kind::kBigInteger)) return number.as_float();
  const double value = read_float(digits_of(number));
  if (std::isinf(value)) return render_error("int too large to convert to float");
  return value;
}

double divide_integers(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t value) {
    return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  };
  const uint64_t dividend = magnitude(a), divisor = magnitude(b);
  // A quotient of at least 55 bits has two more than a float holds. With the last of them set where the
  // division leaves a remainder, the conversion rounds as the exact quotient would.
  const int shift = std::max(
      0, 55 + static_cast<int>(std::bit_width(divisor)) - static_cast<int>(std::bit_width(dividend)));
  const auto scaled = static_cast<unsigned __int128>(dividend) << shift;
  auto quotient = static_cast<uint64_t>(scaled / divisor);
  if (scaled % divisor != 0) quotient |= 1;
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -result : result;
}

std::optional<int> compare_numbers(const Value& a, const Value& b) {
  if (!a.is(Kind::kFloat) && !b.is(Kind::kFloat)) return compare_integers(a, b);
  if (!a.is(Kind::kFloat)) return compare_with_float(a, b.as_float());
  if (!b.is(Kind::kFloat)) {
    const auto order = compare_with_float(b, a.as_float());
    return order ? std::optional(-*order) : std::nullopt;
  }
  if (std::isnan(a.as_float()) || std::isnan(b.as_float())) return std::nullopt;
  return order_of(a.as_float(), b.as_float());
}

std::string round_digits(std::string_view digits, uint64_t places, bool has_fraction) {
  if (places == 0) return std::string(digits);
  if (places > digits.size()) return "0";
  const size_t kept_count = digits.size() - static_cast<size_t>(places);
  std::string kept(digits.substr(0, kept_count));
  const std::string_view dropped = digits.substr(kept_count);
  const bool is_odd = !kept.empty() && (kept.back() - '0') % 2 != 0;
  const bool is_half =
      dropped[0] == '5' && !has_fraction && dropped.find_first_not_of('0', 1) == std::string_view::npos;
  if (is_half ? is_odd : dropped[0] >= '5') {
    size_t at = kept.size();
    while (at > 0 && kept[at - 1] == '9') kept[--at] = '0';
    if (at == 0)
      kept.insert(0, 1, '1');
    else
      ++kept[at - 1];
  }
  return kept.empty() ? "0" : kept.append(static_cast<size_t>(places), '0');
}

}  // namespace amphora::text::jinja
