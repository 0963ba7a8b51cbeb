// The pre-tokenizers that are known by name: how byte-level models cut text before BPE.
#pragma once

#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora::package {

/// A name as GGUF files have it in tokenizer.ggml.pre, and what it stands for.
struct PreTokenizer {
  std::string_view name;
  std::string_view split;  ///< regular expression of an isolating split before the byte level, or empty
  bool gpt2_split;         ///< the byte level's own expression (GPT-2's) comes after it
  bool ignore_merges;      ///< a word that is in the vocabulary is not merged from its parts
  bool nfc;                ///< text is normalised first
  bool adds_bos;           ///< where a GGUF file does not say
};

/// Null if the name is unknown.
const PreTokenizer* find_pre_tokenizer(std::string_view name);
/// As find_pre_tokenizer, for a name that a person gave: an unknown one is a fault of usage that lists all.
Result<const PreTokenizer*> choose_pre_tokenizer(std::string_view name);
/// All names, with commas between.
std::string known_pre_tokenizers();
/// The way out for a person who knows what a source does not say.
std::string offer_to_assume();
/// What is to be said where a person's word was taken.
std::string note_of_assumption(const PreTokenizer& assumed);

/// The section `pre_tokenizer` of a tokenizer.json.
std::string pre_tokenizer_json(const PreTokenizer& pre_tokenizer);

}  // namespace amphora::package
