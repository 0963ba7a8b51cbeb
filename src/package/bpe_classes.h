// The classes of tokenizers that transformers builds from vocab.json and merges.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "package/added_tokens.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// How a class frames a text: what its post-processor is.
enum class Framing : uint8_t {
  kBosEos,          ///< BOS and EOS as the settings say
  kBosEosIfSaid,    ///< the same, but a byte-level post-processor where they say nothing
  kRoberta,         ///< <cls> text <sep>
  kClip,            ///< <bos> text <eos>
  kClassSeparator,  ///< [CLS] text [SEP]
  kHerbert,         ///< the same, with the ids 0 and 2
};

struct BpeClass {
  std::string_view name;
  DefaultTokens tokens = {};  ///< bos, eos, unk, sep, pad, cls, mask
  std::string_view normalizer = {};
  /// The pre-tokenizer: a whole one, or what comes before the byte level; `byte_level_words` is its
  /// use_regex.
  std::string_view pre_tokenizer = {}, before_byte_level = {};
  bool byte_level_words = true, prefix_space = false;
  std::string_view word_end = {};  ///< end_of_word_suffix
  bool has_unknown = false;        ///< the model has an unk_token
  bool plain_specials = false;     ///< special tokens lose the properties that files give them
  Framing framing = Framing::kBosEos;
};

/// Null if the class is not known; "Fast" at the end of a name changes nothing.
const BpeClass* find_bpe_class(std::string_view name);
std::string known_bpe_classes();

/// The name of the tokenizer's class: tokenizer_config.json's, else config.json's, else that of the
/// model_type. Empty if nothing tells.
struct ClassName {
  std::string text;
  bool is_given = false;  ///< one of the files names a class, whether or not it is the one taken
};
ClassName tokenizer_class_of(const TokenizerDirectory& directory);

}  // namespace amphora::package
