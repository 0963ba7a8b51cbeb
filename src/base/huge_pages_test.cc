// Memory for large tables.
#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace amphora {
namespace {

TEST(HugePages, LargeMemoryIsAlignedForThemAndAllOfItCanBeUsed) {
  for (const size_t bytes :
       {size_t{1}, size_t{4096}, (size_t{4} << 20) - 1, size_t{4} << 20, (size_t{9} << 20) + 5}) {
    const HugeBuffer memory(static_cast<char*>(allocate_huge(bytes)));
    ASSERT_NE(memory, nullptr) << bytes;
    const size_t alignment = bytes < size_t{4} << 20 ? alignof(std::max_align_t) : 2 << 20;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % alignment, 0u) << bytes;
    std::memset(memory.get(), 7, bytes);
  }
}

TEST(HugePages, ASizeThatWouldWrapIsNull) { EXPECT_EQ(allocate_huge(SIZE_MAX - 1), nullptr); }

TEST(HugePages, AVectorKeepsItsContentsWhenItGrowsIntoThem) {
  std::vector<uint32_t, HugePageAllocator<uint32_t>> table;
  for (uint32_t i = 0; i < 3'000'000; ++i) table.push_back(i);
  for (uint32_t i = 0; i < 3'000'000; ++i) ASSERT_EQ(table[i], i);
}

}  // namespace
}  // namespace amphora
