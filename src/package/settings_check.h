// Where the settings beside a tokenizer.json contradict it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "package/tokenizer_source.h"

namespace amphora::package {

/// Notes on what tokenizer_config.json, special_tokens_map.json and added_tokens.json say otherwise than the
/// tokenizer.json beside them, which is the one that counts. Refuses settings that are malformed.
Result<std::vector<std::string>> notes_on_settings(std::string_view tokenizer_json,
                                                   const TokenizerDirectory& directory);

}  // namespace amphora::package
