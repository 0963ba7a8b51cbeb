// What there is to say of a tokenizer.json that came from elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/pre_tokenizers.h"

namespace amphora::package {

/// A pre-tokenizer that is not supported.
struct UnknownPreTokenizer {
  std::string json;    ///< as it stands in the file
  std::string reason;  ///< a sentence
};
/// Empty if the pre-tokenizer is supported, malformed (which is another fault) or not there.
std::optional<UnknownPreTokenizer> find_unknown_pre_tokenizer(std::string_view tokenizer_json);

/// The text with another pre-tokenizer in the place of its own, and all else as it is.
std::string with_pre_tokenizer(std::string_view tokenizer_json, const PreTokenizer& pre_tokenizer);

/// What the file asks for and what is not done: truncation and padding.
std::vector<std::string> notes_on_blocks(std::string_view tokenizer_json);

}  // namespace amphora::package
