// Lower-case hexadecimal digits.
#include "crypto/hex.h"

#include <array>

namespace amphora::crypto {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(Bytes bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::string to_hex(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

bool from_hex(std::string_view text, MutableBytes out) {
  if (text.size() != 2 * out.size()) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t high = kDigits.find(text[2 * i]), low = kDigits.find(text[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return false;
    out[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

std::optional<uint64_t> u64_from_hex(std::string_view text) {
  std::array<std::byte, 8> bytes{};
  if (!from_hex(text, bytes)) return std::nullopt;
  uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<uint64_t>(byte);
  return value;
}

}  // namespace amphora::crypto
