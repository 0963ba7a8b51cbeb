// The tests of the template language: see tests.h.
#include "text/jinja/tests.h"

#include <algorithm>

#include "text/jinja/arguments.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

// A test that needs nothing but the value.
template <bool (*kHolds)(const Value&)>
Result<Value> holds(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("test", arguments, {}));
  return Value::boolean(kHolds(self));
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is(Kind::kBool); }
bool is_exactly_true(const Value& value) { return value.is(Kind::kBool) && value.as_bool(); }
bool is_exactly_false(const Value& value) { return value.is(Kind::kBool) && !value.as_bool(); }
bool is_integer(const Value& value) { return value.is(Kind::kInteger) || value.is(Kind::kBigInteger); }
bool is_float(const Value& value) { return value.is(Kind::kFloat); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_string(); }
bool is_mapping(const Value& value) { return value.is(Kind::kDict); }
bool is_escaped(const Value& value) { return value.is_markup(); }
// What has a length and can be indexed; undefined has both.
bool is_sequence(const Value& value) {
  return value.is_string() || value.is_list_or_tuple() || value.is(Kind::kDict) || value.is(Kind::kRange) ||
         value.is_undefined();
}

template <Comparison kComparison>
Result<Value> compares(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("test", arguments, {"other"}, 1));
  AMPHORA_ASSIGN(const bool result, compare(runtime, kComparison, self, *bound.find(0)));
  return Value::boolean(result);
}

Result<Value> remainder_is(Runtime& runtime, const Value& self, const Value& divisor, int64_t wanted) {
  AMPHORA_ASSIGN(const Value remainder, apply_binary(runtime, BinaryOperator::kModulo, self, divisor));
  return Value::boolean(runtime.equals(remainder, Value::integer(wanted)));
}

Result<Value> is_odd(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("odd", arguments, {}));
  return remainder_is(runtime, self, Value::integer(2), 1);
}

Result<Value> is_even(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("even", arguments, {}));
  return remainder_is(runtime, self, Value::integer(2), 0);
}

Result<Value> is_divisible_by(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("divisibleby", arguments, {"num"}, 1));
  return remainder_is(runtime, self, *bound.find(0), 0);
}

Result<Value> has_case(Runtime& runtime, const Value& self, Arguments arguments, std::string_view method) {
  AMPHORA_ASSIGN(std::string text, to_str(runtime.budget(), self));
  return find_method(Kind::kString, method)->second(runtime, runtime.string(std::move(text)), arguments);
}

Result<Value> is_lower_case(Runtime& runtime, const Value& self, Arguments arguments) {
  return has_case(runtime, self, arguments, "islower");
}
Result<Value> is_upper_case(Runtime& runtime, const Value& self, Arguments arguments) {
  return has_case(runtime, self, arguments, "isupper");
}

// Python keeps one object of each of these integers.
bool is_small_integer(const Value& value) {
  return value.is(Kind::kInteger) && value.as_integer() >= -5 && value.as_integer() <= 256;
}

bool is_global_function(const Value& value) {
  return value.is(Kind::kFunction) && value.as<FunctionObject>().self.is_none();
}

// Python's `is`. Whether equal numbers, or equal strings, are one object or several is an accident there.
Result<Value> is_same(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("sameas", arguments, {"other"}, 1));
  const Value& other = *bound.find(0);
  if (self.kind() != other.kind() || self.is_markup() != other.is_markup()) return Value::boolean(false);
  if (self.object() && self.object() == other.object()) return Value::boolean(true);
  const bool is_unique = self.is_none() || self.is(Kind::kBool) || is_small_integer(self) ||
                         is_global_function(self) || (self.is(Kind::kTuple) && self.items().empty());
  const bool may_be_one = is_unique || self.is_number() || self.is_string();
  if (!may_be_one || !runtime.equals(self, other)) return Value::boolean(false);
  if (is_unique) return Value::boolean(true);
  return unsupported_error("sameas of equal values of the type " + type_name(self) +
                           " is not supported: whether they are one object is an accident in Python");
}

// The names of filters and tests are keys of a dict.
Result<Value> is_filter(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("filter", arguments, {}));
  AMPHORA_TRY(check_hashable(runtime, self));
  return Value::boolean(self.is_string() && find_filter(self.text()) != nullptr);
}

Result<Value> is_test(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("test", arguments, {}));
  AMPHORA_TRY(check_hashable(runtime, self));
  return Value::boolean(self.is_string() && find_test(self.text()) != nullptr);
}

constexpr FunctionEntry kTests[] = {
    {"!=", compares<Comparison::kNotEqual>},
    {"<", compares<Comparison::kLess>},
    {"<=", compares<Comparison::kLessEqual>},
    {"==", compares<Comparison::kEqual>},
    {">", compares<Comparison::kGreater>},
    {">=", compares<Comparison::kGreaterEqual>},
    {"boolean", holds<is_boolean>},
    {"callable", holds<is_callable>},
    {"defined", holds<is_defined>},
    {"divisibleby", is_divisible_by},
    {"eq", compares<Comparison::kEqual>},
    {"equalto", compares<Comparison::kEqual>},
    {"escaped", holds<is_escaped>},
    {"even", is_even},
    {"false", holds<is_exactly_false>},
    {"filter", is_filter},
    {"float", holds<is_float>},
    {"ge", compares<Comparison::kGreaterEqual>},
    {"greaterthan", compares<Comparison::kGreater>},
    {"gt", compares<Comparison::kGreater>},
    {"in", compares<Comparison::kIn>},
    {"integer", holds<is_integer>},
    {"iterable", holds<is_iterable>},
    {"le", compares<Comparison::kLessEqual>},
    {"lessthan", compares<Comparison::kLess>},
    {"lower", is_lower_case},
    {"lt", compares<Comparison::kLess>},
    {"mapping", holds<is_mapping>},
    {"ne", compares<Comparison::kNotEqual>},
    {"none", holds<is_none>},
    {"number", holds<is_number>},
    {"odd", is_odd},
    {"sameas", is_same},
    {"sequence", holds<is_sequence>},
    {"string", holds<is_string>},
    {"test", is_test},
    {"true", holds<is_exactly_true>},
    {"undefined", holds<is_undefined>},
    {"upper", is_upper_case},
};

}  // namespace

NativeFunction find_test(std::string_view name) {
  const auto* it = std::ranges::find(kTests, name, &FunctionEntry::first);
  return it == std::end(kTests) ? nullptr : it->second;
}

}  // namespace amphora::text::jinja
