// Sets of characters: spot checks against the Unicode Character Database and the quirks of the reference.
#include "unicode/ranges.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include "unicode/utf8.h"

namespace amphora::unicode {
namespace {

TEST(Ranges, WhiteSpaceIsTheProperty) {
  // PropList.txt, White_Space: all of it.
  const std::u32string all =
      U"\t\n\v\f\r "
      U"\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
      U"\u202f\u205f\u3000";
  for (char32_t c = 0; c < 0x110000; ++c)
    ASSERT_EQ(is_white_space(c), all.find(c) != std::u32string::npos) << uint32_t{c};
}

TEST(Ranges, AgreeWithUtf8procWhereTheVersionsDo) {
  for (int32_t c = 0; c < 0x10000; ++c) {
    const auto category = utf8proc_category(c);
    const auto point = static_cast<char32_t>(c);
    const bool number = category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
                        category == UTF8PROC_CATEGORY_NO;
    ASSERT_EQ(is_numeric(point), number) << c;
    const bool letter_or_mark = category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
                                category == UTF8PROC_CATEGORY_LO || category == UTF8PROC_CATEGORY_MN ||
                                category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_PC;
    ASSERT_TRUE(is_word(point) || !letter_or_mark) << c;
    ASSERT_TRUE(is_punctuation(point) || category != UTF8PROC_CATEGORY_PO || c >= 0x370) << c;
  }
}

TEST(Ranges, KnowTheReferencesOddities) {
  EXPECT_TRUE(is_punctuation('$'));  // ASCII, though a currency sign
  EXPECT_FALSE(is_punctuation(U'\u20ac'));
  EXPECT_FALSE(is_punctuation(U'\u2e43'));  // since Unicode 9
  EXPECT_TRUE(is_punctuation(U'\u166d'));   // a symbol since Unicode 12
  EXPECT_TRUE(is_word(U'\u200d'));
  EXPECT_TRUE(is_word(U'\u24b6'));
  EXPECT_FALSE(is_word(U'\u00bd'));
  EXPECT_FALSE(is_word('-'));
}

std::string lower(char32_t c) {
  std::string out;
  append_lower_case(out, c);
  return out;
}

TEST(Ranges, LowerCaseIsByCharacter) {
  EXPECT_EQ(lower('A'), "a");
  EXPECT_EQ(lower('z'), "z");
  EXPECT_EQ(lower(U'\u00c9'), "\u00e9");
  EXPECT_EQ(lower(U'\u0130'), "i\u0307");
  EXPECT_EQ(lower(U'\u03a3'), "\u03c3");  // never the final form
  EXPECT_EQ(lower(U'\u1e9e'), "\u00df");
  EXPECT_EQ(lower(U'\u01c5'), "\u01c6");
  EXPECT_EQ(lower(U'\u1c89'), "\u1c8a");  // Unicode 16
  EXPECT_EQ(lower(U'\U00010400'), "\U00010428");
  for (int32_t c = 0; c < 0x1000; ++c) {
    if (c == 0x130) continue;
    std::string wanted;
    append_utf8(wanted, static_cast<char32_t>(utf8proc_tolower(c)));
    ASSERT_EQ(lower(static_cast<char32_t>(c)), wanted) << c;
  }
}

TEST(Ranges, ListWhatUnicode14DidNotKnow) {
  ASSERT_FALSE(younger_than_unicode_14("Lu").empty());
  EXPECT_EQ(younger_than_unicode_14("Lu")[0].first, char32_t{0x1C89});
  EXPECT_TRUE(younger_than_unicode_14("Zs").empty());
  EXPECT_TRUE(younger_than_unicode_14("no such name").empty());
}

}  // namespace
}  // namespace amphora::unicode
