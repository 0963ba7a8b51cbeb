// Arguments of a call, bound to the names of a native function's parameters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Values by parameter; null for those that were not given.
class BoundArguments {
 public:
  explicit BoundArguments(std::vector<const Value*> values) : values_(std::move(values)) {}
  const Value* find(size_t index) const { return values_[index]; }
  /// The argument, unless it is absent or None.
  const Value* find_present(size_t index) const;
  bool flag(size_t index, bool otherwise) const;

 private:
  std::vector<const Value*> values_;
};

/// Binds by position and by name, as Python does; the first `required` parameters must be given.
Result<BoundArguments> bind_arguments(std::string_view function, const CallArguments& arguments,
                                      std::initializer_list<std::string_view> parameters,
                                      size_t required = 0);

/// Binds at most `most` arguments of a function of Python that takes them by position only.
Result<BoundArguments> bind_positional(std::string_view function, const CallArguments& arguments, size_t most,
                                       size_t required = 0);
Status refuse_keywords(std::string_view function, const CallArguments& arguments);

/// What Python says when a str (an int) is needed and something else comes.
Result<std::string_view> expect_string(const Value& value, std::string_view what);
Result<int64_t> expect_integer(const Value& value);
/// An integer beyond 64 bits counts as the last one within: for what Python compares with lengths only.
Result<int64_t> expect_clamped_integer(const Value& value);
/// A flag of a Python function, which takes integers only; false if there is none.
Result<bool> expect_flag(const Value* value);

}  // namespace amphora::text::jinja
