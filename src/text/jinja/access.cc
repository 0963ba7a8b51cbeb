// Membership, iteration, attributes and subscripts: see operators.h.
#include <algorithm>
#include <optional>
#include <span>

#include "text/jinja/arguments.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

std::string object_name(const Value& value) {
  return value.is_none() ? std::string("None") : type_name(value) + " object";
}

Value no_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  runtime.budget().spend_bytes(8 * name.size());
  return runtime.undefined("'" + object_name(object) + "' has no attribute " + repr_of_text(name));
}

Result<Value> no_element(Runtime& runtime, const Value& object, const Value& key) {
  if (key.is_string()) return no_attribute(runtime, object, key.text());
  AMPHORA_ASSIGN(const std::string text, to_repr(runtime.budget(), key));
  return runtime.undefined(object_name(object) + " has no element " + text);
}

Value unsafe_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  return runtime.undefined("access to attribute " + repr_of_text(name) + " of '" + type_name(object) +
                           "' object is unsafe.");
}

// What Python's class of undefined values has itself; asking for anything else of one is an error.
bool is_of_undefined(std::string_view name) {
  static constexpr std::string_view kNames[] = {"__add__",
                                                "__aiter__",
                                                "__bool__",
                                                "__call__",
                                                "__class__",
                                                "__complex__",
                                                "__delattr__",
                                                "__dir__",
                                                "__div__",
                                                "__doc__",
                                                "__eq__",
                                                "__float__",
                                                "__floordiv__",
                                                "__format__",
                                                "__ge__",
                                                "__getattr__",
                                                "__getattribute__",
                                                "__getitem__",
                                                "__getstate__",
                                                "__gt__",
                                                "__hash__",
                                                "__init__",
                                                "__init_subclass__",
                                                "__int__",
                                                "__iter__",
                                                "__le__",
                                                "__len__",
                                                "__lt__",
                                                "__mod__",
                                                "__module__",
                                                "__mul__",
                                                "__ne__",
                                                "__neg__",
                                                "__new__",
                                                "__pos__",
                                                "__pow__",
                                                "__radd__",
                                                "__rdiv__",
                                                "__reduce__",
                                                "__reduce_ex__",
                                                "__repr__",
                                                "__rfloordiv__",
                                                "__rmod__",
                                                "__rmul__",
                                                "__rpow__",
                                                "__rsub__",
                                                "__rtruediv__",
                                                "__setattr__",
                                                "__sizeof__",
                                                "__slots__",
                                                "__str__",
                                                "__sub__",
                                                "__subclasshook__",
                                                "__truediv__",
                                                "_fail_with_undefined_error",
                                                "_undefined_exception",
                                                "_undefined_hint",
                                                "_undefined_message",
                                                "_undefined_name",
                                                "_undefined_obj"};
  return std::ranges::binary_search(kNames, name);
}

// What the immutable sandbox hides: methods that change their object.
bool is_mutator(const Value& object, std::string_view name) {
  static constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  static constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                                  "insert", "sort",  "extend", "remove"};
  if (object.is(Kind::kDict)) return std::ranges::find(kOfDicts, name) != std::end(kOfDicts);
  if (object.is(Kind::kList)) return std::ranges::find(kOfLists, name) != std::end(kOfLists);
  return false;
}

Result<std::optional<Value>> find_loop_attribute(Runtime& runtime, const Value& value,
                                                 std::string_view name) {
  auto& loop = value.as<LoopObject>();
  const auto number = [](size_t count) { return Value::integer(static_cast<int64_t>(count)); };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "first") return Value::boolean(loop.index == 0);
  if (name == "depth") return number(loop.depth0 + 1);
  if (name == "depth0") return number(loop.depth0);
  if (name == "previtem")
    return loop.index == 0 ? runtime.undefined("there is no previous item") : loop.items[loop.index - 1];
  if (name == "last" || name == "nextitem") {
    AMPHORA_TRY(loop.look_ahead(loop.index + 2));
    const bool is_last = loop.index + 1 >= loop.items.size();
    if (name == "last") return Value::boolean(is_last);
    return is_last ? runtime.undefined("there is no next item") : loop.items[loop.index + 1];
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    AMPHORA_TRY(loop.look_ahead(SIZE_MAX));
    const size_t length = loop.items.size();
    return number(name == "length" ? length : length - loop.index - (name == "revindex0" ? 1 : 0));
  }
  return std::nullopt;
}

std::optional<Value> find_macro_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  const Callable& callable = *value.as<MacroObject>().callable;
  if (name == "name") return callable.name.empty() ? Value() : runtime.string(callable.name);
  if (name == "catch_kwargs") return Value::boolean(callable.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(callable.uses_varargs);
  if (name == "caller") return Value::boolean(callable.uses_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const std::string& parameter : callable.parameters.names) names.push_back(runtime.string(parameter));
  return runtime.tuple(std::move(names));
}

// Attributes of Python's types that no chat template has been seen to use. They exist, so they are refused
// rather than undefined.
std::span<const std::string_view> unsupported_attributes(Kind kind) {
  static constexpr std::string_view kOfStrings[] = {"encode",    "format_map", "maketrans",
                                                    "translate", "unescape",   "striptags"};
  static constexpr std::string_view kOfNumbers[] = {
      "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
      "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
      "numerator",        "real",      "to_bytes"};
  static constexpr std::string_view kOfDicts[] = {"fromkeys"};
  static constexpr std::string_view kOfViews[] = {"isdisjoint", "mapping"};
  static constexpr std::string_view kOfRanges[] = {"count", "index", "start", "step", "stop"};
  static constexpr std::string_view kOfCyclers[] = {"items", "pos"};
  static constexpr std::string_view kOfJoiners[] = {"sep", "used"};
  switch (kind) {
    case Kind::kString: return kOfStrings;
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kBigInteger:
    case Kind::kFloat: return kOfNumbers;
    case Kind::kDict: return kOfDicts;
    case Kind::kDictView: return kOfViews;
    case Kind::kRange: return kOfRanges;
    case Kind::kCycler: return kOfCyclers;
    case Kind::kJoiner: return kOfJoiners;
    default: return {};
  }
}

// Python's getattr, without items.
Result<std::optional<Value>> find_own_attribute(Runtime& runtime, const Value& object,
                                                std::string_view name) {
  if (object.is_undefined() && !is_of_undefined(name)) return undefined_error(object);
  if (object.is_undefined()) return unsafe_attribute(runtime, object, name);
  if ((name.starts_with("__") && name.ends_with("__")) || is_mutator(object, name))
    return unsafe_attribute(runtime, object, name);
  switch (object.kind()) {
    case Kind::kLoop: {
      AMPHORA_ASSIGN(auto value, find_loop_attribute(runtime, object, name));
      if (value) return value;
      break;
    }
    case Kind::kMacro: return find_macro_attribute(runtime, object, name);
    case Kind::kNamespace: {
      const Value* found = object.as<NamespaceObject>().find(name);
      return found == nullptr ? std::nullopt : std::optional<Value>(*found);
    }
    case Kind::kTuple: {
      const auto& tuple = object.as<ListObject>();
      const auto it = std::ranges::find(tuple.field_names, name);
      if (it != tuple.field_names.end())
        return tuple.items[static_cast<size_t>(it - tuple.field_names.begin())];
      break;
    }
    case Kind::kCycler: {
      const auto& cycler = object.as<CyclerObject>();
      if (name == "current") return cycler.items[cycler.index];
      break;
    }
    default: break;
  }
  const FunctionEntry* method = find_method(object.kind(), name);
  if (method == nullptr) {
    const auto names = unsupported_attributes(object.kind());
    if (std::ranges::find(names, name) == names.end()) return std::nullopt;
    return unsupported_error("attribute '" + std::string(name) + "' of '" + type_name(object) +
                             "' is not supported");
  }
  return Value::with_object(Kind::kFunction, std::make_shared<FunctionObject>(
                                                 &runtime.budget(), method->first, method->second, object));
}

std::optional<size_t> resolve_index(int64_t index, uint64_t length) {
  if (index < 0) index += static_cast<int64_t>(length);
  if (index < 0 || static_cast<uint64_t>(index) >= length) return std::nullopt;
  return static_cast<size_t>(index);
}

std::string_view character_at(const StringObject& string, size_t index) {
  if (string.is_ascii()) return std::string_view(string.text).substr(index, 1);
  const size_t start = offset_of_code_point(string.text, index);
  size_t end = start;
  next_code_point(string.text, end);
  return std::string_view(string.text).substr(start, end - start);
}

// The item that object[key] is in Python, without an error if there is none.
std::optional<Value> find_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is(Kind::kDict)) {
    const Value* found = object.dict().find(&runtime.budget(), key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (!key.is_integral()) return std::nullopt;
  const int64_t index = key.as_integer();
  switch (object.kind()) {
    case Kind::kList:
    case Kind::kTuple: {
      const auto found = resolve_index(index, object.items().size());
      return found ? std::optional<Value>(object.items()[*found]) : std::nullopt;
    }
    case Kind::kString: {
      const auto& string = object.as<StringObject>();
      const auto found = resolve_index(index, string.code_points);
      if (!found) return std::nullopt;
      if (!string.is_ascii()) runtime.budget().spend_bytes(string.text.size());
      return runtime.part_of(object, character_at(string, *found));
    }
    case Kind::kRange: {
      const auto& range = object.as<RangeObject>();
      const auto found = resolve_index(index, range.size());
      return found ? std::optional<Value>(Value::integer(range.at(*found))) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

Result<bool> view_contains(Runtime& runtime, const DictViewObject& view, const Value& item) {
  if (view.part == DictViewObject::Part::kKeys) return contains(runtime, view.dict, item);
  for (const auto& [key, value] : view.dict.dict().entries) {
    if (view.part == DictViewObject::Part::kValues) {
      if (runtime.equals(value, item)) return true;
    } else if (item.is(Kind::kTuple) && item.items().size() == 2 && runtime.equals(key, item.items()[0]) &&
               runtime.equals(value, item.items()[1])) {
      return true;
    }
  }
  return false;
}

// Walks up to the item, and not beyond.
Result<bool> iterator_contains(Runtime& runtime, IteratorObject& iterator, const Value& item) {
  while (iterator.next_index < iterator.items.size())
    if (runtime.equals(iterator.items[iterator.next_index++], item)) return true;
  if (iterator.error) return std::unexpected(*iterator.error);
  return false;
}

Result<std::optional<int64_t>> slice_part(const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (value.is_integral() || value.is(Kind::kBigInteger)) return expect_clamped_integer(value);
  return render_error("slice indices must be integers or None or have an __index__ method");
}

// The offset of the character that lies `step` characters further on; it must exist.
size_t moved_by(const StringObject& string, size_t offset, int64_t step) {
  if (string.is_ascii()) return offset + static_cast<size_t>(step);  // modulo 2^64: backwards, too
  const std::string_view text = string.text;
  for (; step > 0; --step) next_code_point(text, offset);
  for (; step < 0; ++step) do
      --offset;
    while ((static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80);
  return offset;
}

Result<Value> slice_string(Runtime& runtime, const Value& object, const SliceRange& range) {
  const auto& string = object.as<StringObject>();
  runtime.budget().spend_bytes(string.text.size());
  AMPHORA_TRY(runtime.budget().status());
  const auto start = static_cast<size_t>(range.start);
  if (range.count == 0) return same_markup(runtime, {}, object);
  if (range.step == 1) {
    const std::string_view text = string.text;
    const size_t first = string.is_ascii() ? start : offset_of_code_point(text, start);
    const size_t bytes =
        string.is_ascii() ? range.count : offset_of_code_point(text.substr(first), range.count);
    return runtime.part_of(object, text.substr(first, bytes));
  }
  runtime.budget().spend_bytes(8 * string.text.size());  // character by character
  AMPHORA_TRY(runtime.budget().status());
  const std::string_view text = string.text;
  std::string selected;
  size_t offset = string.is_ascii() ? start : offset_of_code_point(text, start);
  for (uint64_t i = 0; i < range.count; ++i) {
    if (i != 0) offset = moved_by(string, offset, range.step);
    size_t end = offset;
    next_code_point(text, end);
    selected += text.substr(offset, end - offset);
  }
  const Runtime::Quoting quoting(runtime, object.quotes());
  return same_markup(runtime, std::move(selected), object);
}

}  // namespace

SliceRange resolve_slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                         uint64_t length) {
  const auto size = static_cast<int64_t>(length);
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  const auto clamp = [&](int64_t index) {
    if (index < 0) index += size;
    return std::clamp(index, lowest, highest);
  };
  const int64_t first = start ? clamp(*start) : step < 0 ? highest : lowest;
  const int64_t last = stop ? clamp(*stop) : step < 0 ? lowest : highest;
  const RangeObject range(nullptr, first, last, step);
  return {first, step, range.size(), last};
}

Status check_hashable(Runtime& runtime, const Value& key) {
  if (hash_value(&runtime.budget(), key)) return {};
  return render_error("unhashable type: '" + type_name(key) + "'");
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kUndefined: return false;
    case Kind::kString:
      if (!item.is_string())
        return render_error("'in <string>' requires string as left operand, not " + type_name(item));
      runtime.budget().spend_bytes(container.text().size());
      return container.text().find(item.text()) != std::string_view::npos;
    case Kind::kDict:
      AMPHORA_TRY(check_hashable(runtime, item));
      return container.dict().find(&runtime.budget(), item) != nullptr;
    case Kind::kDictView: return view_contains(runtime, container.as<DictViewObject>(), item);
    case Kind::kIterator: return iterator_contains(runtime, container.as<IteratorObject>(), item);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kLoop: {
      AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, container));
      return std::ranges::any_of(items, [&](const Value& other) { return runtime.equals(other, item); });
    }
    default: return render_error("argument of type '" + type_name(container) + "' is not iterable");
  }
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop: return true;
    default: return false;
  }
}

std::optional<uint64_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return 0;
    case Kind::kString: return value.as<StringObject>().code_points;
    case Kind::kList:
    case Kind::kTuple: return value.items().size();
    case Kind::kDict: return value.dict().entries.size();
    case Kind::kDictView: return value.as<DictViewObject>().dict.dict().entries.size();
    case Kind::kRange: return value.as<RangeObject>().size();
    case Kind::kLoop: return value.as<LoopObject>().items.size();
    default: return std::nullopt;
  }
}

Result<std::vector<Value>> iterate(Runtime& runtime, const Value& value) {
  Budget& budget = runtime.budget();
  const uint64_t count = length_of(value).value_or(0);
  budget.spend(count / 8);
  // Characters and pairs become objects of their own; numbers and items only take their places.
  const bool makes_objects = value.is_string() || value.is(Kind::kDictView);
  if (!budget.allows(count * (makes_objects ? sizeof(Value) + 200 : sizeof(Value)))) return budget.error();
  std::vector<Value> items;
  items.reserve(count);
  switch (value.kind()) {
    case Kind::kUndefined: return items;
    case Kind::kList:
    case Kind::kTuple: return value.items();
    case Kind::kString: {
      const std::string_view text = value.text();
      const QuotedRanges& quoted = value.as<StringObject>().quoted;
      for (size_t offset = 0; offset < text.size();) {
        const size_t start = offset;
        next_code_point(text, offset);
        items.push_back(runtime.string_of(
            {std::string(text.substr(start, offset - start)), ranges_of_part(quoted, start, offset)}));
      }
      return items;
    }
    case Kind::kDict:
      for (const auto& [key, item] : value.dict().entries) items.push_back(key);
      return items;
    case Kind::kDictView: {
      const auto& view = value.as<DictViewObject>();
      for (const auto& [key, item] : view.dict.dict().entries) {
        switch (view.part) {
          case DictViewObject::Part::kKeys: items.push_back(key); break;
          case DictViewObject::Part::kValues: items.push_back(item); break;
          case DictViewObject::Part::kItems: items.push_back(runtime.tuple({key, item})); break;
        }
      }
      return items;
    }
    case Kind::kRange: {
      const auto& range = value.as<RangeObject>();
      for (uint64_t i = 0; i < count; ++i) items.push_back(Value::integer(range.at(i)));
      return items;
    }
    case Kind::kIterator: {
      auto& iterator = value.as<IteratorObject>();
      const auto first = iterator.items.begin() + static_cast<ptrdiff_t>(iterator.next_index);
      items.assign(first, iterator.items.end());
      iterator.next_index = iterator.items.size();
      if (iterator.error) return std::unexpected(*iterator.error);
      return items;
    }
    case Kind::kLoop:
      return unsupported_error("a walk over a loop is not supported: it would end the loop itself");
    default: return render_error("'" + type_name(value) + "' object is not iterable");
  }
}

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  AMPHORA_ASSIGN(auto own, find_own_attribute(runtime, object, name));
  if (own) return *std::move(own);
  if (object.is(Kind::kDict))
    if (const Value* item = object.dict().find(&runtime.budget(), name)) return *item;
  return no_attribute(runtime, object, name);
}

Result<Value> get_own_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  AMPHORA_ASSIGN(auto own, find_own_attribute(runtime, object, name));
  if (own) return *std::move(own);
  return no_attribute(runtime, object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (auto item = find_item(runtime, object, key)) return *std::move(item);
  if (key.is_string()) {
    AMPHORA_ASSIGN(auto own, find_own_attribute(runtime, object, key.text()));
    if (own) return *std::move(own);
  }
  return no_element(runtime, object, key);
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                        const Value& step) {
  if (object.is_undefined()) return undefined_error(object);
  const auto length = length_of(object);
  const bool is_sequence = object.is_string() || object.is_list_or_tuple() || object.is(Kind::kRange);
  if (object.is(Kind::kDict)) return render_error("unhashable type: 'slice'");
  if (!length || !is_sequence) return render_error("'" + type_name(object) + "' object is not subscriptable");
  AMPHORA_ASSIGN(const auto first, slice_part(start));
  AMPHORA_ASSIGN(const auto last, slice_part(stop));
  AMPHORA_ASSIGN(const auto by, slice_part(step));
  if (by == 0) return render_error("slice step cannot be zero");
  const SliceRange range = resolve_slice(first, last, by.value_or(1), *length);
  if (object.is_string()) return slice_string(runtime, object, range);
  if (object.is(Kind::kRange)) {
    const auto& whole = object.as<RangeObject>();
    int64_t stride = 0, begin = 0, end = 0;
    if (__builtin_mul_overflow(range.start, whole.step, &begin) ||
        __builtin_add_overflow(whole.start, begin, &begin) ||
        __builtin_mul_overflow(whole.step, range.step, &stride) ||
        __builtin_mul_overflow(range.stop, whole.step, &end) ||
        __builtin_add_overflow(whole.start, end, &end))
      return render_error("integer does not fit 64 bits");
    return Value::with_object(Kind::kRange,
                              std::make_shared<RangeObject>(&runtime.budget(), begin, end, stride));
  }
  if (!runtime.budget().allows(range.count * sizeof(Value))) return runtime.budget().error();
  std::vector<Value> items;
  items.reserve(range.count);
  for (uint64_t i = 0; i < range.count; ++i)
    items.push_back(object.items()[static_cast<size_t>(range.start + static_cast<int64_t>(i) * range.step)]);
  return object.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

}  // namespace amphora::text::jinja
