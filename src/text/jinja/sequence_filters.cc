// Filters on sequences and dicts: see filters.h.
#include <algorithm>
#include <unordered_set>

#include "text/jinja/arguments.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

Result<Value> filter_length(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("length", arguments, {}));
  if (const auto length = length_of(self)) return Value::integer(static_cast<int64_t>(*length));
  return render_error("object of type '" + type_name(self) + "' has no len()");
}

Result<Value> filter_default(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("default", arguments, {"default_value", "boolean"}));
  if (!self.is_undefined() && !(bound.flag(1, false) && !is_true(self))) return self;
  return bound.find(0) == nullptr ? runtime.string({}) : *bound.find(0);
}

Result<Value> filter_first(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("first", arguments, {}));
  if (self.is(Kind::kIterator)) {  // takes one item and leaves the rest
    auto& iterator = self.as<IteratorObject>();
    if (iterator.next_index < iterator.items.size()) return iterator.items[iterator.next_index++];
  }
  if (self.is_list_or_tuple() && !self.items().empty()) return self.items().front();
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  return items.empty() ? runtime.undefined("No first item, sequence was empty.") : items.front();
}

Result<Value> filter_last(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("last", arguments, {}));
  if (self.is_list_or_tuple() && !self.items().empty()) return self.items().back();
  if (!is_iterable(self) || self.is(Kind::kIterator) || self.is(Kind::kLoop))
    return render_error("'" + type_name(self) + "' object is not reversible");
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  return items.empty() ? runtime.undefined("No last item, sequence was empty.") : items.back();
}

Result<Value> filter_list(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("list", arguments, {}));
  AMPHORA_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  return runtime.list(std::move(items));
}

Result<Value> filter_items(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("items", arguments, {}));
  if (self.is_undefined()) return runtime.generator({});
  if (!self.is(Kind::kDict))
    return runtime.generator({}, render_error("Can only get item pairs from a mapping.").error());
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries) items.push_back(runtime.tuple({key, value}));
  return runtime.generator(std::move(items));
}

Result<Value> filter_join(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("join", arguments, {"d", "attribute"}));
  Value separator = runtime.string({});
  if (const Value* value = bound.find(0)) {
    AMPHORA_ASSIGN(std::string text, to_str(runtime.budget(), *value));
    separator = value->is_string() ? *value : runtime.string(std::move(text));
  }
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, bound.find(1)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  TextBuilder out(&runtime.budget());
  for (size_t i = 0; i < items.size(); ++i) {
    AMPHORA_ASSIGN(const Value item, path.follow(runtime, items[i]));
    if (i != 0) append_str(out, separator);
    append_str(out, item);
    AMPHORA_TRY(runtime.budget().status());
  }
  return runtime.string_of(out.take_quoted());
}

Result<Value> filter_reverse(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("reverse", arguments, {}));
  if (self.is_string()) return get_slice(runtime, self, Value(), Value(), Value::integer(-1));
  if (!is_iterable(self)) return render_error("argument must be iterable");
  AMPHORA_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  std::ranges::reverse(items);
  if (self.is(Kind::kIterator)) return runtime.list(std::move(items));
  return make_iterator(&runtime.budget(), type_name(self) + "_reverseiterator", std::move(items));
}

Result<std::vector<Value>> keys_for(Runtime& runtime, const std::vector<Value>& items,
                                    const AttributePath& path, bool case_sensitive,
                                    const Value* otherwise = nullptr) {
  std::vector<Value> keys;
  for (const Value& item : items) {
    AMPHORA_ASSIGN(const Value found, path.follow(runtime, item, otherwise));
    AMPHORA_ASSIGN(Value key, sort_key(runtime, found, case_sensitive));
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<Value> in_order(const std::vector<Value>& items, const std::vector<size_t>& order) {
  std::vector<Value> result;
  result.reserve(order.size());
  for (const size_t index : order) result.push_back(items[index]);
  return result;
}

Result<Value> filter_sort(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  AMPHORA_ASSIGN(const auto paths, AttributePath::several_from(runtime, bound.find(2)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      AMPHORA_ASSIGN(const Value found, path.follow(runtime, item));
      AMPHORA_ASSIGN(Value part, sort_key(runtime, found, bound.flag(1, false)));
      parts.push_back(std::move(part));
    }
    keys.push_back(runtime.list(std::move(parts)));
  }
  AMPHORA_ASSIGN(const bool reverse, expect_flag(bound.find(0)));
  AMPHORA_ASSIGN(const auto order, sorted_order(runtime.budget(), keys, reverse));
  return runtime.list(in_order(items, order));
}

Result<Value> filter_dict_sort(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is(Kind::kDict)) return render_error("'" + type_name(self) + "' object has no attribute 'items'");
  std::string_view by = "key";
  if (const Value* value = bound.find(1)) {
    AMPHORA_ASSIGN(by, expect_string(*value, "by"));
  }
  if (by != "key" && by != "value") return render_error("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> items, keys;
  for (const auto& [key, value] : self.dict().entries) {
    AMPHORA_ASSIGN(Value sorted_by, sort_key(runtime, by == "key" ? key : value, bound.flag(0, false)));
    keys.push_back(std::move(sorted_by));
    items.push_back(runtime.tuple({key, value}));
  }
  AMPHORA_ASSIGN(const bool reverse, expect_flag(bound.find(2)));
  AMPHORA_ASSIGN(const auto order, sorted_order(runtime.budget(), keys, reverse));
  return runtime.list(in_order(items, order));
}

// The first of the least (or greatest) items.
template <bool kGreatest>
Result<Value> filter_extreme(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments(kGreatest ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, bound.find(1)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (items.empty()) return runtime.undefined("No aggregated item, sequence was empty.");
  AMPHORA_ASSIGN(const auto keys, keys_for(runtime, items, path, bound.flag(0, false)));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    AMPHORA_ASSIGN(const bool better, compare(runtime, kGreatest ? Comparison::kGreater : Comparison::kLess,
                                              keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

Result<Value> filter_sum(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("sum", arguments, {"attribute", "start"}));
  Value total = bound.find(1) == nullptr ? Value::integer(0) : *bound.find(1);
  if (total.is_string()) return render_error("sum() can't sum strings [use ''.join(seq) instead]");
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, bound.find(0)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  for (const Value& item : items) {
    AMPHORA_ASSIGN(const Value part, path.follow(runtime, item));
    AMPHORA_ASSIGN(total, apply_binary(runtime, BinaryOperator::kAdd, total, part));
    AMPHORA_TRY(runtime.budget().status());
  }
  return total;
}

struct ValueHash {
  Budget* budget;
  size_t operator()(const Value& value) const { return hash_value(budget, value).value_or(0); }
};
struct ValueEqual {
  Budget* budget;
  bool operator()(const Value& a, const Value& b) const { return equal(budget, a, b); }
};

Result<Value> filter_unique(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("unique", arguments, {"case_sensitive", "attribute"}));
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, bound.find(1)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  AMPHORA_ASSIGN(const auto keys, keys_for(runtime, items, path, bound.flag(0, false)));
  Budget* budget = &runtime.budget();
  std::unordered_set<Value, ValueHash, ValueEqual> seen(0, ValueHash{budget}, ValueEqual{budget});
  std::vector<Value> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    if (const Status hashable = check_hashable(runtime, keys[i]); !hashable)
      return runtime.generator(std::move(kept), hashable.error());
    if (seen.insert(keys[i]).second) kept.push_back(items[i]);
  }
  return runtime.generator(std::move(kept));
}

Value make_group(Runtime& runtime, Value key, std::vector<Value> members) {
  Value list = runtime.list(std::move(members));
  Value group = runtime.tuple({std::move(key), std::move(list)});
  group.as<ListObject>().field_names = {"grouper", "list"};
  return group;
}

Result<Value> filter_group_by(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  const bool case_sensitive = bound.flag(2, false);
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, bound.find(0)));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  AMPHORA_ASSIGN(const auto keys, keys_for(runtime, items, path, case_sensitive, bound.find(1)));
  AMPHORA_ASSIGN(const auto order, sorted_order(runtime.budget(), keys, false));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < order.size();) {
    std::vector<Value> members;
    size_t end = begin;
    while (end < order.size() && runtime.equals(keys[order[end]], keys[order[begin]]))
      members.push_back(items[order[end++]]);
    AMPHORA_TRY(runtime.budget().status());
    AMPHORA_ASSIGN(Value key, path.follow(runtime, members.front(), bound.find(1)));
    groups.push_back(make_group(runtime, std::move(key), std::move(members)));
    begin = end;
  }
  return runtime.list(std::move(groups));
}

Result<Value> filter_batch(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("batch", arguments, {"linecount", "fill_with"}, 1));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (items.empty()) return runtime.generator({});
  int64_t size = -1;  // what is no number is equal to no length, so that all items are one batch
  if (bound.find(0)->is_number() || bound.find_present(1) != nullptr) {
    AMPHORA_ASSIGN(size, expect_clamped_integer(*bound.find(0)));
  }
  // Jinja compares the length with linecount before each item: zero is reached once, by the empty list, and
  // what is below is never reached.
  const size_t step = size > 0 ? static_cast<size_t>(size) : std::max<size_t>(1, items.size());
  std::vector<Value> batches;
  if (size == 0 && !items.empty()) batches.push_back(runtime.list({}));
  for (size_t begin = 0; begin < items.size(); begin += step) {
    const size_t end = step < items.size() - begin ? begin + step : items.size();
    std::vector<Value> batch(items.begin() + static_cast<ptrdiff_t>(begin),
                             items.begin() + static_cast<ptrdiff_t>(end));
    if (const Value* fill = bound.find_present(1); fill != nullptr && size > 0 && batch.size() < step) {
      if (!runtime.budget().allows(std::min<uint64_t>(step, kMaxLiveBytes) * sizeof(Value)))
        return runtime.budget().error();
      batch.resize(step, *fill);
    }
    batches.push_back(runtime.list(std::move(batch)));
  }
  return runtime.generator(std::move(batches));
}

Result<Value> filter_slice(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("slice", arguments, {"slices", "fill_with"}, 1));
  AMPHORA_ASSIGN(const int64_t wanted, expect_clamped_integer(*bound.find(0)));
  if (wanted == 0) return render_error("integer division or modulo by zero");
  const auto slices = static_cast<size_t>(std::max<int64_t>(0, wanted));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (!runtime.budget().allows(std::min<uint64_t>(slices, kMaxLiveBytes) * 200))
    return runtime.budget().error();
  std::vector<Value> result;
  size_t begin = 0;
  for (size_t i = 0; i < slices; ++i) {
    const bool has_extra = i < items.size() % slices;
    const size_t end = begin + items.size() / slices + (has_extra ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<ptrdiff_t>(begin),
                            items.begin() + static_cast<ptrdiff_t>(end));
    if (const Value* fill = bound.find_present(1); fill != nullptr && !has_extra) part.push_back(*fill);
    result.push_back(runtime.list(std::move(part)));
    begin = end;
  }
  return runtime.generator(std::move(result));
}

Result<Value> filter_attr(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("attr", arguments, {"name"}, 1));
  AMPHORA_ASSIGN(const std::string_view name, expect_string(*bound.find(0), "attribute name"));
  return get_own_attribute(runtime, self, name);
}

}  // namespace

std::span<const FunctionEntry> sequence_filters() {
  static constexpr FunctionEntry kFilters[] = {
      {"attr", filter_attr},       {"batch", filter_batch},       {"count", filter_length},
      {"d", filter_default},       {"default", filter_default},   {"dictsort", filter_dict_sort},
      {"first", filter_first},     {"groupby", filter_group_by},  {"items", filter_items},
      {"join", filter_join},       {"last", filter_last},         {"length", filter_length},
      {"list", filter_list},       {"max", filter_extreme<true>}, {"min", filter_extreme<false>},
      {"reverse", filter_reverse}, {"slice", filter_slice},       {"sort", filter_sort},
      {"sum", filter_sum},         {"unique", filter_unique},
  };
  return kFilters;
}

}  // namespace amphora::text::jinja
