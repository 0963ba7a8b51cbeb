// GPT-2's alphabet of bytes: each byte as one printable character, which byte-level vocabularies are written
// in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace amphora::text {

/// Printable Latin-1 stands for itself; the other bytes are numbered from U+0100.
inline constexpr std::array<char32_t, 256> kByteCharacters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    table[byte] = printable ? byte : next++;
  }
  return table;
}();

/// Bytes by character, for the characters up to U+0143; -1 where a character stands for no byte.
inline constexpr std::array<int16_t, 0x144> kCharacterBytes = [] {
  std::array<int16_t, 0x144> table{};
  table.fill(-1);
  for (size_t byte = 0; byte < 256; ++byte) table[kByteCharacters[byte]] = static_cast<int16_t>(byte);
  return table;
}();

constexpr std::optional<uint8_t> find_byte(char32_t character) {
  if (character >= kCharacterBytes.size() || kCharacterBytes[character] < 0) return std::nullopt;
  return static_cast<uint8_t>(kCharacterBytes[character]);
}

}  // namespace amphora::text
