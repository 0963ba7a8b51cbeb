// Unicode normal forms. Expected values are from UAX #15 and from the reference (tests/oracle).
#include "unicode/normal_form.h"

#include <gtest/gtest.h>

#include <chrono>

namespace amphora::unicode {
namespace {

struct Case {
  std::string_view text, c, d, kc, kd;
};
const Case kCases[] = {
    {"", "", "", "", ""},
    {"plain ASCII", "plain ASCII", "plain ASCII", "plain ASCII", "plain ASCII"},
    {"\u00c5\u212b\u0041\u030a", "\u00c5\u00c5\u00c5", "A\u030aA\u030aA\u030a", "\u00c5\u00c5\u00c5",
     "A\u030aA\u030aA\u030a"},
    {"\ufb01\u00b2", "\ufb01\u00b2", "\ufb01\u00b2", "fi2", "fi2"},
    {"q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
    {"\u1e9b\u0323", "\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307"},  // UAX #15, figure 6
    {"\uac01", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
    {"\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
    {"e\u0301x\u0301", "\u00e9x\u0301", "e\u0301x\u0301", "\u00e9x\u0301", "e\u0301x\u0301"},
    {"\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"},  // excluded from composition
    {"\u00a0\uff21\u3392", "\u00a0\uff21\u3392", "\u00a0\uff21\u3392", " AMHz", " AMHz"},
    {"a\u05ae\u0300", "\u00e0\u05ae", "a\u05ae\u0300", "\u00e0\u05ae", "a\u05ae\u0300"},
};

TEST(NormalForm, GivesThePublishedForms) {
  for (const Case& one : kCases) {
    EXPECT_EQ(normalize(one.text, NormalForm::kC), one.c) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::kD), one.d) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::kKc), one.kc) << one.text;
    EXPECT_EQ(normalize(one.text, NormalForm::kKd), one.kd) << one.text;
  }
}

// Normalised by Unicode 13 and later, but not by the reference.
TEST(NormalForm, LeavesCharactersYoungerThanTheReferenceAlone) {
  EXPECT_EQ(normalize("\U00011938", NormalForm::kD), "\U00011938");
  EXPECT_EQ(normalize("\U00011935\U00011930", NormalForm::kC), "\U00011935\U00011930");
  EXPECT_EQ(normalize("\u32ff", NormalForm::kKc), "\u32ff");
  EXPECT_EQ(normalize("a\u0898\u0323", NormalForm::kC), "a\u0898\u0323");  // a mark that nothing passes
  EXPECT_EQ(normalize("a\u0898\u0301", NormalForm::kC), "a\u0898\u0301");  // nor composes across
}

TEST(NormalForm, TakesLinearTimeOnRunsOfMarks) {
  std::string marks = "a";
  for (int i = 0; i < 100'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";  // each pair is out of order
  const auto start = std::chrono::steady_clock::now();
  const std::string normal = normalize(marks, NormalForm::kC);
  const auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(normal.size(),
            3 + 2 * 50'000u - 2 + 2 * 50'000u);  // the first dot below composes with the letter
  EXPECT_TRUE(normal.starts_with("\u1ea1\u0323"));
  EXPECT_LT(taken, std::chrono::seconds(10)) << "by swapping neighbours it takes minutes";
}

}  // namespace
}  // namespace amphora::unicode
