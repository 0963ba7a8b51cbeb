// UTF-8: checking, repairing and walking over code points.
#include "unicode/utf8.h"

#include <cstring>

namespace amphora::unicode {
namespace {

struct Lead {
  uint8_t bytes;        // 0: cannot begin a character
  uint8_t second_low;   // smallest second byte: keeps out overlong forms
  uint8_t second_high;  // largest second byte: keeps out surrogates and what lies beyond U+10FFFF
};

constexpr Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

constexpr uint64_t kHighBits = 0x8080808080808080u;

size_t skip_ascii(std::string_view text, size_t offset) {
  while (text.size() - offset >= 8) {
    uint64_t block = 0;
    std::memcpy(&block, text.data() + offset, 8);
    if ((block & kHighBits) != 0) break;
    offset += 8;
  }
  while (offset < text.size() && static_cast<uint8_t>(text[offset]) < 0x80) ++offset;
  return offset;
}

// Offset of the first ill-formed byte, or the text's size.
size_t well_formed_prefix(std::string_view text) {
  size_t offset = 0;
  while ((offset = skip_ascii(text, offset)) < text.size()) {
    const Decoded decoded = decode_utf8(text, offset);
    if (!decoded.well_formed) break;
    offset += decoded.bytes;
  }
  return offset;
}

}  // namespace

Decoded decode_utf8(std::string_view text, size_t offset) {
  const auto byte_at = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t first = byte_at(offset);
  const Lead lead = lead_of(first);
  if (lead.bytes == 1) return {first, 1, true};
  if (lead.bytes == 0) return {kReplacement, 1, false};
  auto value = static_cast<char32_t>(first & (0xFFu >> (lead.bytes + 1)));
  uint8_t low = lead.second_low, high = lead.second_high;
  for (uint8_t i = 1; i < lead.bytes; ++i) {
    if (text.size() - offset <= i || byte_at(offset + i) < low || byte_at(offset + i) > high)
      return {kReplacement, i, false};
    value = (value << 6) | (byte_at(offset + i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {value, lead.bytes, true};
}

bool is_utf8(std::string_view text) { return well_formed_prefix(text) == text.size(); }

std::string replace_ill_formed(std::string_view text) {
  const size_t good = well_formed_prefix(text);
  std::string out(text.substr(0, good));
  for (size_t offset = good; offset < text.size();) {
    const Decoded decoded = decode_utf8(text, offset);
    if (decoded.well_formed)
      out.append(text, offset, decoded.bytes);
    else
      append_utf8(out, kReplacement);
    offset += decoded.bytes;
  }
  return out;
}

size_t incomplete_tail_bytes(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t offset = text.size() - back;
    const Lead lead = lead_of(static_cast<uint8_t>(text[offset]));
    if (lead.bytes == 1) return 0;
    if (lead.bytes == 0) continue;  // a continuation byte, or one that is never allowed
    if (lead.bytes <= back) return 0;
    return decode_utf8(text, offset).bytes == back ? back : 0;  // cut short, but nothing wrong so far
  }
  return 0;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  const uint32_t c = code_point;
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12));
    } else {
      put(0xF0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3F));
    }
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

}  // namespace amphora::unicode
