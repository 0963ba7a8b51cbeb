// The cache's layout and limits.
#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

namespace amphora::model {
namespace {

Plan plan_of(size_t layers, size_t kv_heads, size_t head_dim) {
  Plan plan;
  plan.layers.resize(layers);
  plan.kv_heads = kv_heads;
  plan.head_dim = head_dim;
  return plan;
}

TEST(KvCache, LayersDoNotOverlap) {
  const Plan plan = plan_of(3, 2, 64);
  auto cache = KvCache::create(plan, kernels::KvType::kF32, 100);
  ASSERT_TRUE(cache) << cache.error().message;
  const size_t bytes = size_t{100} * 2 * 64 * 4;
  for (size_t layer = 0; layer < 3; ++layer) {
    std::memset(cache->layer(layer).keys, static_cast<int>(2 * layer + 1), bytes);
    std::memset(cache->layer(layer).values, static_cast<int>(2 * layer + 2), bytes);
  }
  for (size_t layer = 0; layer < 3; ++layer) {
    for (const size_t at : {size_t{0}, bytes - 1}) {
      EXPECT_EQ(static_cast<size_t>(cache->layer(layer).keys[at]), 2 * layer + 1);
      EXPECT_EQ(static_cast<size_t>(cache->layer(layer).values[at]), 2 * layer + 2);
    }
  }
  EXPECT_EQ(cache->bytes_per_position(), 3u * 2 * 2 * 64 * 4);
}

TEST(KvCache, ReservesALongContextWithoutFillingIt) {
  const Plan plan = plan_of(32, 8, 128);
  const auto cache = KvCache::create(plan, kernels::KvType::kF16, 1 << 20);  // 128 GiB of addresses
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->reserved_bytes(), uint64_t{1} << 37);
}

TEST(KvCache, RefusesAContextThatNoMachineHolds) {
  const Plan plan = plan_of(1000, 4096, 4096);
  for (const uint64_t capacity : {uint64_t{1} << 31, uint64_t{1} << 62}) {
    const auto cache = KvCache::create(plan, kernels::KvType::kF32, capacity);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().fault, Fault::kUsage);
  }
}

}  // namespace
}  // namespace amphora::model
