// The tokenizer side of a Hugging Face directory: chat template and token ids.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// Reads chat_template.jinja and generation_config.json where they exist; `config` is tokenizer_config.json,
/// or null. An id that generation_config.json does not give is taken from `config_ids`, those of config.json.
/// Adds to `notes` what was left aside.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& directory,
                                              const json::Value& config, const TokenizerConfig& config_ids,
                                              std::vector<std::string>& notes);

}  // namespace amphora::package
