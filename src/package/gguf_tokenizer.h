// The tokenizer of a GGUF file, rebuilt as the tokenizer.json that Hugging Face would have.
#pragma once

#include <string>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/pre_tokenizers.h"

namespace amphora::package {

struct GgufTokenizer {
  std::string tokenizer_json;  ///< empty if the file has no vocabulary
  TokenizerConfig config;
  std::vector<std::string> notes;  ///< what was left out
  bool took_assumed_pre_tokenizer = false;
};

/// Reads the keys under `tokenizer.`. Models: gpt2 (byte-level BPE with the pre-tokenizer that
/// tokenizer.ggml.pre names) and llama (SentencePiece BPE: merges from pieces and scores). Another model and
/// an unknown pre-tokenizer are refused by name: a guess would split text wrongly and nobody would notice. If
/// the caller knows the pre-tokenizer (`assumed`), it takes the place of an unknown one.
Result<GgufTokenizer> rebuild_tokenizer(const gguf::Directory& directory,
                                        const PreTokenizer* assumed = nullptr);

}  // namespace amphora::package
