// What one rendering shares between its functions: the budget, the clock, objects that live until its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace amphora::text::jinja {

class Runtime {
 public:
  explicit Runtime(std::optional<int64_t> now_unix_seconds) : now_(now_unix_seconds) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime() {
    // Namespaces can hold one another in circles.
    for (const auto& object : namespaces_) object->attributes.clear();
  }

  Budget& budget() { return budget_; }
  /// The clock of strftime_now, UTC; the system's if the caller gave none.
  int64_t now_unix_seconds() const;

  /// As long as it lives, strings that are made count as quoted if `quotes`: what an operation makes of
  /// quoted text is quoted as a whole, unless the operation knows better.
  class Quoting {
   public:
    Quoting(Runtime& runtime, bool quotes) : runtime_(runtime), outer_(runtime.is_quoting_) {
      runtime_.is_quoting_ = outer_ || quotes;
    }
    Quoting(const Quoting&) = delete;
    Quoting& operator=(const Quoting&) = delete;
    ~Quoting() { runtime_.is_quoting_ = outer_; }

   private:
    Runtime& runtime_;
    bool outer_;
  };

  Value string(std::string text, bool markup = false) {
    return is_quoting_ ? make_quoted_string(&budget_, std::move(text), markup)
                       : make_string(&budget_, std::move(text), markup);
  }
  /// With exactly the ranges that it carries.
  Value string_of(QuotedText text, bool markup = false) {
    return make_string(&budget_, std::move(text.text), markup, std::move(text.quoted));
  }
  /// A part of a string: a view into it, or empty.
  Value part_of(const Value& string, std::string_view part);
  Value list(std::vector<Value> items) { return make_list(&budget_, std::move(items)); }
  Value tuple(std::vector<Value> items) { return make_tuple(&budget_, std::move(items)); }
  Value dict(std::vector<DictObject::Entry> entries) { return make_dict(&budget_, std::move(entries)); }
  Value undefined(std::string message) { return make_undefined(&budget_, std::move(message)); }
  Value generator(std::vector<Value> items, std::optional<Error> error = std::nullopt) {
    return make_iterator(&budget_, "generator", std::move(items), std::move(error));
  }
  Value new_namespace(std::vector<NamedValue> attributes);

  bool equals(const Value& a, const Value& b) { return equal(&budget_, a, b); }

 private:
  Budget budget_;
  std::optional<int64_t> now_;
  bool is_quoting_ = false;
  std::vector<std::shared_ptr<NamespaceObject>> namespaces_;
};

}  // namespace amphora::text::jinja
