// Pieces by text and by id: short ones and long ones lie in tables of their own.
#include "text/tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace amphora::text {
namespace {

using namespace std::string_literals;

// Every prefix of two texts that differ in one byte, with zero bytes in them and around the limit between the
// tables.
std::vector<std::string> look_alikes() {
  std::vector<std::string> pieces = {""s};
  for (const std::string& text : {"\0\0ab\0cdefgh"s, "\0\0ab\0cdXfgh"s, "zyxwvutsrq"s})
    for (size_t size = 1; size <= text.size(); ++size)
      if (std::ranges::find(pieces, text.substr(0, size)) == pieces.end())
        pieces.push_back(text.substr(0, size));
  return pieces;
}

TEST(Vocabulary, FindsEachPieceAndNothingThatLooksLikeOne) {
  const std::vector<std::string> pieces = look_alikes();
  Vocabulary vocabulary;
  for (size_t i = 0; i < pieces.size(); ++i) ASSERT_TRUE(vocabulary.add(pieces[i], i)) << i;
  EXPECT_EQ(vocabulary.size(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(vocabulary.find(pieces[i]), i);
    EXPECT_EQ(*vocabulary.find_piece(static_cast<TokenId>(i)), pieces[i]);
  }
  for (const std::string& other :
       {"a"s, "\0\0ab\0c\0"s, "\0\0ab\0cdefghi"s, "zyxwvutsr\0"s, "zyxwvu\0"s, "\0\0\0"s})
    EXPECT_FALSE(vocabulary.find(other)) << other.size();
  const auto again = vocabulary.add(pieces[3], pieces.size());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().fault, Fault::kCorrupt);
}

TEST(Vocabulary, KeepsAllPiecesWhileItsTablesGrow) {
  Vocabulary vocabulary;
  const auto piece = [](uint32_t i) {
    return (i % 2 == 0 ? ""s : "longer than seven "s) + std::to_string(i);
  };
  for (uint32_t i = 0; i < 20000; ++i) ASSERT_TRUE(vocabulary.add(piece(i), i));
  for (uint32_t i = 0; i < 20000; ++i) ASSERT_EQ(vocabulary.find(piece(i)), i);
  EXPECT_FALSE(vocabulary.find(piece(20000)));
  EXPECT_FALSE(vocabulary.find(piece(20001)));
}

TEST(Vocabulary, AnUnlistedTextIsFoundByIdAlone) {
  Vocabulary vocabulary;
  ASSERT_TRUE(vocabulary.add("a", 0));
  ASSERT_TRUE(vocabulary.add_unlisted("<s>", 1));
  EXPECT_FALSE(vocabulary.find("<s>"));
  EXPECT_EQ(*vocabulary.find_piece(1), "<s>");
  EXPECT_EQ(vocabulary.size(), 1u);
}

}  // namespace
}  // namespace amphora::text
