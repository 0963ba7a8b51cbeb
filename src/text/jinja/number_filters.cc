// Filters on numbers: see filters.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "text/jinja/arguments.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

std::unexpected<Error> integer_overflow() { return render_error("integer does not fit 64 bits"); }

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

enum class Parsed : uint8_t { kInvalid, kTooLarge, kValid };

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

// Python's int(text, base).
Parsed parse_integer(std::string_view raw, int64_t base, int64_t& value) {
  const std::string with_digits = with_ascii_digits(strip_left(strip_right(raw)));
  std::string_view text = with_digits;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == named || base == 0)) {
      base = named;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) return Parsed::kInvalid;
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || digits->front() == '-') return Parsed::kInvalid;
  const std::string whole = (negative ? "-" : "") + *digits;
  const auto [end, error] =
      std::from_chars(whole.data(), whole.data() + whole.size(), value, static_cast<int>(base));
  if (end != whole.data() + whole.size()) return Parsed::kInvalid;
  return error == std::errc::result_out_of_range ? Parsed::kTooLarge : Parsed::kValid;
}

// Python's float(text).
std::optional<double> parse_float(std::string_view raw) {
  const auto text = without_underscores(with_ascii_digits(strip_left(strip_right(raw))));
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty() || rest.front() == '-' || rest.find('(') != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size()) return std::nullopt;
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(rest).c_str(), nullptr);
  return negative ? -value : value;
}

// float(value), empty where that is a TypeError or ValueError.
Result<std::optional<double>> to_float(const Value& value) {
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) return value.as_float();
  if (value.is_string()) return parse_float(value.text());
  if (value.is(Kind::kBigInteger)) return parse_float(value.as<BigIntegerObject>().digits);
  return std::nullopt;
}

Result<Value> filter_int(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("int", arguments, {"default", "base"}));
  int64_t base = 10;
  if (const Value* value = bound.find(1)) {
    AMPHORA_ASSIGN(base, expect_integer(*value));
  }
  if (self.is_integral()) return Value::integer(self.as_integer());
  if (self.is(Kind::kBigInteger)) return self;
  if (self.is_string()) {
    runtime.budget().spend_bytes(self.text().size());
    int64_t value = 0;
    const Parsed parsed = parse_integer(self.text(), base, value);
    if (parsed == Parsed::kTooLarge) return integer_overflow();
    if (parsed == Parsed::kValid) return Value::integer(value);
  }
  AMPHORA_ASSIGN(const auto number, to_float(self));
  if (!number || !std::isfinite(*number))
    return bound.find(0) == nullptr ? Value::integer(0) : *bound.find(0);
  if (!(std::fabs(*number) < 0x1p63)) return integer_overflow();
  return Value::integer(static_cast<int64_t>(*number));
}

Result<Value> filter_float(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("float", arguments, {"default"}));
  if (self.is_string()) runtime.budget().spend_bytes(self.text().size());
  AMPHORA_ASSIGN(const auto number, to_float(self));
  if (number) return Value::floating(*number);
  return bound.find(0) == nullptr ? Value::floating(0.0) : *bound.find(0);
}

Result<Value> filter_abs(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("abs", arguments, {}));
  if (self.is(Kind::kFloat)) return Value::floating(std::fabs(self.as_float()));
  if (!self.is_integral()) return render_error("bad operand type for abs(): '" + type_name(self) + "'");
  if (self.as_integer() == std::numeric_limits<int64_t>::min()) return integer_overflow();
  return Value::integer(std::abs(self.as_integer()));
}

// Python's round(value, digits) for floats: ties of the exact decimal value go to even.
double round_float(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -330) return std::copysign(0.0, value);
  if (digits >= 0) return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / unit) * unit;
}

// Rounding of integers to tens, hundreds …: ties go to even.
Result<Value> round_integer(int64_t value, int64_t digits) {
  if (digits >= 0) return Value::integer(value);
  if (digits < -18) return Value::integer(0);
  int64_t unit = 1;
  for (int64_t i = 0; i < -digits; ++i) unit *= 10;
  int64_t quotient = value / unit;
  int64_t remainder = value % unit;
  if (remainder < 0) {
    remainder += unit;
    --quotient;
  }
  if (remainder > unit / 2 || (remainder == unit / 2 && quotient % 2 != 0)) ++quotient;
  int64_t result = 0;
  if (__builtin_mul_overflow(quotient, unit, &result)) return integer_overflow();
  return Value::integer(result);
}

Result<Value> filter_round(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("round", arguments, {"precision", "method"}));
  int64_t precision = 0;
  if (const Value* value = bound.find(0)) {
    AMPHORA_ASSIGN(precision, expect_integer(*value));
  }
  std::string_view method = "common";
  if (const Value* value = bound.find(1)) {
    AMPHORA_ASSIGN(method, expect_string(*value, "method"));
  }
  if (method != "common" && method != "ceil" && method != "floor")
    return render_error("method must be common, ceil or floor");
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is_number()) return render_error("type " + type_name(self) + " doesn't define __round__ method");
  if (method == "common") {
    if (self.is_integral()) return round_integer(self.as_integer(), precision);
    return Value::floating(round_float(self.as_float(), precision));
  }
  // The integer times a power of ten is an integer too, however large.
  if (self.is_integral() && precision >= 0) return Value::floating(self.as_float());
  // Python's power is an integer where it is above one; so is what it divides by it in the end, and that
  // quotient is rounded once. Decimal text does the same.
  const double scale = precision < 0 ? std::pow(10.0, static_cast<double>(precision))
                                     : std::strtod(fmt::format("1e{}", precision).c_str(), nullptr);
  const double scaled = self.as_float() * scale;
  if (!std::isfinite(scaled)) return render_error("cannot convert float infinity to integer");
  const double whole = (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0;  // no negative zero
  if (precision < 0) return Value::floating(whole / scale);
  return Value::floating(std::strtod(fmt::format("{:.0f}e-{}", whole, precision).c_str(), nullptr));
}

Result<Value> filter_file_size(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("filesizeformat", arguments, {"binary"}));
  AMPHORA_ASSIGN(const auto bytes, to_float(self));
  if (!bytes || !std::isfinite(*bytes)) return render_error("could not convert to float");
  const bool binary = bound.flag(0, false);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return runtime.string("1 Byte");
  if (*bytes < base) return runtime.string(fmt::format("{:.0f} Bytes", std::trunc(*bytes)));
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  size_t index = 0;
  while (index + 1 < kPrefixes.size() && *bytes >= unit * base) {
    unit *= base;
    ++index;
  }
  const char prefix = binary && index == 0 ? 'K' : kPrefixes[index];
  return runtime.string(fmt::format("{:.1f} {}{}", *bytes / unit, prefix, binary ? "iB" : "B"));
}

}  // namespace

std::span<const FunctionEntry> number_filters() {
  static constexpr FunctionEntry kFilters[] = {{"abs", filter_abs},
                                               {"filesizeformat", filter_file_size},
                                               {"float", filter_float},
                                               {"int", filter_int},
                                               {"round", filter_round}};
  return kFilters;
}

}  // namespace amphora::text::jinja
