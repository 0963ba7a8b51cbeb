// Python's operators on values: arithmetic, order, membership, subscripts, iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

Result<Value> apply_binary(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right);
Result<Value> apply_unary(Runtime& runtime, UnaryOperator op, const Value& operand);
Result<bool> compare(Runtime& runtime, Comparison comparison, const Value& left, const Value& right);
/// `a < b`; a TypeError where the types have no order.
Result<bool> is_less(Budget& budget, const Value& a, const Value& b);
/// Indices of the keys in Python's sorted() order (stable, also when reversed).
Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys, bool reverse);
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

/// A TypeError if the value can be no key of a dict.
Status check_hashable(Runtime& runtime, const Value& key);

/// What a `for` walks over. Iterators are used up; the rest stays as it is.
Result<std::vector<Value>> iterate(Runtime& runtime, const Value& value);
bool is_iterable(const Value& value);

/// Jinja's `object.name`: methods first, then items.
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
/// Python's getattr(object, name) within the sandbox: methods and the like, no items.
Result<Value> get_own_attribute(Runtime& runtime, const Value& object, std::string_view name);
/// Jinja's `object[key]`: items first, then attributes.
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);
/// `object[start:stop:step]`; absent parts are None.
Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                        const Value& step);

/// Start, step and number of the items that a slice selects out of `length`.
struct SliceRange {
  int64_t start, step;
  uint64_t count;
  int64_t stop;  ///< as Python's slice.indices() has it
};
SliceRange resolve_slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                         uint64_t length);

/// The error of using an undefined value.
std::unexpected<Error> undefined_error(const Value& value);
/// What a change of case costs: a look-up for each character, and room for their code points.
Status pay_for_case(Budget& budget, std::string_view text);
/// A string, Markup if that is what `like` is.
Value same_markup(Runtime& runtime, std::string text, const Value& like);

}  // namespace amphora::text::jinja
