// Filters on numbers: see filters.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "text/jinja/arguments.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/number.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

// float(value), empty where that is a TypeError or ValueError; an OverflowError is an error.
Result<std::optional<double>> find_float(Budget* budget, const Value& value) {
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) return to_double(value);
  if (value.is_string()) return parse_float(budget, value.text());
  return std::nullopt;
}

// int(text, base). What is no base is a TypeError, which the filter takes like a text that is no integer.
Result<std::optional<Value>> find_integer(Budget* budget, std::string_view text, const Value* base) {
  if (base == nullptr) return parse_integer(budget, text, 10);
  if (!base->is_number() || base->is(Kind::kFloat)) return std::nullopt;
  AMPHORA_ASSIGN(const int64_t number, expect_clamped_integer(*base));
  return parse_integer(budget, text, number);
}

Result<Value> filter_int(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("int", arguments, {"default", "base"}));
  Budget* budget = &runtime.budget();
  if (self.is_string()) {
    AMPHORA_ASSIGN(const auto integer, find_integer(budget, self.text(), bound.find(1)));
    if (integer) return *integer;
  } else if (self.is_number() && !self.is(Kind::kFloat)) {
    return make_integer(budget, decimal_digits(self));
  }
  AMPHORA_ASSIGN(const auto number, find_float(&runtime.budget(), self));
  if (number && std::isfinite(*number)) return make_truncated(budget, *number);
  if (number && std::isinf(*number) && !self.is_string())
    return render_error("cannot convert float infinity to integer");
  return bound.find(0) == nullptr ? Value::integer(0) : *bound.find(0);
}

Result<Value> filter_float(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("float", arguments, {"default"}));
  AMPHORA_ASSIGN(const auto number, find_float(&runtime.budget(), self));
  if (number) return Value::floating(*number);
  return bound.find(0) == nullptr ? Value::floating(0.0) : *bound.find(0);
}

Result<Value> filter_abs(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("abs", arguments, {}));
  if (self.is(Kind::kFloat)) return Value::floating(std::fabs(self.as_float()));
  if (!self.is_number()) return render_error("bad operand type for abs(): '" + type_name(self) + "'");
  return magnitude_of(&runtime.budget(), self);
}

// Python's round(value, places) for floats: ties of the exact decimal value go to even.
Result<double> round_float(double value, int64_t places) {
  if (!std::isfinite(value) || places > 330) return value;
  if (places >= 0) return read_float(print_float(value, std::chars_format::fixed, static_cast<int>(places)));
  const double whole = std::trunc(std::fabs(value));
  const std::string digits =
      round_digits(print_float(whole, std::chars_format::fixed, 0), 0 - static_cast<uint64_t>(places),
                   /*has_fraction=*/whole != std::fabs(value));
  const double rounded = read_float(digits);
  if (std::isinf(rounded)) return render_error("rounded value too large to represent");
  return std::copysign(rounded, value);
}

// Of integers, which only tens, hundreds … can round.
Value round_integer(Budget* budget, const Value& value, int64_t places) {
  if (places >= 0) return make_integer(budget, decimal_digits(value));
  const std::string digits = decimal_digits(value);
  const bool is_negative = digits.starts_with('-');
  const std::string_view magnitude = std::string_view(digits).substr(is_negative ? 1 : 0);
  const std::string rounded =
      round_digits(magnitude, 0 - static_cast<uint64_t>(places), /*has_fraction=*/false);
  return make_integer(budget, (is_negative ? "-" : "") + rounded);
}

// Upwards or downwards to a decimal place, which always gives a float.
Result<double> round_towards(const Value& value, int64_t places, double (*whole_of)(double)) {
  AMPHORA_ASSIGN(const double number, to_double(value));
  // An integer times a power of ten is an integer too, however large.
  if (!value.is(Kind::kFloat) && places >= 0) return number;
  // Python's power is an integer where it is above one; so is what it divides by it in the end, and that
  // quotient is rounded once. Decimal text does the same.
  const double scale =
      places < 0 ? std::pow(10.0, static_cast<double>(places)) : read_float(fmt::format("1e{}", places));
  const double scaled = number * scale;
  if (!std::isfinite(scaled)) return render_error("cannot convert float infinity to integer");
  if (scale == 0) return render_error("division by zero");
  const double whole = whole_of(scaled) + 0.0;  // no negative zero
  if (places < 0) return whole / scale;
  return read_float(print_float(whole, std::chars_format::fixed, 0) + fmt::format("e-{}", places));
}

Result<Value> filter_round(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("round", arguments, {"precision", "method"}));
  int64_t places = 0;
  if (const Value* value = bound.find(0)) {
    AMPHORA_ASSIGN(places, expect_clamped_integer(*value));
  }
  std::string_view method = "common";
  if (const Value* value = bound.find(1)) {
    AMPHORA_ASSIGN(method, expect_string(*value, "method"));
  }
  if (method != "common" && method != "ceil" && method != "floor")
    return render_error("method must be common, ceil or floor");
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is_number()) return render_error("type " + type_name(self) + " doesn't define __round__ method");
  if (method == "common" && !self.is(Kind::kFloat)) return round_integer(&runtime.budget(), self, places);
  AMPHORA_ASSIGN(const double rounded,
                 method == "common" ? round_float(self.as_float(), places)
                 : method == "ceil" ? round_towards(self, places, [](double x) { return std::ceil(x); })
                                    : round_towards(self, places, [](double x) { return std::floor(x); }));
  return Value::floating(rounded);
}

Result<Value> filter_file_size(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("filesizeformat", arguments, {"binary"}));
  AMPHORA_ASSIGN(const double bytes, to_float(&runtime.budget(), self));
  const bool is_binary = bound.flag(0, false);
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return runtime.string("1 Byte");
  if (bytes < base) {
    if (std::isinf(bytes)) return render_error("cannot convert float infinity to integer");
    return runtime.string(decimal_digits(make_truncated(&runtime.budget(), bytes)) + " Bytes");
  }
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = 0;  // one prefix further: Jinja multiplies by the base before it divides
  size_t index = 0;
  for (; index < kPrefixes.size(); ++index) {
    const auto power = static_cast<int>(index) + 2;
    unit = is_binary ? std::ldexp(1.0, 10 * power) : read_float(fmt::format("1e{}", 3 * power));
    if (bytes < unit) break;
  }
  index = std::min(index, kPrefixes.size() - 1);
  const char prefix = is_binary && index == 0 ? 'K' : kPrefixes[index];
  return runtime.string(print_float(base * bytes / unit, std::chars_format::fixed, 1) + ' ' + prefix +
                        (is_binary ? "iB" : "B"));
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
