// Base64 as Rust's crate of that name reads it by default: standard alphabet, padding wanted, no stray bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace amphora::text {

/// The bytes, or empty if it is no such text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace amphora::text
