// A tokenizer described by a file of ranks.
#pragma once

#include <optional>

#include "amphora/result.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// The directory's tiktoken file (`tokenizer.model` and `tiktoken.model` by their content, `*.tiktoken`) as a
/// tokenizer.json; empty if there is none. The file does not say how text is cut first: that follows from the
/// tokenizer's class, from the file's name or from the model's type. Where none of them tells, it is refused,
/// unless the directory comes with a pre-tokenizer to assume.
Result<std::optional<TokenizerText>> read_tiktoken(const TokenizerDirectory& directory);

}  // namespace amphora::package
