// The SentencePiece model of a Hugging Face directory as the source of its tokenizer.
#pragma once

#include <optional>

#include "amphora/result.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// Reads tokenizer.model, spiece.model or sentencepiece.bpe.model and what tokenizer_config.json,
/// added_tokens.json and special_tokens_map.json say beside it. Empty if there is no such file, or if
/// tokenizer.model is a file of another kind. Tokenizer classes that number pieces in their own way or
/// rewrite text before SentencePiece does are refused by name (docs/formats/tokenizer.md).
Result<std::optional<TokenizerText>> read_spm_tokenizer(const TokenizerDirectory& directory);

}  // namespace amphora::package
