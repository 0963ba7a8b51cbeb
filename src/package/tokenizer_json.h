// A tokenizer.json put together from its parts. The text is written directly: a vocabulary of 262,144 pieces
// with its merges is 12 MB, and a tree of JSON values would take ten times that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "package/piece_merges.h"

namespace amphora::package {

inline constexpr std::string_view kSpaceMark = "\u2581";  ///< a space in SentencePiece's vocabularies
/// The decoder of byte-level vocabularies.
inline constexpr std::string_view kByteLevelDecoder =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";

/// The text as a JSON string.
std::string json_text(std::string_view text);

/// A line of "added_tokens".
struct AddedToken {
  uint32_t id = 0;
  std::string content = {};
  bool special = true;
  bool single_word = false, strip_left = false, strip_right = false;
  bool normalized = false;  ///< looked for in the normalized text

  bool operator==(const AddedToken&) const = default;
};

/// A token with its id, for the post-processor.
struct NamedToken {
  uint32_t id = 0;
  std::string text;
};

/// Puts BOS before and EOS behind a text, as far as each is given.
std::string post_processor_json(const std::optional<NamedToken>& bos, const std::optional<NamedToken>& eos);

/// A model of the type BPE. `fields` are its settings as JSON; merges are pairs of ids.
std::string bpe_model_json(std::string_view fields, std::span<const std::string> pieces,
                           std::span<const Merge> merges);

/// The components with which Hugging Face reads SentencePiece's BPE without a character map: each stretch of
/// ordinary text begins with a space of its own if `prefix`.
struct LlamaComponents {
  std::string normalizer, decoder;
  std::string model_fields;
};
LlamaComponents llama_components(bool prefix, std::optional<std::string_view> unknown, bool byte_fallback);

struct TokenizerParts {
  std::vector<AddedToken> added_tokens;
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null", decoder = "null";
  std::string model;
};
std::string tokenizer_json(const TokenizerParts& parts);

}  // namespace amphora::package
