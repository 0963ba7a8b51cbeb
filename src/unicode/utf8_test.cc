// UTF-8: checking, repairing and walking over code points.
#include "unicode/utf8.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace amphora::unicode {
namespace {

struct Repair {
  const char* name;
  std::string_view bytes, repaired;
};
// The Unicode Standard, section 3.9 (tables 3-8 to 3-11), and what Python's "replace" handler gives.
const Repair kRepairs[] = {
    {"well-formed", "a\u00e9\u4f60\U0001F600", "a\u00e9\u4f60\U0001F600"},
    {"table 3-8, non-shortest forms", "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"table 3-9, surrogates", "\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"table 3-10, other ill-formed", "\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
    {"table 3-11, truncated", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"cut short at the end", "x\xF0\x9F\x98", "x\uFFFD"},
    {"stray continuation", "\x80", "\uFFFD"},
    {"beyond U+10FFFF", "\xF5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"behind a block of ASCII", "0123456789abcdef\xFF", "0123456789abcdef\uFFFD"},
};

TEST(Utf8, ReplacesEachMaximalIllFormedSubpart) {
  for (const Repair& repair : kRepairs) {
    EXPECT_EQ(replace_ill_formed(repair.bytes), repair.repaired) << repair.name;
    EXPECT_EQ(is_utf8(repair.bytes), repair.bytes == repair.repaired) << repair.name;
  }
}

TEST(Utf8, RoundTripsEveryCodePoint) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    const Decoded decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.well_formed && decoded.code_point == c && decoded.bytes == text.size())
        << uint32_t{c};
    ASSERT_EQ(sequence_bytes(text[0]), text.size());
    for (size_t kept = 1; kept < text.size(); ++kept)
      ASSERT_EQ(incomplete_tail_bytes(std::string_view(text).substr(0, kept)), kept) << uint32_t{c};
    ASSERT_EQ(incomplete_tail_bytes(text), 0u);
  }
}

TEST(Utf8, HoldsBackOnlyWhatCanStillBecomeACharacter) {
  EXPECT_EQ(incomplete_tail_bytes(""), 0u);
  EXPECT_EQ(incomplete_tail_bytes("abc"), 0u);
  EXPECT_EQ(incomplete_tail_bytes("a\xFF"), 0u);
  EXPECT_EQ(incomplete_tail_bytes("a\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(incomplete_tail_bytes("a\xE0\x80"), 0u);  // overlong: wrong already
  EXPECT_EQ(incomplete_tail_bytes("\xC3\xA9\xF0\x9F"), 2u);
  EXPECT_EQ(incomplete_tail_bytes("\xF4\x90"), 0u);
}

TEST(Utf8, WalksOverCodePointsWithTheirPlaces) {
  std::vector<std::tuple<char32_t, size_t, size_t>> seen;
  for (const CodePoint c : CodePoints("a\u00e9\u4f60\U0001F600"))
    seen.emplace_back(c.value, c.offset, c.bytes);
  const std::vector<std::tuple<char32_t, size_t, size_t>> wanted = {
      {U'a', 0, 1}, {U'\u00e9', 1, 2}, {U'\u4f60', 3, 3}, {U'\U0001F600', 6, 4}};
  EXPECT_EQ(seen, wanted);
}

TEST(Utf8, TellsUtf8FromOtherBytes) {
  for (const char* text :
       {"", "a", "é", "\u2581", "\U0001F600", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "a\xE2\x96"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

}  // namespace
}  // namespace amphora::unicode
