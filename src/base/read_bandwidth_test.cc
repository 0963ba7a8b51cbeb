#include "base/read_bandwidth.h"

#include <gtest/gtest.h>

namespace amphora {
namespace {

TEST(ReadBandwidth, IsThatOfSomeMemory) {
  const ReadBandwidth memory;
  ASSERT_TRUE(memory.ready());
  for (const size_t threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    const double bytes_per_second = memory.measure(pool);
    EXPECT_GT(bytes_per_second, 1e7);
    EXPECT_LT(bytes_per_second, 1e13);
  }
}

}  // namespace
}  // namespace amphora
