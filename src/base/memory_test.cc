#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

namespace amphora {
namespace {

TEST(Memory, WhatIsAvailableIsAPartOfWhatThereIs) {
  struct sysinfo system = {};
  ASSERT_EQ(::sysinfo(&system), 0);
  const auto available = available_memory();
  ASSERT_TRUE(available);
  EXPECT_GT(*available, 0u);
  EXPECT_LE(*available, uint64_t{system.totalram} * system.mem_unit);
}

}  // namespace
}  // namespace amphora
