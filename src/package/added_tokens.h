// The tokens that a Hugging Face directory adds to a vocabulary, from the files beside it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "package/tokenizer_json.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// The tokens that have a part to play, in the order in which transformers adds them.
enum class Part : uint8_t { kBos, kEos, kUnknown, kSeparator, kPadding, kClass, kMask };
inline constexpr size_t kPartCount = 7;
/// By Part: what a class of tokenizers takes where the files do not say; empty for none.
using DefaultTokens = std::array<std::string_view, kPartCount>;

/// What the files say of tokens.
struct TokenSettings {
  std::vector<AddedToken> with_ids;  ///< of added_tokens_decoder or added_tokens.json, by id
  std::array<std::optional<AddedToken>, kPartCount> parts;
  std::vector<AddedToken> others;  ///< further special tokens, without ids
  std::optional<bool> adds_bos, adds_eos;
  std::array<bool, kPartCount> denied = {};  ///< parts that a file names as null: there is no such token

  bool is_denied(Part which) const { return denied[static_cast<size_t>(which)]; }
  const std::optional<AddedToken>& part(Part which) const { return parts[static_cast<size_t>(which)]; }
};

/// A token as a string, which stands for a special one, or as an object with its properties. `special`: where
/// the object does not say.
Result<AddedToken> read_token(const json::Value& value, const std::string& place, bool special);

/// Reads tokenizer_config.json, special_tokens_map.json and added_tokens.json as transformers 5 does: the two
/// older files count only where the first has no added_tokens_decoder. `older_list_counts`: the list
/// additional_special_tokens of special_tokens_map.json does where tokenizer_config.json has none; for
/// SentencePiece models it never does.
Result<TokenSettings> read_token_settings(const TokenizerDirectory& directory, const DefaultTokens& defaults,
                                          bool older_list_counts);

using FindId = std::function<std::optional<uint32_t>(const std::string& content)>;

/// All the tokens by id: each has that of the vocabulary, or the next behind it. The files' own ids must
/// agree. `overwrites`: every special token becomes a plain one, whatever the files say of its properties.
Result<std::vector<AddedToken>> place_tokens(const TokenSettings& settings, bool overwrites,
                                             size_t vocabulary_size, const FindId& find_id);

}  // namespace amphora::package
