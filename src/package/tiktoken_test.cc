// Files of ranks: what is refused, and the order of merges.
#include "package/tiktoken.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_data.h"
#include "package/testing/config.h"

namespace amphora::package {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_text;
using testing::test_data;

std::string valid_file() { return read_text(test_data("tokenizers/sources/ranks/small.tiktoken")); }

/// The file with its line `number` (from 1) replaced; "-" leaves it out.
std::string with_line(size_t number, std::string_view line) {
  std::string text = valid_file();
  size_t begin = 0;
  for (size_t i = 1; i < number; ++i) begin = text.find('\n', begin) + 1;
  const size_t end = text.find('\n', begin) + 1;
  return text.replace(begin, end - begin, line == "-" ? "" : std::string(line) + "\n");
}

TEST(Tiktoken, ReadsTokensByRank) {
  const auto tokens = decode_tiktoken(valid_file());
  ASSERT_TRUE(tokens) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 600u);
  EXPECT_EQ((*tokens)[0], std::string(1, '\0'));
  EXPECT_EQ((*tokens)[255], "\xff");
  const std::string text = valid_file();
  EXPECT_EQ(decode_tiktoken(text.substr(0, text.size() - 1)), *tokens);  // the last line may end the file
}

TEST(Tiktoken, RefusesEachDamageForItsOwnReason) {
  struct Damage {
    const char* name;
    size_t line;
    std::string text;
    Fault fault;
    size_t reported_line;
    const char* words;
  };
  const Damage damages[] = {
      {"no space", 3, "Ag==", Fault::kCorrupt, 3, "no token and rank"},
      {"empty line", 3, "", Fault::kCorrupt, 3, "no token and rank"},
      {"no token", 3, " 2", Fault::kCorrupt, 3, "no token and rank"},
      {"no base64", 3, "A*== 2", Fault::kCorrupt, 3, "not base64"},
      {"loose bits in base64", 3, "Ah== 2", Fault::kCorrupt, 3, "not base64"},
      {"no padding", 3, "Ag 2", Fault::kCorrupt, 3, "not base64"},
      {"rank is no number", 3, "Ag== x", Fault::kCorrupt, 3, "rank is not a number"},
      {"rank is negative", 3, "Ag== -2", Fault::kCorrupt, 3, "rank is not a number"},
      {"something behind the rank", 3, "Ag== 2 3", Fault::kCorrupt, 3, "rank is not a number"},
      {"rank does not fit", 3, "Ag== 4294967298", Fault::kCorrupt, 3, "rank is not a number"},
      {"rank twice", 3, "Ag== 1", Fault::kCorrupt, 3, "the rank is 1, wanted 2"},
      {"rank left out", 3, "Ag== 3", Fault::kCorrupt, 3, "the rank is 3, wanted 2"},
      {"line left out", 3, "-", Fault::kCorrupt, 3, "the rank is 3, wanted 2"},
      {"token twice", 3, "AQ== 2", Fault::kCorrupt, 3, "already has the rank 1"},
      {"byte missing", 3, "enp6enp6enp6enp6 2", Fault::kCorrupt, 601, "the byte 0x02"},
      {"token of 513 bytes", 3, std::string(684, 'A') + " 2", Fault::kRefused, 3,
       "longer than the limit of 512 bytes"},
      {"line of a megabyte", 3, std::string(1 << 20, 'A') + " 2", Fault::kRefused, 3,
       "longer than the limit of 512 bytes"},
  };
  for (const Damage& damage : damages) {
    const auto tokens = decode_tiktoken(with_line(damage.line, damage.text));
    ASSERT_FALSE(tokens) << damage.name;
    const Error& error = tokens.error();
    EXPECT_EQ(error.fault, damage.fault) << damage.name << ": " << error.message;
    EXPECT_THAT(error.message, HasSubstr(damage.words)) << damage.name;
    EXPECT_THAT(error.message, HasSubstr(fmt::format("line {}: ", damage.reported_line))) << damage.name;
    const size_t offset = damage.reported_line == 3 ? 14 : with_line(damage.line, damage.text).size();
    EXPECT_EQ(error.offset, offset) << damage.name;  // two lines of seven bytes come before the third
  }
}

TEST(Tiktoken, RefusesEveryFileThatEndsBeforeTheLastByte) {
  const std::string text = valid_file();
  const size_t bytes_end = text.find(" 256\n");
  for (size_t kept = 0; kept < text.rfind('\n', bytes_end); ++kept)
    EXPECT_FALSE(decode_tiktoken(std::string_view(text).substr(0, kept))) << kept;
}

TEST(Tiktoken, IsToldByItsFirstLine) {
  EXPECT_TRUE(looks_like_tiktoken(valid_file()));
  EXPECT_TRUE(looks_like_tiktoken("IQ== 0\r\nIg== 1\r\n"));
  for (const std::string_view other : {"", "IQ== 1\n", "IQ==\n", "\x0a\x0e\x0a\x05<unk>", "#version: 0.2\n"})
    EXPECT_FALSE(looks_like_tiktoken(other)) << other;
}

TEST(Tiktoken, MergesInTheOrderOfWhatTheyMake) {
  // Of "abc" there are two cuts: the one whose left part has the lower rank comes first.
  const auto merges = merges_of_ranks({"a", "b", "c", "bc", "ab", "abc", "xyz"});
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const Merge& merge : merges) pairs.emplace_back(merge.left, merge.right);
  EXPECT_THAT(pairs, ElementsAre(std::pair(1u, 2u), std::pair(0u, 1u), std::pair(0u, 3u), std::pair(4u, 2u)));
}

}  // namespace
}  // namespace amphora::package
