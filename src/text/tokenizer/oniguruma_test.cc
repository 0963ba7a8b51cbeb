// Oniguruma's syntax for PCRE2: what is spelled out and what is refused. What the patterns match is compared
// with the reference in golden_test.cc ("regex …").
#include "text/tokenizer/oniguruma.h"

#include <gtest/gtest.h>

#include "text/tokenizer/regex.h"

namespace amphora::text {
namespace {

TEST(Oniguruma, SpellsOutWhatThePatternMeans) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a|b", "a|b"},
      {"\\s", "[\\x09-\\x0d\\x85\\p{Z}]"},
      {"\\S+", "[^\\x09-\\x0d\\x85\\p{Z}]+"},
      {"[^\\s,]", "[^\\x09-\\x0d\\x85\\p{Z},]"},
      {"\\h", "[0-9A-Fa-f]"},
      {"\\v", "\\x0b"},
      {"a{,3}", "a{0,3}"},
      {"a{2}+", "(?:a{2})+"},
      {"(?:ab){1,2}+", "(?:(?:ab){1,2})+"},
      {"x(a){2}?", "x(?:(a){2})?"},
      {"a{1,3}?", "a{1,3}?"},
      {"a{x}", "a\\{x}"},
      {"a++b*+c?+", "a++b*+c?+"},
      {"\\p{Zs}", "[\\p{Zs}]"},
      {"\\P{Zs}", "[^\\p{Zs}]"},
      {"\\p{^Zs}", "[^\\p{Zs}]"},
      {"(?i:'s)(?=x)(?!y)(?<=z)(?<!w)(?>v)", "(?i:'s)(?=x)(?!y)(?<=z)(?<!w)(?>v)"},
      {"(?i)a|b", "(?i)a|b"},
      {"\\u4f60\\/", "\\x{4f60}\\/"},
  };
  for (const auto& [pattern, wanted] : cases) {
    const auto translated = translate_oniguruma(pattern);
    ASSERT_TRUE(translated) << translated.error().message;
    EXPECT_EQ(*translated, wanted) << pattern;
  }
}

TEST(Oniguruma, RefusesWhatItDoesNotKnowToMeanTheSame) {
  for (const std::string_view pattern :
       {"\\w+",    "\\W",        "\\b",    "\\B",        "\\R",        "\\X",         "\\K",     "\\G",
        "\\Z",     "(a)\\1",     "\\k<n>", "\\g<1>",     "\\012",      "\\x80",       "\\xg",    "\\u12",
        "\\x{}",   "\\pL",       "\\p{L",  "\\p{Greek}", "\\p{Alpha}", "[[:alpha:]]", "[a[b]]",  "[a&&b]",
        "[]a]",    "[a",         "[\\S]",  "[\\P{L}]",   "[\\w]",      "a(?i)b",      "a|(?i)b", "(?m:.)",
        "(?x: a)", "(?<name>a)", "(?~a)",  "(?#c)",      "(?",         ")",           "\\"}) {
    const auto translated = translate_oniguruma(pattern);
    ASSERT_FALSE(translated) << pattern;
    EXPECT_EQ(translated.error().fault, Fault::kUnsupported) << pattern;
    EXPECT_NE(translated.error().message.find(pattern), std::string::npos) << translated.error().message;
  }
}

TEST(Regex, RefusesWhatTheEngineCannotCompile) {
  for (const std::string_view pattern : {"(a", "*a", "(?<=a+)b", "[b-a]"}) {
    const auto regex = Regex::compile(pattern);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_EQ(regex.error().fault, Fault::kUnsupported);
  }
}

TEST(Regex, GivesUpOnAPatternThatBlowsUp) {
  const auto regex = Regex::compile("(?:a*)*(?:a*)*(?:a*)*b|x");
  ASSERT_TRUE(regex) << regex.error().message;
  std::vector<Span> matches;
  const Status status = regex->find_all(std::string(5000, 'a'), matches);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, Fault::kRefused);
}

TEST(Regex, SkipsAnEmptyMatchBehindAMatch) {
  const auto regex = Regex::compile("x*");
  std::vector<Span> matches;
  ASSERT_TRUE(regex->find_all("a\u00e9xx", matches));
  EXPECT_EQ(matches, (std::vector<Span>{{0, 0}, {1, 1}, {3, 5}}));
}

}  // namespace
}  // namespace amphora::text
