// Arithmetic and order: see operators.h.
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "text/jinja/errors.h"
#include "text/jinja/format.h"
#include "text/jinja/number.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

constexpr std::string_view symbol(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd: return "+";
    case BinaryOperator::kSubtract: return "-";
    case BinaryOperator::kMultiply: return "*";
    case BinaryOperator::kDivide: return "/";
    case BinaryOperator::kFloorDivide: return "//";
    case BinaryOperator::kModulo: return "%";
    case BinaryOperator::kPower: return "** or pow()";
  }
  return "?";
}

std::unexpected<Error> wrong_operands(BinaryOperator op, const Value& left, const Value& right) {
  return render_error("unsupported operand type(s) for " + std::string(symbol(op)) + ": '" + type_name(left) +
                      "' and '" + type_name(right) + "'");
}

struct Quotient {
  double floor, remainder;
};

// Python's divmod for floats: the remainder has the divisor's sign.
Quotient divide_floor(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1;
  return {floor, remainder};
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return render_error("0.0 cannot be raised to a negative power");
    return Value::floating(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return integer_overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return integer_overflow();
  }
  return Value::integer(result);
}

Result<Value> integer_arithmetic(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return integer_overflow();
      return Value::integer(result);
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return integer_overflow();
      return Value::integer(result);
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return integer_overflow();
      return Value::integer(result);
    case BinaryOperator::kDivide:
      if (b == 0) return render_error("division by zero");
      return Value::floating(divide_integers(a, b));
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo: {
      if (b == 0)
        return render_error(op == BinaryOperator::kModulo ? "integer modulo by zero"
                                                          : "integer division or modulo by zero");
      if (b == -1) {  // the quotient of the least integer does not fit
        if (op == BinaryOperator::kModulo) return Value::integer(0);
        if (__builtin_sub_overflow(int64_t{0}, a, &result)) return integer_overflow();
        return Value::integer(result);
      }
      const int64_t remainder = a % b;
      const bool adjusts = remainder != 0 && (remainder < 0) != (b < 0);
      if (op == BinaryOperator::kModulo) return Value::integer(adjusts ? remainder + b : remainder);
      return Value::integer(a / b - (adjusts ? 1 : 0));
    }
    case BinaryOperator::kPower: return integer_power(a, b);
  }
  return integer_overflow();
}

Result<Value> float_arithmetic(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::kAdd: return Value::floating(a + b);
    case BinaryOperator::kSubtract: return Value::floating(a - b);
    case BinaryOperator::kMultiply: return Value::floating(a * b);
    case BinaryOperator::kDivide:
      if (b == 0) return render_error("float division by zero");
      return Value::floating(a / b);
    case BinaryOperator::kFloorDivide:
      if (b == 0) return render_error("float floor division by zero");
      return Value::floating(divide_floor(a, b).floor);
    case BinaryOperator::kModulo:
      if (b == 0) return render_error("float modulo");
      return Value::floating(divide_floor(a, b).remainder);
    case BinaryOperator::kPower: {
      if (a == 0 && b < 0) return render_error("0.0 cannot be raised to a negative power");
      if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::trunc(b) != b)
        return unsupported_error("complex numbers are not supported");
      const double result = std::pow(a, b);
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
        return render_error("(34, 'Numerical result out of range')");
      return Value::floating(result);
    }
  }
  return Value::floating(0);
}

Result<Value> add_strings(Runtime& runtime, const Value& left, const Value& right) {
  const bool markup = left.is_markup() || right.is_markup();
  TextBuilder text(&runtime.budget());
  for (const Value* part : {&left, &right}) {
    // Safe HTML stays safe only if what joins it is escaped.
    if (markup && !part->is_markup()) {
      append_escaped(text, *part);
    } else {
      text.append(part->text(), part->as<StringObject>().quoted);
    }
  }
  AMPHORA_TRY(runtime.budget().status());
  return runtime.string_of(text.take_quoted(), markup);
}

Result<Value> add_lists(Runtime& runtime, const Value& left, const Value& right) {
  const auto &first = left.items(), &second = right.items();
  if (!runtime.budget().allows((first.size() + second.size()) * sizeof(Value)))
    return runtime.budget().error();
  std::vector<Value> items;
  items.reserve(first.size() + second.size());
  items.insert(items.end(), first.begin(), first.end());
  items.insert(items.end(), second.begin(), second.end());
  return left.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

Result<Value> repeat(Runtime& runtime, const Value& sequence, int64_t times) {
  const uint64_t count = times > 0 ? static_cast<uint64_t>(times) : 0;
  if (sequence.is_string()) {
    TextBuilder text(&runtime.budget());
    text.append_repeated(sequence.text(), count);
    AMPHORA_TRY(runtime.budget().status());
    return same_markup(runtime, text.take(), sequence);
  }
  const auto& items = sequence.items();
  std::vector<Value> result;
  if (!items.empty()) {
    const auto bytes = checked_mul(count, items.size() * sizeof(Value));
    if (!runtime.budget().allows(bytes.value_or(~uint64_t{0}))) return runtime.budget().error();
    result.reserve(count * items.size());
    for (uint64_t i = 0; i < count; ++i) result.insert(result.end(), items.begin(), items.end());
  }
  return sequence.is(Kind::kList) ? runtime.list(std::move(result)) : runtime.tuple(std::move(result));
}

bool is_repeatable(const Value& value) { return value.is_string() || value.is_list_or_tuple(); }

Result<std::optional<int>> order(Budget& budget, const Value& a, const Value& b,
                                 std::string_view symbol_text) {
  budget.spend(1);
  AMPHORA_TRY(budget.status());
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    budget.spend_bytes(std::min(a.text().size(), b.text().size()));
    const int result = a.text().compare(b.text());  // bytes of UTF-8 sort as their code points
    return result < 0 ? -1 : result > 0 ? 1 : 0;
  }
  if (a.kind() == b.kind() && a.is_list_or_tuple()) {
    const auto &left = a.items(), &right = b.items();
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      const bool same = equal(&budget, left[i], right[i]);
      AMPHORA_TRY(budget.status());
      if (!same) return order(budget, left[i], right[i], symbol_text);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  return render_error("'" + std::string(symbol_text) + "' not supported between instances of '" +
                      type_name(a) + "' and '" + type_name(b) + "'");
}

}  // namespace

std::unexpected<Error> undefined_error(const Value& value) {
  return render_error(value.as<UndefinedObject>().message);
}

Status pay_for_case(Budget& budget, std::string_view text) {
  budget.spend_bytes(8 * text.size());
  if (!budget.allows(text.size() * (sizeof(char32_t) + 1))) return budget.error();
  return {};
}

Value same_markup(Runtime& runtime, std::string text, const Value& like) {
  return runtime.string(std::move(text), like.is_markup());
}

Result<Value> apply_binary(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right) {
  if (left.is_undefined()) return undefined_error(left);
  if (op == BinaryOperator::kModulo && left.is_string()) return format_percent(runtime, left, right);
  if (right.is_undefined()) return undefined_error(right);
  if (left.is_integral() && right.is_integral())
    return integer_arithmetic(op, left.as_integer(), right.as_integer());
  if (left.is_number() && right.is_number() && (left.is(Kind::kFloat) || right.is(Kind::kFloat))) {
    AMPHORA_ASSIGN(const double first, to_double(left));
    AMPHORA_ASSIGN(const double second, to_double(right));
    return float_arithmetic(op, first, second);
  }
  if (left.is(Kind::kBigInteger) || right.is(Kind::kBigInteger)) return integer_overflow();
  if (op == BinaryOperator::kAdd) {
    if (left.is_string() && right.is_string()) return add_strings(runtime, left, right);
    if (left.kind() == right.kind() && left.is_list_or_tuple()) return add_lists(runtime, left, right);
    if (left.is_string() || left.is_list_or_tuple())
      return render_error("can only concatenate " + type_name(left) + " (not \"" + type_name(right) +
                          "\") to " + type_name(left));
  }
  if (op == BinaryOperator::kMultiply) {
    if (is_repeatable(left) && right.is_integral()) return repeat(runtime, left, right.as_integer());
    if (left.is_integral() && is_repeatable(right)) return repeat(runtime, right, left.as_integer());
    if (is_repeatable(left) || is_repeatable(right))
      return render_error("can't multiply sequence by non-int of type '" +
                          type_name(is_repeatable(left) ? right : left) + "'");
  }
  return wrong_operands(op, left, right);
}

Result<Value> apply_unary(Runtime& runtime, UnaryOperator op, const Value& operand) {
  if (op == UnaryOperator::kNot) return Value::boolean(!is_true(operand));
  if (operand.is_undefined()) return undefined_error(operand);
  const bool is_minus = op == UnaryOperator::kMinus;
  if (operand.is(Kind::kFloat)) return Value::floating(is_minus ? -operand.as_float() : operand.as_float());
  if (operand.is_number()) {
    Budget* budget = &runtime.budget();
    return is_minus ? negated(budget, operand) : make_integer(budget, decimal_digits(operand));
  }
  return render_error(std::string("bad operand type for unary ") + (is_minus ? "-" : "+") + ": '" +
                      type_name(operand) + "'");
}

Result<bool> compare(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual: return runtime.equals(left, right);
    case Comparison::kNotEqual: return !runtime.equals(left, right);
    case Comparison::kIn: return contains(runtime, right, left);
    case Comparison::kNotIn: {
      AMPHORA_ASSIGN(const bool found, contains(runtime, right, left));
      return !found;
    }
    case Comparison::kLess: {
      AMPHORA_ASSIGN(const auto sign, order(runtime.budget(), left, right, "<"));
      return sign && *sign < 0;
    }
    case Comparison::kLessEqual: {
      AMPHORA_ASSIGN(const auto sign, order(runtime.budget(), left, right, "<="));
      return sign && *sign <= 0;
    }
    case Comparison::kGreater: {
      AMPHORA_ASSIGN(const auto sign, order(runtime.budget(), left, right, ">"));
      return sign && *sign > 0;
    }
    case Comparison::kGreaterEqual: {
      AMPHORA_ASSIGN(const auto sign, order(runtime.budget(), left, right, ">="));
      return sign && *sign >= 0;
    }
  }
  return false;
}

Result<bool> is_less(Budget& budget, const Value& a, const Value& b) {
  AMPHORA_ASSIGN(const auto sign, order(budget, a, b, "<"));
  return sign && *sign < 0;
}

// A merge sort of our own, for comparisons can fail, and NaN has no consistent order: std's sorts forbid
// both.
Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(keys.size()), merged(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, order.size()),
                   end = std::min(middle + width, order.size());
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {  // of equal items the left one comes first
          const Value &a = keys[order[left]], &b = keys[order[right]];
          AMPHORA_ASSIGN(takes_right, reverse ? is_less(budget, a, b) : is_less(budget, b, a));
        }
        merged[out] = order[takes_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace amphora::text::jinja
