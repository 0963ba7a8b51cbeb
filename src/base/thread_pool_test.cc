// Tests of the fork-join pool.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

namespace amphora {
namespace {

TEST(ThreadPool, RunsEveryChunkExactlyOnce) {
  for (const size_t threads : std::initializer_list<size_t>{1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t chunks : std::initializer_list<size_t>{0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> counts(chunks);
      pool.run(chunks, [&](size_t chunk) { ++counts[chunk]; });
      for (const auto& count : counts) ASSERT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, SeesTheWritesOfAllChunksWhenRunReturns) {
  ThreadPool pool(4);
  std::vector<uint64_t> values(64);
  for (uint64_t round = 1; round <= 20000; ++round) {
    pool.run(values.size(), [&](size_t chunk) { values[chunk] += round; });
  }
  for (const uint64_t value : values) EXPECT_EQ(value, 20000ull * 20001 / 2);
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(3);
  std::atomic<int> count = 0;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.run(10, [&](size_t) { ++count; });
  }
  EXPECT_EQ(count, 30);
}

TEST(ThreadPool, OneThreadIsTheLeast) {
  EXPECT_EQ(ThreadPool(0).threads(), 1u);
  EXPECT_GE(available_threads(), 1u);
}

}  // namespace
}  // namespace amphora
