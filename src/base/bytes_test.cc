// Tests of byte readers and writers and of checked arithmetic.
#include <gtest/gtest.h>

#include <array>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked.h"

namespace amphora {
namespace {

TEST(ByteReader, ReadsLittleEndianAndStaysFailedAfterAShortRead) {
  ByteWriter writer;
  writer.write<uint16_t>(0x0201);
  writer.write<uint32_t>(0x06050403);
  writer.write<uint8_t>(7);
  ByteReader in(writer.bytes());
  EXPECT_EQ(in.read<uint16_t>(), 0x0201);
  EXPECT_EQ(in.offset(), 2u);
  EXPECT_EQ(in.read<uint32_t>(), 0x06050403u);
  EXPECT_EQ(in.read<uint16_t>(), 0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<uint8_t>(), 0) << "one byte is left, but a failed reader gives zeros";
  EXPECT_FALSE(in.ok());
}

TEST(ByteReader, RefusesHugeCountsWithoutWrapping) {
  const std::array<std::byte, 4> bytes{};
  ByteReader in(bytes);
  EXPECT_TRUE(in.take(~uint64_t{0}).empty());
  EXPECT_FALSE(in.ok());
}

TEST(ByteWriter, AlignsWithZeros) {
  ByteWriter writer;
  writer.write<uint8_t>(1);
  writer.align(8);
  EXPECT_EQ(writer.size(), 8u);
  writer.align(8);
  EXPECT_EQ(writer.size(), 8u);
  EXPECT_EQ(load_little_endian<uint64_t>(writer.bytes().data()), 1u);
}

TEST(Checked, SeesEveryOverflow) {
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 31), uint64_t{1} << 63);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_add(~uint64_t{0}, 1), std::nullopt);
  EXPECT_EQ(checked_align(~uint64_t{0} - 5, 64), std::nullopt);
  EXPECT_EQ(checked_align(65, 64), 128u);
  const uint64_t wraps[] = {(uint64_t{1} << 42) + 1, uint64_t{1} << 22};
  EXPECT_EQ(checked_product(wraps), std::nullopt);
  const uint64_t hidden[] = {uint64_t{1} << 63, 4, 0};
  EXPECT_EQ(checked_product(hidden), std::nullopt);
  const uint64_t empty[] = {5, 0, 3};
  EXPECT_EQ(checked_product(empty), 0u);
  EXPECT_EQ(checked_product({}), 1u);
}

TEST(Checked, LiesWithinDoesNotWrap) {
  EXPECT_TRUE(lies_within(0, 10, 10));
  EXPECT_TRUE(lies_within(10, 0, 10));
  EXPECT_FALSE(lies_within(1, 10, 10));
  EXPECT_FALSE(lies_within(11, 0, 10));
  EXPECT_FALSE(lies_within(~uint64_t{0} - 8, 16, 10));
}

}  // namespace
}  // namespace amphora
