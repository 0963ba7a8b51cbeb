// Decodes four digits at a time; bits that no byte holds must be zero.
#include "formats/cmf/base64.h"

namespace amphora::cmf {

std::optional<std::vector<uint8_t>> decode_base64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const size_t padding = !last ? 0 : text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    uint32_t quad = 0;
    for (size_t i = 0; i < 4 - padding; ++i) {
      const size_t digit = kAlphabet.find(text[at + i]);
      if (digit == kAlphabet.npos) return std::nullopt;
      quad |= static_cast<uint32_t>(digit) << (18 - 6 * i);
    }
    if ((quad & ((1u << (8 * padding)) - 1)) != 0) return std::nullopt;
    for (size_t i = 0; i < 3 - padding; ++i) bytes.push_back(static_cast<uint8_t>(quad >> (16 - 8 * i)));
  }
  return bytes;
}

}  // namespace amphora::cmf
