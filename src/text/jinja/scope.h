// Variables by name, each scope within another: the template's, a loop's round, a macro's call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace amphora::text::jinja {

class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

  const std::shared_ptr<Scope>& parent() const { return parent_; }
  void set(std::string_view name, Value value) {
    if (Value* found = find_here(name)) {
      *found = std::move(value);
    } else {
      variables_.emplace_back(name, std::move(value));
    }
  }
  Value* find_here(std::string_view name) {
    for (auto& [key, value] : variables_)
      if (key == name) return &value;
    return nullptr;
  }
  size_t size() const { return variables_.size(); }
  void clear() { variables_.clear(); }

  /// Whether a macro was defined here: then the evaluator keeps the scope to its end.
  bool is_kept = false;

 private:
  std::shared_ptr<Scope> parent_;
  std::vector<NamedValue> variables_;
};

}  // namespace amphora::text::jinja
