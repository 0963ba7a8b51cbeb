// The compiled table of replacements: what it finds, and the blobs that are refused.
#include "text/tokenizer/charsmap.h"

#include <gtest/gtest.h>

#include "text/tokenizer/grapheme.h"
#include "text/tokenizer/serde_number.h"

namespace amphora::text {
namespace {

std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

// A unit's fields as the Darts library lays them out.
uint32_t node_unit(uint32_t offset, bool leaf, uint8_t label) {
  return offset << 10 | uint32_t{leaf} << 8 | label;
}
uint32_t value_unit(uint32_t value) { return 0x80000000u | value; }

// "a" to "x", "ab" to "yz". The root's children lie at 1 ^ label, those of "a" at 4 ^ label.
std::vector<uint32_t> units() {
  std::vector<uint32_t> array(256);
  array[0] = node_unit(1, false, 0);
  array[1 ^ 'a'] = node_unit((1 ^ 'a') ^ 4, true, 'a');
  array[4] = value_unit(0);
  array[4 ^ 'b'] = node_unit((4 ^ 'b') ^ 8, true, 'b');
  array[8] = value_unit(2);
  return array;
}

std::string blob_of(const std::vector<uint32_t>& array, std::string_view replacements) {
  std::string blob = little_endian(static_cast<uint32_t>(4 * array.size()));
  for (const uint32_t unit : array) blob += little_endian(unit);
  return blob.append(replacements);
}

constexpr std::string_view kReplacements("x\0yz\0\u00e9", 7);

TEST(Charsmap, FindsTheShortestAndTheLongest) {
  const auto map = Charsmap::open(blob_of(units(), kReplacements));
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->find_shortest("abc"), "x");
  EXPECT_EQ(map->find_shortest("b"), std::nullopt);
  EXPECT_EQ(map->find_shortest(""), std::nullopt);
  EXPECT_EQ(map->find_shortest(std::string_view("\0a", 2)), std::nullopt);
  const auto match = map->find_longest("abc");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->bytes, 2u);
  EXPECT_EQ(match->replacement, "yz");
  EXPECT_EQ(map->find_longest("a")->replacement, "x");
  EXPECT_FALSE(map->find_longest("c"));
}

struct CharsmapDamage {
  const char* name;
  size_t unit;
  uint32_t value;
};
const CharsmapDamage kDamages[] = {
    {"the root points outside", 0, node_unit(256, false, 0)},
    {"a node points outside", 1 ^ 'a', node_unit(0x1FFFFF, true, 'a')},
    {"an extended offset points outside", 1 ^ 'a', node_unit(0x1FFFFF, true, 'a') | 0x200},
    {"a replacement behind the end", 4, value_unit(8)},
    {"a replacement far away", 8, value_unit(0x7FFFFFFF)},
    {"a replacement inside a character", 8, value_unit(6)},
};

TEST(Charsmap, RefusesEachDamage) {
  for (const CharsmapDamage& damage : kDamages) {
    auto array = units();
    array[damage.unit] = damage.value;
    const auto map = Charsmap::open(blob_of(array, kReplacements));
    ASSERT_FALSE(map) << damage.name;
    EXPECT_EQ(map.error().fault, Fault::kCorrupt) << damage.name;
  }
  auto cut = units();  // every child that is there lies inside, but not every place where one is looked for
  cut.resize(200);
  EXPECT_FALSE(Charsmap::open(blob_of(cut, kReplacements)));
  EXPECT_FALSE(Charsmap::open(blob_of(units(), "\xFF")));
  EXPECT_FALSE(Charsmap::open(blob_of({}, "x")));
  EXPECT_FALSE(Charsmap::open(blob_of({node_unit(1, false, 0)}, "x")));
  const std::string blob = blob_of(units(), "");
  for (size_t kept = 0; kept < blob.size(); ++kept)
    EXPECT_FALSE(Charsmap::open(blob.substr(0, kept))) << kept;
}

TEST(Charsmap, RefusesMoreThanCanBeChecked) {
  auto array = units();
  array.resize((size_t{1} << 22) + 256);
  const auto map = Charsmap::open(blob_of(array, kReplacements));
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().fault, Fault::kRefused);
}

TEST(Charsmap, EndsOnATableThatRunsInACircle) {
  auto array = units();
  array[1 ^ 'a'] = node_unit((1 ^ 'a') ^ 1, false, 'a');  // "a" leads back to where it came from
  const auto map = Charsmap::open(blob_of(array, kReplacements));
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->find_shortest(std::string(1000, 'a')), std::nullopt);
  EXPECT_FALSE(map->find_longest(std::string(1000, 'a')));
}

// The breaks that Unicode annex 29 gives.
TEST(Grapheme, EndsWhereAClusterEnds) {
  EXPECT_EQ(cluster_bytes("ab", 0), 1u);
  EXPECT_EQ(cluster_bytes("\r\n\n", 0), 2u);
  EXPECT_EQ(cluster_bytes("\n\u0301", 0), 1u);
  EXPECT_EQ(cluster_bytes("xe\u0301\u0323y", 1), 5u);
  EXPECT_EQ(cluster_bytes("\u1100\u1161\u11a8\u1100", 0), 9u);
  EXPECT_EQ(cluster_bytes("\uac01\u1161", 0), 3u);
  EXPECT_EQ(cluster_bytes("\u00a9\u200d\u00ae!", 0), 7u);
  EXPECT_EQ(cluster_bytes("a\u200d\u00ae", 0), 4u);
  EXPECT_EQ(cluster_bytes("\u0915\u094d\u0915", 0), 9u);
  EXPECT_EQ(cluster_bytes("\u0915\u0301\u0915", 0), 5u);
  EXPECT_EQ(cluster_bytes("\u0600a", 0), 3u);
  EXPECT_EQ(cluster_bytes("\u0600\n", 0), 2u);
}

// What the reference printed after reading them.
TEST(SerdeNumber, RoundsTwiceAsTheReferenceDoes) {
  EXPECT_EQ(read_serde_number("-15.275492379532281"), -15.27549237953228);
  EXPECT_EQ(read_serde_number("-11.780045159651033"), -11.780045159651031);
  EXPECT_EQ(read_serde_number("-14.429688151665367"), -14.429688151665369);
  EXPECT_EQ(read_serde_number("-9.94610023498535"), -9.94610023498535);
  EXPECT_EQ(read_serde_number("0"), 0.0);
  EXPECT_EQ(read_serde_number("1e400"), std::nullopt);
  EXPECT_EQ(read_serde_number("1e-400"), 0.0);
  for (const char* bad : {"", "-", "01", "1.", ".5", "1e", "nan", "1 "})
    EXPECT_EQ(read_serde_number(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace amphora::text
