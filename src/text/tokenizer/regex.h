// A compiled regular expression of a tokenizer, over PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/tokenizer/span.h"

namespace amphora::text {

/// Immutable; matching can run on several threads at once. Work is bounded per byte of text, and needs no
/// machine stack that grows with the text.
class Regex {
 public:
  /// `pattern` is in Oniguruma's syntax.
  static Result<Regex> compile(std::string_view pattern);

  /// All matches in `text` (well-formed UTF-8) from left to right, as Oniguruma's scan gives them: an empty
  /// match is left out where the match before it ends. A text that exhausts the limits is kRefused.
  Status find_all(std::string_view text, std::vector<Span>& matches) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace amphora::text
