// Skips over JSON values.
#include "package/json_members.h"

#include <algorithm>
#include <string>
#include <utility>

namespace amphora::package {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  bool take(char wanted) {
    skip_space();
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  /// A string with its quotes, or whatever else is a value; empty at the end of the text.
  std::string_view take_value() {
    skip_space();
    const size_t begin = at_;
    if (at_end()) return {};
    if (text_[at_] == '"') {
      skip_string();
    } else if (text_[at_] == '{' || text_[at_] == '[') {
      skip_nested();
    } else {
      at_ = std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  void skip_string() {
    for (++at_; !at_end() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_nested() {
    size_t depth = 0;
    while ((at_ = std::min(text_.find_first_of("\"{}[]", at_), text_.size())) < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool is_key(std::string_view quoted, std::string_view key) {
  if (!quoted.contains('\\')) return quoted.size() == key.size() + 2 && quoted.substr(1, key.size()) == key;
  const auto value = json::parse(quoted);
  return value && value->is_string() && value->text() == key;
}

}  // namespace

std::optional<std::string_view> find_member_text(std::string_view json, std::string_view key) {
  Scanner in(json);
  if (!in.take('{')) return std::nullopt;
  do {
    const std::string_view name = in.take_value();
    if (!name.starts_with('"') || !in.take(':')) return std::nullopt;
    const std::string_view value = in.take_value();
    if (is_key(name, key) && !value.empty()) return value;
  } while (in.take(','));
  return std::nullopt;
}

json::Value parse_member(std::string_view json, std::string_view key) {
  const auto text = find_member_text(json, key);
  if (!text) return {};
  auto value = json::parse(*text);
  return value ? *std::move(value) : json::Value();
}

}  // namespace amphora::package
