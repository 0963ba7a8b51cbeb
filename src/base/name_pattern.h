// A regular expression that picks names: `--filter REGEX`, `--quant-rule 'REGEX=q8'`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora {

/// A PCRE2 expression over UTF-8, with bounded matching. Immutable; copies share the compiled code.
class NamePattern {
 public:
  /// kUsage, with the place in the pattern, if it is not a regular expression.
  static Result<NamePattern> compile(std::string_view pattern);
  /// Whether the expression is found anywhere in the name. An expression that exceeds the matching limits
  /// counts as not found.
  bool found_in(std::string_view name) const;

 private:
  struct Code;
  explicit NamePattern(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace amphora
