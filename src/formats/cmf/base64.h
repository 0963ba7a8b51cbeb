// Base64 as the header holds it: standard alphabet, canonical padding, nothing else (docs/formats/cmf.md §9).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace amphora::cmf {

/// The bytes of the text, or empty if it is not the one text that encodes them.
std::optional<std::vector<uint8_t>> decode_base64(std::string_view text);

}  // namespace amphora::cmf
