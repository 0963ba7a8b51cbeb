// UTF-8: checking, repairing and walking over code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace amphora::unicode {

inline constexpr char32_t kReplacement = 0xFFFD;

/// What stands at some place of a text.
struct Decoded {
  char32_t code_point;  ///< kReplacement if ill-formed
  uint8_t bytes;        ///< length of the character; of the ill-formed maximal subpart otherwise
  bool well_formed;
};

/// Decodes at `offset`, which must lie inside the text.
Decoded decode_utf8(std::string_view text, size_t offset);

bool is_utf8(std::string_view text);

/// The text with each maximal ill-formed subpart replaced by one U+FFFD (Unicode 3.9 table 3-8): what
/// Python's `errors="replace"` and Rust's `from_utf8_lossy` do.
std::string replace_ill_formed(std::string_view text);

/// How many bytes at the end begin a character that further bytes could still complete (0 to 3).
size_t incomplete_tail_bytes(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

/// Length of a character from its first byte; the text must be well-formed.
constexpr size_t sequence_bytes(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The code points of a well-formed text: `for (const CodePoint c : CodePoints(text))`.
struct CodePoint {
  char32_t value;
  size_t offset;
  size_t bytes;
};

class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {}

  class Iterator {
   public:
    Iterator(std::string_view text, size_t offset) : text_(text), offset_(offset) {}
    CodePoint operator*() const;
    Iterator& operator++() {
      offset_ += sequence_bytes(text_[offset_]);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return offset_ < other.offset_; }

   private:
    std::string_view text_;
    size_t offset_;
  };
  Iterator begin() const { return {text_, 0}; }
  Iterator end() const { return {text_, text_.size()}; }

 private:
  std::string_view text_;
};

inline CodePoint CodePoints::Iterator::operator*() const {
  const auto lead = static_cast<uint8_t>(text_[offset_]);
  if (lead < 0x80) return {lead, offset_, 1};
  const Decoded decoded = decode_utf8(text_, offset_);
  return {decoded.code_point, offset_, decoded.bytes};
}

}  // namespace amphora::unicode
