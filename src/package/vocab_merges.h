// A tokenizer described by vocab.json and merges.txt.
#pragma once

#include <optional>

#include "amphora/result.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// What the class of the tokenizer makes of the two files, as a tokenizer.json; empty if they are not there.
/// A class that is not known is refused by name, unless the directory comes with a pre-tokenizer to assume.
Result<std::optional<TokenizerText>> read_vocab_and_merges(const TokenizerDirectory& directory);

}  // namespace amphora::package
