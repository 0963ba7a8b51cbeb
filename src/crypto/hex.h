// Lower-case hexadecimal digits, as the formats write hashes and keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "amphora/bytes.h"

namespace amphora::crypto {

std::string to_hex(Bytes bytes);
/// Sixteen digits, the most significant first.
std::string to_hex(uint64_t value);

/// Two digits per byte, lower case only; fills `out`, or returns false if the text is anything else.
bool from_hex(std::string_view text, MutableBytes out);
/// Sixteen lower-case digits.
std::optional<uint64_t> u64_from_hex(std::string_view text);

}  // namespace amphora::crypto
