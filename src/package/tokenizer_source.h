// Which files of a Hugging Face directory describe its tokenizer, and the tokenizer.json that they make.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "package/pre_tokenizers.h"

namespace amphora::package {

/// What a source may look at.
struct TokenizerDirectory {
  std::filesystem::path path;
  json::Value config;            ///< config.json
  json::Value tokenizer_config;  ///< tokenizer_config.json; null if there is none
  /// What to take where a pre-tokenizer is not known; null: that is refused.
  const PreTokenizer* assumed = nullptr;
};

struct TokenizerText {
  std::string_view json;  ///< the text of a tokenizer.json
  std::shared_ptr<const void> owner;
  std::vector<std::string> notes;
  bool took_assumed = false;  ///< the pre-tokenizer is the assumed one
};

/// The tokenizer of the first source in the order of preference that the directory holds: tokenizer.json as
/// it is, or what another description of a tokenizer says, put as a tokenizer.json. Empty if there is none of
/// them.
Result<std::optional<TokenizerText>> find_tokenizer(const TokenizerDirectory& directory);

/// What to say where find_tokenizer finds none: which files there are that could have been a part of one.
Result<std::string> note_on_absence(const std::filesystem::path& directory);

/// A text that its reader has put together.
TokenizerText owned_tokenizer(std::string json, std::vector<std::string> notes);

}  // namespace amphora::package
