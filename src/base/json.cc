// The strict JSON reader: nlohmann's lexer does the grammar, the builder here keeps order, number text and
// paths.
#include "amphora/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace amphora::json {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBool: return "boolean";
    case Kind::kNumber: return "number";
    case Kind::kString: return "string";
    case Kind::kArray: return "array";
    case Kind::kObject: return "object";
  }
  return "value";
}

std::string path_step(std::string_view key) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!key.empty() && std::ranges::all_of(key, is_plain)) return "." + std::string(key);
  return "[" + dump(Value::string(std::string(key))) + "]";
}

/// Receives the events of nlohmann's parser. Returning false stops it; `error` then says why.
class Builder {
 public:
  using Sax = nlohmann::json;

  explicit Builder(const Limits& limits) : limits_(limits) {}

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value::boolean(value)); }
  bool number_integer(Sax::number_integer_t value) {
    // A non-negative integer comes as unsigned, so zero here was written "-0".
    return add(Value::number_text(value == 0 ? "-0" : std::to_string(value)));
  }
  bool number_unsigned(Sax::number_unsigned_t value) {
    return add(Value::number_text(std::to_string(value)));
  }
  bool number_float(Sax::number_float_t, const Sax::string_t& text) { return add(Value::number_text(text)); }
  bool string(Sax::string_t& text) { return add(Value::string(std::move(text))); }
  bool binary(Sax::binary_t&) { return false; }

  bool start_object(size_t) { return open(Value::object()); }
  bool start_array(size_t) { return open(Value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(Sax::string_t& key) {
    Level& level = levels_.back();
    if (!level.keys.insert(key).second) {
      level.key = key;
      return refuse("duplicate key " + dump(Value::string(key)));
    }
    level.key = std::move(key);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& exception) {
    position_ = position;
    constexpr int kOutOfRange = 406;
    refuse(exception.id == kOutOfRange ? "a number is not finite"
                                       : "not valid JSON: " + sentence_of(exception));
    return false;
  }

  Value take() && { return std::move(root_); }
  const std::string& fault() const { return fault_; }
  const std::string& fault_path() const { return fault_path_; }
  std::optional<uint64_t> position() const { return position_; }

 private:
  struct Level {
    Value value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …": the last part is for
  // people.
  static std::string sentence_of(const nlohmann::detail::exception& exception) {
    const std::string_view what = exception.what();
    const size_t start = what.find(": ");
    return std::string(start == std::string_view::npos ? what : what.substr(start + 2));
  }

  bool refuse(std::string why) {
    fault_ = std::move(why);
    fault_path_ = "$";
    for (const Level& level : levels_) {
      if (level.value.is_object()) {
        if (!level.key.empty() || !level.keys.empty()) fault_path_ += path_step(level.key);
      } else {
        fault_path_ += fmt::format("[{}]", level.value.items().size());
      }
    }
    return false;
  }

  bool open(Value container) {
    if (levels_.size() >= limits_.depth) return refuse(fmt::format("more than {} levels", limits_.depth));
    levels_.push_back({std::move(container), {}, {}});
    return true;
  }

  bool close() {
    Value done = std::move(levels_.back().value);
    levels_.pop_back();
    return add(std::move(done));
  }

  bool add(Value value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.value.is_object()) {
      level.value.members().push_back({level.key, std::move(value)});
    } else {
      level.value.items().push_back(std::move(value));
    }
    return true;
  }

  Limits limits_;
  std::vector<Level> levels_;
  Value root_;
  std::string fault_, fault_path_;
  std::optional<uint64_t> position_;
};

Result<Value> parse(std::string_view text, const Limits& limits) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    return fail_at(Fault::kCorrupt, "Parse", "$", 0, "a byte-order mark stands before the JSON");
  }
  // nlohmann's lexer takes a NUL for the end of its input; in JSON it can stand nowhere.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return fail_at(Fault::kCorrupt, "Parse", "$", nul, "not valid JSON: a NUL byte");
  }
  Builder builder(limits);
  try {
    if (nlohmann::json::sax_parse(text, &builder)) return std::move(builder).take();
  } catch (const nlohmann::json::exception& exception) {
    return fail_at(Fault::kCorrupt, "Parse", "$", std::nullopt,
                   std::string("not valid JSON: ") + exception.what());
  }
  return fail_at(Fault::kCorrupt, "Parse", builder.fault_path(), builder.position(), builder.fault());
}

Value Value::boolean(bool value) {
  Value result;
  result.kind_ = Kind::kBool;
  result.bool_ = value;
  return result;
}

Value Value::string(std::string text) {
  Value result;
  result.kind_ = Kind::kString;
  result.text_ = std::move(text);
  return result;
}

namespace {

template <class T>
std::string shortest_text(T value) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end.ptr);
  // A number key must stay a number with a fraction for readers that tell 1 from 1.0.
  if constexpr (std::is_floating_point_v<T>) {
    if (text.find_first_of(".eE") == std::string::npos) text += ".0";
  }
  return text;
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Value Value::number_text(std::string text) {
  Value result;
  result.kind_ = Kind::kNumber;
  result.text_ = std::move(text);
  return result;
}

Value Value::integer(int64_t value) { return number_text(shortest_text(value)); }
Value Value::unsigned_integer(uint64_t value) { return number_text(shortest_text(value)); }
Value Value::number(double value) { return number_text(shortest_text(value)); }
Value Value::number(float value) { return number_text(shortest_text(value)); }

Value Value::array() { return array(std::vector<Value>()); }
Value Value::object() { return object(std::vector<Member>()); }

Value Value::array(std::vector<Value> items) {
  Value result;
  result.kind_ = Kind::kArray;
  result.items_ = std::move(items);
  return result;
}
Value Value::object(std::vector<Member> members) {
  Value result;
  result.kind_ = Kind::kObject;
  result.members_ = std::move(members);
  return result;
}

double Value::as_double() const {
  double value = 0;
  if (kind_ == Kind::kNumber) std::from_chars(text_.data(), text_.data() + text_.size(), value);
  return value;
}

std::optional<uint64_t> Value::as_unsigned() const {
  if (kind_ != Kind::kNumber) return std::nullopt;
  return text_ == "-0" ? 0 : whole_number<uint64_t>(text_);
}

std::optional<int64_t> Value::as_integer() const {
  return kind_ == Kind::kNumber ? whole_number<int64_t>(text_) : std::nullopt;
}

const Value* Value::find(std::string_view key) const {
  const auto found = std::ranges::find(members_, key, &Member::key);
  return found == members_.end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) {
  const auto found = std::ranges::find(members_, key, &Member::key);
  return found == members_.end() ? nullptr : &found->value;
}

const Value* Value::find_present(std::string_view key) const {
  const Value* value = find(key);
  return value != nullptr && value->is_null() ? nullptr : value;
}

void Value::set(std::string_view key, Value value) {
  if (Value* present = find(key)) {
    *present = std::move(value);
  } else {
    members_.push_back({std::string(key), std::move(value)});
  }
}

void Value::erase(std::string_view key) {
  std::erase_if(members_, [&](const Member& member) { return member.key == key; });
}

bool Value::operator==(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kNull: return true;
    case Kind::kBool: return bool_ == other.bool_;
    case Kind::kString: return text_ == other.text_;
    case Kind::kNumber: {
      const auto mine = as_integer();
      const auto theirs = other.as_integer();
      if (mine && theirs) return *mine == *theirs;
      return text_ == other.text_ || as_double() == other.as_double();
    }
    case Kind::kArray: return items_ == other.items_;
    case Kind::kObject:
      if (members_.size() != other.members_.size()) return false;
      return std::ranges::all_of(members_, [&](const Member& member) {
        const Value* theirs = other.find(member.key);
        return theirs != nullptr && member.value == *theirs;
      });
  }
  return false;
}

namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// `indent` < 0: compact.
void append(std::string& out, const Value& value, int indent) {
  const auto new_line = [&](int at) {
    if (at >= 0) out.append(1, '\n').append(static_cast<size_t>(at), ' ');
  };
  const int inner = indent < 0 ? -1 : indent + 2;
  switch (value.kind()) {
    case Kind::kNull: out += "null"; break;
    case Kind::kBool: out += value.as_bool() ? "true" : "false"; break;
    case Kind::kNumber: out += value.text(); break;
    case Kind::kString: append_string(out, value.text()); break;
    case Kind::kArray: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out += ',';
        first = false;
        new_line(inner);
        append(out, item, inner);
      }
      if (!first) new_line(indent);
      out += ']';
      break;
    }
    case Kind::kObject: {
      out += '{';
      bool first = true;
      for (const Member& member : value.members()) {
        if (!first) out += ',';
        first = false;
        new_line(inner);
        append_string(out, member.key);
        out += indent < 0 ? ":" : ": ";
        append(out, member.value, inner);
      }
      if (!first) new_line(indent);
      out += '}';
      break;
    }
  }
}

}  // namespace

std::string dump(const Value& value) {
  std::string out;
  append(out, value, -1);
  return out;
}

std::string dump_pretty(const Value& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

}  // namespace amphora::json
