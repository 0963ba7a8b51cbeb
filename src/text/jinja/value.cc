// Values of a running template: see value.h.
#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/code_points.h"
#include "text/jinja/number.h"

namespace amphora::text::jinja {
namespace {

// What a shared object costs beside its content: control block, allocator, the object itself.
constexpr size_t kObjectOverhead = 128;

uint32_t deepest_entry(const std::vector<DictObject::Entry>& entries) {
  uint32_t depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, key.depth(), value.depth()});
  return depth;
}

bool any_entry_quotes(const std::vector<DictObject::Entry>& entries) {
  return std::ranges::any_of(entries,
                             [](const auto& entry) { return entry.first.quotes() || entry.second.quotes(); });
}

uint64_t mix(uint64_t hash, uint64_t more) { return (hash ^ more) * 0x9E3779B97F4A7C15ull + (hash >> 29); }

}  // namespace

uint32_t deepest(const std::vector<Value>& items) {
  uint32_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

bool any_quotes(const std::vector<Value>& items) { return std::ranges::any_of(items, &Value::quotes); }

bool CallArguments::quotes() const {
  return has_quoted_names || any_quotes(positional) ||
         std::ranges::any_of(named, [](const NamedValue& argument) { return argument.second.quotes(); });
}

Object::Object(Budget* budget, size_t bytes, uint32_t depth, bool quotes)
    : budget_(budget), bytes_(bytes + kObjectOverhead), depth_(depth), quotes_(quotes) {
  if (budget_ == nullptr) return;
  budget_->charge(bytes_);
  // Values are released by recursion, so their depth is native stack too.
  if (depth_ > kMaxValueDepth) budget_->exceed("value depth", kMaxValueDepth);
}

Object::~Object() {
  if (budget_ != nullptr) budget_->refund(bytes_);
}

Value Value::boolean(bool value) {
  Value result;
  result.kind_ = Kind::kBool;
  result.integer_ = value ? 1 : 0;
  return result;
}

Value Value::integer(int64_t value) {
  Value result;
  result.kind_ = Kind::kInteger;
  result.integer_ = value;
  return result;
}

Value Value::floating(double value) {
  Value result;
  result.kind_ = Kind::kFloat;
  result.float_ = value;
  return result;
}

Value Value::with_object(Kind kind, std::shared_ptr<Object> object) {
  Value result;
  result.kind_ = kind;
  result.object_ = std::move(object);
  return result;
}

std::string_view Value::text() const { return as<StringObject>().text; }
bool Value::is_markup() const { return kind_ == Kind::kString && as<StringObject>().markup; }
const std::vector<Value>& Value::items() const { return as<ListObject>().items; }
const DictObject& Value::dict() const { return as<DictObject>(); }

StringObject::StringObject(Budget* budget, std::string content, bool is_markup, QuotedRanges ranges)
    : Object(budget, content.size() + ranges.size() * sizeof(QuotedRange), 0, !ranges.empty()),
      text(std::move(content)),
      quoted(std::move(ranges)),
      code_points(count_code_points(text)),
      markup(is_markup) {
  if (budget != nullptr) budget->spend_bytes(text.size());
}

ListObject::ListObject(Budget* budget, std::vector<Value> values)
    : Object(budget, values.size() * sizeof(Value), deepest(values) + 1, any_quotes(values)),
      items(std::move(values)) {
  if (budget != nullptr) budget->spend_bytes(items.size() * sizeof(Value));
}

DictObject::DictObject(Budget* budget, std::vector<Entry> all)
    : Object(budget, all.size() * 3 * sizeof(Entry), deepest_entry(all) + 1, any_entry_quotes(all)) {
  if (budget != nullptr) budget->spend(all.size());
  entries.reserve(all.size());
  for (Entry& entry : all) insert(budget, std::move(entry));
}

void DictObject::insert(Budget* budget, Entry entry) {
  const uint64_t hash = hash_value(budget, entry.first).value_or(0);
  if (const auto index = find_index(budget, entry.first, hash)) {
    entries[*index].second = std::move(entry.second);
    return;
  }
  index_.emplace(hash, entries.size());
  entries.push_back(std::move(entry));
}

std::optional<size_t> DictObject::find_index(Budget* budget, const Value& key, uint64_t hash) const {
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (equal(budget, entries[it->second].first, key)) return it->second;
  return std::nullopt;
}

const Value* DictObject::find(Budget* budget, const Value& key) const {
  const auto hash = hash_value(budget, key);
  if (!hash) return nullptr;
  const auto index = find_index(budget, key, *hash);
  return index ? &entries[*index].second : nullptr;
}

const Value* DictObject::find(Budget* budget, std::string_view key) const {
  if (budget != nullptr) budget->spend_bytes(2 * key.size());
  const auto [first, last] = index_.equal_range(std::hash<std::string_view>{}(key));
  for (auto it = first; it != last; ++it) {
    const auto& [stored, value] = entries[it->second];
    if (stored.is_string() && stored.text() == key) return &value;
  }
  return nullptr;
}

DictViewObject::DictViewObject(Budget* budget, Value owner, Part shown)
    : Object(budget, sizeof(DictViewObject), owner.depth() + 1, owner.quotes()),
      dict(std::move(owner)),
      part(shown) {}

RangeObject::RangeObject(Budget* budget, int64_t first, int64_t end, int64_t by)
    : Object(budget, sizeof(RangeObject)), start(first), stop(end), step(by) {}

uint64_t RangeObject::size() const {
  // In 128 bits, for stop - start may not fit 64.
  const __int128 span = step > 0 ? __int128{stop} - start : __int128{start} - stop;
  const __int128 stride = step > 0 ? __int128{step} : -__int128{step};
  return span <= 0 ? 0 : static_cast<uint64_t>((span + stride - 1) / stride);
}

IteratorObject::IteratorObject(Budget* budget, std::string type, std::vector<Value> values,
                               std::optional<Error> at_end)
    : Object(budget, values.size() * sizeof(Value), deepest(values) + 1, any_quotes(values)),
      type_name(std::move(type)),
      items(std::move(values)),
      error(std::move(at_end)) {}

const Value* NamespaceObject::find(std::string_view name) const {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

void NamespaceObject::set(std::string_view name, Value value) {
  for (auto& [key, stored] : attributes) {
    if (key != name) continue;
    stored = std::move(value);
    return;
  }
  // Never refunded: namespaces live until the rendering ends.
  if (budget_ != nullptr) budget_->charge(sizeof(NamedValue) + name.size());
  attributes.emplace_back(name, std::move(value));
}

CyclerObject::CyclerObject(Budget* budget, std::vector<Value> values)
    : Object(budget, values.size() * sizeof(Value), deepest(values) + 1, any_quotes(values)),
      items(std::move(values)) {}

FunctionObject::FunctionObject(Budget* budget, std::string_view function_name, NativeFunction code,
                               Value object)
    : Object(budget, sizeof(FunctionObject), object.depth() + 1, object.quotes()),
      name(function_name),
      function(code),
      self(std::move(object)) {}

Value make_string(Budget* budget, std::string text, bool markup, QuotedRanges quoted) {
  return Value::with_object(
      Kind::kString, std::make_shared<StringObject>(budget, std::move(text), markup, std::move(quoted)));
}

Value make_quoted_string(Budget* budget, std::string text, bool markup) {
  QuotedRanges whole;
  append_range(whole, 0, text.size());
  return make_string(budget, std::move(text), markup, std::move(whole));
}

Value make_list(Budget* budget, std::vector<Value> items) {
  return Value::with_object(Kind::kList, std::make_shared<ListObject>(budget, std::move(items)));
}

Value make_tuple(Budget* budget, std::vector<Value> items) {
  return Value::with_object(Kind::kTuple, std::make_shared<ListObject>(budget, std::move(items)));
}

Value make_dict(Budget* budget, std::vector<DictObject::Entry> entries) {
  return Value::with_object(Kind::kDict, std::make_shared<DictObject>(budget, std::move(entries)));
}

Value make_undefined(Budget* budget, std::string message) {
  return Value::with_object(Kind::kUndefined, std::make_shared<UndefinedObject>(budget, std::move(message)));
}

Value make_iterator(Budget* budget, std::string type, std::vector<Value> items, std::optional<Error> error) {
  return Value::with_object(
      Kind::kIterator,
      std::make_shared<IteratorObject>(budget, std::move(type), std::move(items), std::move(error)));
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone: return "NoneType";
    case Kind::kUndefined: return "Undefined";
    case Kind::kBool: return "bool";
    case Kind::kInteger:
    case Kind::kBigInteger: return "int";
    case Kind::kFloat: return "float";
    case Kind::kString: return value.is_markup() ? "Markup" : "str";
    case Kind::kList: return "list";
    case Kind::kTuple: return "tuple";
    case Kind::kDict: return "dict";
    case Kind::kDictView:
      switch (value.as<DictViewObject>().part) {
        case DictViewObject::Part::kKeys: return "dict_keys";
        case DictViewObject::Part::kValues: return "dict_values";
        case DictViewObject::Part::kItems: return "dict_items";
      }
      return "dict_view";
    case Kind::kRange: return "range";
    case Kind::kIterator: return value.as<IteratorObject>().type_name;
    case Kind::kNamespace: return "Namespace";
    case Kind::kLoop: return "LoopContext";
    case Kind::kMacro: return "Macro";
    case Kind::kFunction: return "builtin_function_or_method";
    case Kind::kCycler: return "Cycler";
    case Kind::kJoiner: return "Joiner";
  }
  return "object";
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
    case Kind::kUndefined: return false;
    case Kind::kBool:
    case Kind::kInteger: return value.as_integer() != 0;
    case Kind::kFloat: return value.as_float() != 0.0;
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kLoop: return length_of(value).value_or(1) != 0;
    default: return true;
  }
}

bool is_callable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:  // it has __call__, which raises
    case Kind::kLoop:
    case Kind::kMacro:
    case Kind::kFunction:
    case Kind::kJoiner: return true;
    default: return false;
  }
}

std::optional<uint64_t> hash_value(Budget* budget, const Value& value) {
  if (budget != nullptr && !budget->ok()) return 0;
  switch (value.kind()) {
    case Kind::kNone: return 1;
    case Kind::kUndefined: return 2;
    case Kind::kBool:
    case Kind::kInteger: return std::hash<int64_t>{}(value.as_integer());
    case Kind::kFloat: {
      const double number = value.as_float();  // 1.0 and 1 are the same key
      if (number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number)
        return std::hash<int64_t>{}(static_cast<int64_t>(number));
      return std::hash<double>{}(number);
    }
    case Kind::kBigInteger: {
      const auto number = to_double(value);  // equal to a float at most, then the same key as that
      if (number && compare_numbers(value, Value::floating(*number)) == 0)
        return std::hash<double>{}(*number);
      return std::hash<std::string>{}(value.as<BigIntegerObject>().digits);
    }
    case Kind::kString:
      if (budget != nullptr) budget->spend_bytes(value.text().size());
      return std::hash<std::string_view>{}(value.text());
    case Kind::kTuple: {
      uint64_t hash = 3;
      if (budget != nullptr) budget->spend(value.items().size());
      for (const Value& item : value.items()) {
        const auto item_hash = hash_value(budget, item);
        if (!item_hash) return std::nullopt;
        hash = mix(hash, *item_hash);
      }
      return hash;
    }
    case Kind::kRange: return value.as<RangeObject>().size();
    case Kind::kList:
    case Kind::kDict: return std::nullopt;
    case Kind::kDictView:  // keys and items are sets, which have no hash; values are just an object
      if (value.as<DictViewObject>().part != DictViewObject::Part::kValues) return std::nullopt;
      [[fallthrough]];
    default: return std::hash<const void*>{}(value.object().get());
  }
}

bool equal(Budget* budget, const Value& a, const Value& b) {
  if (budget != nullptr) {
    budget->spend(1);
    if (!budget->ok()) return false;
  }
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kUndefined: return true;
    case Kind::kString:
      if (budget != nullptr) budget->spend_bytes(std::min(a.text().size(), b.text().size()));
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple: {
      const auto &left = a.items(), &right = b.items();
      if (left.size() != right.size()) return false;
      for (size_t i = 0; i < left.size(); ++i)
        if (!equal(budget, left[i], right[i])) return false;
      return true;
    }
    case Kind::kDict: {
      const DictObject &left = a.dict(), &right = b.dict();
      if (left.entries.size() != right.entries.size()) return false;
      for (const auto& [key, value] : left.entries) {
        const Value* other = right.find(budget, key);
        if (other == nullptr || !equal(budget, value, *other)) return false;
      }
      return true;
    }
    case Kind::kRange: {
      const auto &left = a.as<RangeObject>(), &right = b.as<RangeObject>();
      const uint64_t size = left.size();
      if (size != right.size()) return false;
      return size == 0 || (left.start == right.start && (size == 1 || left.step == right.step));
    }
    case Kind::kFunction: {
      const auto &left = a.as<FunctionObject>(), &right = b.as<FunctionObject>();
      return left.function == right.function && left.self.object() == right.self.object();
    }
    default: return a.object() == b.object();
  }
}

}  // namespace amphora::text::jinja
