// Stop strings: what comes out does not depend on how the text comes in.
#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

namespace amphora::engine {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> stops;
  std::string text;
  std::string wanted;
  bool stopped;
};

const Case kCases[] = {
    {"none", {}, "The quick brown fox", "The quick brown fox", false},
    {"inside words", {"own fox"}, "The quick brown fox", "The quick br", true},
    {"whole output", {"The quick brown fox"}, "The quick brown fox", "", true},
    {"only begun", {"fox jumps"}, "The quick brown fox", "The quick brown fox", false},
    {"turn marker", {"\nUser:"}, "yes\n\nUser: and", "yes\n", true},
    {"shared prefixes", {"abcd", "abce", "abx", "ab!"}, "ab abc abce", "ab abc ", true},
    {"first to be complete wins", {"abcd", "bc"}, "abcd", "a", true},
    {"both complete at once: the longer", {"c", "abc"}, "xabc", "x", true},
    {"overlaps itself", {"aab"}, "aaab", "a", true},
    {"characters of several bytes", {"é—"}, "café— b", "caf", true},
};

TEST(StopMatcher, EveryCutOfTheTextGivesTheSame) {
  for (const Case& each : kCases) {
    const size_t size = each.text.size();
    for (size_t first = 0; first <= size; ++first) {
      for (size_t second = first; second <= size; ++second) {
        StopMatcher matcher(each.stops);
        std::string out = matcher.push(each.text.substr(0, first));
        EXPECT_TRUE(each.wanted.starts_with(out)) << each.name << ": shown too early";
        out += matcher.push(each.text.substr(first, second - first));
        EXPECT_TRUE(each.wanted.starts_with(out)) << each.name << ": shown too early";
        out += matcher.push(each.text.substr(second));
        out += matcher.finish();
        EXPECT_EQ(out, each.wanted) << each.name;
        EXPECT_EQ(matcher.stopped(), each.stopped) << each.name;
      }
    }
  }
}

TEST(StopMatcher, HoldsBackOnlyWhatCouldBecomeAStop) {
  StopMatcher matcher({"\nUser:", "###"});
  EXPECT_EQ(matcher.push("hello\nUs"), "hello");
  EXPECT_EQ(matcher.push("ually ##"), "\nUsually ");
  EXPECT_EQ(matcher.push("x"), "##x");
  EXPECT_EQ(matcher.push("###tail"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

}  // namespace
}  // namespace amphora::engine
