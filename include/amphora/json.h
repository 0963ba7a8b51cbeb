// A strict JSON document that keeps what a rewrite must not lose: the order of members and the text of
// numbers.
//
// Refused: duplicate keys in one object (compared after unescaping), a byte-order mark, NaN and infinities
// (1e999 too), lone surrogate escapes, ill-formed UTF-8, anything but white space around the value, and more
// than Limits::depth levels (the root value is level 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amphora/result.h"

namespace amphora::json {

enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
/// "null", "boolean", "number", "string", "array", "object".
std::string_view kind_name(Kind kind);

class Value;
struct Member;

class Value {
 public:
  Value() = default;
  static Value boolean(bool value);
  static Value string(std::string text);
  static Value integer(int64_t value);
  static Value unsigned_integer(uint64_t value);
  /// The shortest text that reads back as the same double; the value must be finite.
  static Value number(double value);
  /// As number(), but the shortest text that reads back as the same float.
  static Value number(float value);
  static Value array();  // no default arguments below: Member is incomplete here, and clang would need it
  static Value array(std::vector<Value> items);
  static Value object();
  static Value object(std::vector<Member> members);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_number() const { return kind_ == Kind::kNumber; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  bool as_bool() const { return bool_; }
  /// A string's content, or a number as it is written.
  const std::string& text() const { return text_; }
  /// The number's value; 0 for other kinds.
  double as_double() const;
  /// The number, if it is written without fraction and exponent and fits.
  std::optional<uint64_t> as_unsigned() const;
  std::optional<int64_t> as_integer() const;

  const std::vector<Value>& items() const { return items_; }
  std::vector<Value>& items() { return items_; }
  const std::vector<Member>& members() const { return members_; }
  std::vector<Member>& members() { return members_; }
  /// The member named `key`, or null: absence is normal.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// As find(), but a member whose value is JSON null counts as absent.
  const Value* find_present(std::string_view key) const;
  /// Replaces the member in place or appends it.
  void set(std::string_view key, Value value);
  void erase(std::string_view key);

  /// Equal as values: members in any order, numbers by value.
  bool operator==(const Value& other) const;

 private:
  friend class Builder;
  static Value number_text(std::string text);

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  std::string text_;
  std::vector<Value> items_;
  std::vector<Member> members_;
};

struct Member {
  std::string key;
  Value value;
};

struct Limits {
  size_t depth = 64;
};

/// Reads a document. An error is kCorrupt with code "Parse", a place like `$.a.b[0]` ("$" for the root), the
/// offset of the fault in `text` and a sentence; a duplicate key's sentence contains the words "duplicate
/// key".
Result<Value> parse(std::string_view text, const Limits& limits = {});

/// Compact JSON: no white space, UTF-8 unescaped, numbers as they were written.
std::string dump(const Value& value);
/// Indented by two spaces, for people.
std::string dump_pretty(const Value& value);

/// `.key` or `["odd key"]`: one more step of a JSON path.
std::string path_step(std::string_view key);

}  // namespace amphora::json
