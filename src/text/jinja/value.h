// Values of a running template: Python's, as far as chat templates can reach them.
//
// All values but namespaces, iterators and the like are immutable, as the immutable sandbox has it. A value's
// memory is charged to the budget that it was made with; that budget must outlive it. Literals of the
// template have none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/budget.h"
#include "text/quoted_text.h"

namespace amphora::text::jinja {

enum class Kind : uint8_t {
  kNone,
  kUndefined,
  kBool,
  kInteger,
  kBigInteger,  ///< an integer that does not fit 64 bits (see number.h)
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,  ///< d.keys(), d.values(), d.items()
  kRange,
  kIterator,  ///< what generators and reversed() are in Python: can be walked once
  kNamespace,
  kLoop,
  kMacro,
  kFunction,  ///< a global function, or a method together with its object
  kCycler,
  kJoiner,
};

class Value;
struct StringObject;
struct DictObject;

/// Base of what values share; refunds its charge when the last value lets go.
class Object {
 public:
  Object(Budget* budget, size_t bytes, uint32_t depth = 0, bool quotes = false);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object();
  uint32_t depth() const { return depth_; }
  bool quotes() const { return quotes_; }

 private:
  Budget* budget_;
  size_t bytes_;
  uint32_t depth_;
  bool quotes_;
};

class Value {
 public:
  Value() = default;  ///< None
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value floating(double value);
  static Value with_object(Kind kind, std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list_or_tuple() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  /// bool, int of any size or float (a bool is an int in Python).
  bool is_number() const { return is_integral() || kind_ == Kind::kBigInteger || kind_ == Kind::kFloat; }
  /// bool or int of 64 bits.
  bool is_integral() const { return kind_ == Kind::kBool || kind_ == Kind::kInteger; }

  bool as_bool() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }  ///< of an integral value
  /// Of an integral value or a float; to_double() takes any number.
  double as_float() const { return kind_ == Kind::kFloat ? float_ : static_cast<double>(integer_); }
  std::string_view text() const;            ///< of a string
  bool is_markup() const;                   ///< a string marked as safe HTML
  const std::vector<Value>& items() const;  ///< of a list or tuple
  const DictObject& dict() const;           ///< of a dict
  const std::shared_ptr<Object>& object() const { return object_; }
  template <class T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  uint32_t depth() const { return object_ ? object_->depth() : 0; }
  /// Whether it holds quoted text (see quoted_text.h), or could.
  bool quotes() const { return object_ && object_->quotes(); }

 private:
  Kind kind_ = Kind::kNone;
  union {
    int64_t integer_ = 0;
    double float_;
  };
  std::shared_ptr<Object> object_;
};

using NamedValue = std::pair<std::string, Value>;

struct StringObject : Object {
  StringObject(Budget* budget, std::string content, bool is_markup, QuotedRanges ranges);
  std::string text;  ///< UTF-8
  QuotedRanges quoted;
  size_t code_points;  ///< Python's len()
  bool markup;
  bool is_ascii() const { return code_points == text.size(); }
};

struct ListObject : Object {
  ListObject(Budget* budget, std::vector<Value> values);
  std::vector<Value> items;
  std::vector<std::string> field_names;  ///< of a named tuple (groupby), otherwise empty
};

/// Keys in the order of their first insertion; complete once made.
struct DictObject : Object {
  using Entry = std::pair<Value, Value>;
  /// Later entries with an equal key replace earlier ones in place, as in a dict display. All keys must be
  /// hashable.
  DictObject(Budget* budget, std::vector<Entry> entries);
  /// Spends steps for the key's hash and comparison.
  const Value* find(Budget* budget, const Value& key) const;
  const Value* find(Budget* budget, std::string_view key) const;
  std::vector<Entry> entries;

 private:
  void insert(Budget* budget, Entry entry);
  std::optional<size_t> find_index(Budget* budget, const Value& key, uint64_t hash) const;
  std::unordered_multimap<uint64_t, size_t> index_;
};

struct DictViewObject : Object {
  enum class Part : uint8_t { kKeys, kValues, kItems };
  DictViewObject(Budget* budget, Value owner, Part shown);
  Value dict;
  Part part;
};

struct RangeObject : Object {
  RangeObject(Budget* budget, int64_t first, int64_t end, int64_t by);
  int64_t start, stop, step;
  uint64_t size() const;
  int64_t at(uint64_t index) const { return start + static_cast<int64_t>(index) * step; }
};

/// Computed ahead, for its functions have no effects; an error shows when the walk gets there.
struct IteratorObject : Object {
  IteratorObject(Budget* budget, std::string type, std::vector<Value> values, std::optional<Error> at_end);
  std::string type_name;
  std::vector<Value> items;
  std::optional<Error> error;  ///< what ends the walk, if it is not the end
  size_t next_index = 0;
};

struct NamespaceObject : Object {
  // It counts as quoting from the start: what contains it is not told when its attributes change.
  explicit NamespaceObject(Budget* budget)
      : Object(budget, sizeof(NamespaceObject), 0, /*quotes=*/true), budget_(budget) {}
  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
  std::vector<NamedValue> attributes;
  mutable bool is_being_shown = false;  ///< within repr(), where it may meet itself

 private:
  Budget* budget_;
};

struct UndefinedObject : Object {
  UndefinedObject(Budget* budget, std::string text)
      : Object(budget, sizeof(UndefinedObject) + text.size()), message(std::move(text)) {
    if (budget != nullptr) budget->spend_bytes(message.size());
  }
  std::string message;  ///< what an attempt to use it says
};

struct BigIntegerObject : Object {
  BigIntegerObject(Budget* budget, std::string text)
      : Object(budget, sizeof(BigIntegerObject) + text.size()), digits(std::move(text)) {}
  std::string digits;  ///< decimal, after a '-' if it is negative; no leading zeros
};

struct CyclerObject : Object {
  CyclerObject(Budget* budget, std::vector<Value> values);
  std::vector<Value> items;
  size_t index = 0;
};

struct JoinerObject : Object {
  JoinerObject(Budget* budget, Value text)
      : Object(budget, sizeof(JoinerObject)), separator(std::move(text)) {}
  Value separator;
  bool used = false;
};

struct CallArguments {
  std::vector<Value> positional;
  std::vector<NamedValue> named;
  bool has_quoted_names = false;  ///< some of the names were keys of a dict that quotes
  bool quotes() const;
};

class Runtime;
/// A filter, a test, a method or a global function. `self` is the operand or object; None for global
/// functions.
using NativeFunction = Result<Value> (*)(Runtime& runtime, const Value& self, const CallArguments& arguments);

struct FunctionObject : Object {
  FunctionObject(Budget* budget, std::string_view function_name, NativeFunction code, Value object);
  std::string_view name;  ///< of a static table
  NativeFunction function;
  Value self;
};

Value make_string(Budget* budget, std::string text, bool markup = false, QuotedRanges quoted = {});
/// All of it quoted.
Value make_quoted_string(Budget* budget, std::string text, bool markup = false);
Value make_list(Budget* budget, std::vector<Value> items);
Value make_tuple(Budget* budget, std::vector<Value> items);
Value make_dict(Budget* budget, std::vector<DictObject::Entry> entries);
Value make_undefined(Budget* budget, std::string message);
Value make_iterator(Budget* budget, std::string type, std::vector<Value> items,
                    std::optional<Error> error = std::nullopt);

/// Depth of the deepest of them.
uint32_t deepest(const std::vector<Value>& items);
bool any_quotes(const std::vector<Value>& items);

/// Python's type(value).__name__.
std::string type_name(const Value& value);
/// Python's bool(value).
bool is_true(const Value& value);
/// Python's callable(value).
bool is_callable(const Value& value);
/// Python's hash; empty for unhashable values. Equal values have equal hashes. Spends steps; a meaningless
/// hash once the budget is exceeded.
std::optional<uint64_t> hash_value(Budget* budget, const Value& value);
/// Python's ==. Spends steps; false once the budget is exceeded.
bool equal(Budget* budget, const Value& a, const Value& b);
/// Python's len(); empty where that is a TypeError.
std::optional<uint64_t> length_of(const Value& value);

}  // namespace amphora::text::jinja
