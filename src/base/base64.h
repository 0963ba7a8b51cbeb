// Base64 (RFC 4648 §4): standard alphabet, canonical padding, nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace amphora {

/// The bytes of the text, or empty if it is not the one text that encodes them.
std::optional<std::string> decode_base64(std::string_view text);

/// The one text that stands for the bytes.
std::string encode_base64(std::string_view bytes);

}  // namespace amphora
