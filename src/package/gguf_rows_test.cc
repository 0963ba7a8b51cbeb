// Orders of rows against lists written by hand.
#include "package/gguf_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/byte_writer.h"

namespace amphora::package {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> first_rows(const RowOrder& order, uint64_t count) {
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < count; ++row) rows.push_back(order.locate(row).stored_row);
  return rows;
}

TEST(RowOrder, SaysWhichStoredRowEachRowIs) {
  EXPECT_THAT(first_rows(RowOrder::from(5), 3), ElementsAre(5, 6, 7));
  // two heads of six rows behind one other row
  EXPECT_THAT(first_rows(halves_of_pairs(6, 1), 12), ElementsAre(1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12));
  // two heads of [nope 3 | rope 4]
  EXPECT_THAT(first_rows(rope_in_front(3, 4), 14), ElementsAre(3, 5, 4, 6, 0, 1, 2, 10, 12, 11, 13, 7, 8, 9));
  EXPECT_THAT(first_rows(rope_behind(3, 4), 7), ElementsAre(0, 1, 2, 3, 5, 4, 6));
  // two key heads, three value heads each, two rows a head: stored k0v0 k1v0 k0v1 k1v1 k0v2 k1v2
  EXPECT_THAT(first_rows(grouped_heads(2, 3, 2), 12), ElementsAre(0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11));
  EXPECT_THAT(first_rows(grouped_heads(2, 3, 1, 4), 10), ElementsAre(0, 1, 2, 3, 4, 6, 8, 5, 7, 9));
  // the second part, two rows, of each group of five
  EXPECT_THAT(first_rows(part_of_groups(1, 2, 5), 6), ElementsAre(1, 2, 6, 7, 11, 12));
}

TEST(RowOrder, KnowsWhichRowsFollowOneAnother) {
  EXPECT_EQ(RowOrder::from(5).contiguous_from(), 5u);
  EXPECT_EQ(halves_of_pairs(6).contiguous_from(), std::nullopt);
  EXPECT_EQ(halves_of_pairs(6).locate(1).following, 1u);
  EXPECT_EQ(rope_in_front(3, 4).locate(5).following, 2u);
  EXPECT_EQ(rope_behind(3, 4).locate(0).following, 3u);
  EXPECT_EQ(part_of_groups(1, 2, 5).locate(2).following, 2u);
}

TEST(ReadRows, GivesAnyRange) {
  ByteWriter stored;  // eleven rows of three columns: 100 · row + column
  for (int row = 0; row < 11; ++row)
    for (int column = 0; column < 3; ++column)
      stored.write(std::bit_cast<uint32_t>(static_cast<float>(100 * row + column)));
  const auto& type = *quant::ggml::find_type("F32");
  const RowOrder order = grouped_heads(2, 2, 2, 3);  // 0 1 2 | 3 4 7 8 5 6 9 10
  const uint64_t rows[] = {0, 1, 2, 3, 4, 7, 8, 5, 6, 9, 10};
  for (uint64_t first = 0; first < 33; ++first)
    for (uint64_t count = 0; first + count <= 33; ++count) {
      std::vector<float> out(count);
      ASSERT_TRUE(read_rows(type, stored.bytes(), order, 3, first, out));
      for (uint64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], static_cast<float>(100 * rows[(first + i) / 3] + (first + i) % 3)) << first;
    }
}

}  // namespace
}  // namespace amphora::package
