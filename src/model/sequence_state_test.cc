// The layout and limits of what a model remembers.
#include "model/sequence_state.h"

#include <gtest/gtest.h>

#include <cstring>

namespace amphora::model {
namespace {

/// Layers of attention alone.
Plan plan_of(size_t layers, size_t kv_heads, size_t head_dim) {
  Plan plan;
  plan.layers.resize(layers);
  plan.kv_heads = kv_heads;
  plan.head_dim = head_dim;
  return plan;
}

TEST(SequenceState, LayersDoNotOverlap) {
  const Plan plan = plan_of(3, 2, 64);
  auto state = SequenceState::create(plan, kernels::KvType::kF32, 100);
  ASSERT_TRUE(state) << state.error().message;
  const size_t bytes = size_t{100} * 2 * 64 * 4;
  for (size_t layer = 0; layer < 3; ++layer) {
    std::memset(state->visit(layer).kv.keys, static_cast<int>(2 * layer + 1), bytes);
    std::memset(state->visit(layer).kv.values, static_cast<int>(2 * layer + 2), bytes);
  }
  for (size_t layer = 0; layer < 3; ++layer) {
    for (const size_t at : {size_t{0}, bytes - 1}) {
      EXPECT_EQ(static_cast<size_t>(state->visit(layer).kv.keys[at]), 2 * layer + 1);
      EXPECT_EQ(static_cast<size_t>(state->visit(layer).kv.values[at]), 2 * layer + 2);
    }
  }
  EXPECT_EQ(state->used_bytes(1), 3u * 2 * 2 * 64 * 4);
  EXPECT_EQ(state->used_bytes(7), 7u * 3 * 2 * 2 * 64 * 4);
  EXPECT_EQ(state->first_cut(100), 0u) << "any cut will do";
}

TEST(SequenceState, EveryPassHasItsOwn) {
  Plan plan = plan_of(2, 1, 32);
  plan.loops = 3;
  const auto state = SequenceState::create(plan, kernels::KvType::kF16, 64);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->visits(), 6u);
  EXPECT_NE(state->visit(0).kv.keys, state->visit(2).kv.keys);
}

TEST(SequenceState, ALayerWithAWindowKeepsOnlyIt) {
  Plan plan = plan_of(2, 2, 64);
  plan.window = 500;
  std::get<AttentionPlan>(plan.layers[0].mixer).local = true;
  const auto state = SequenceState::create(plan, kernels::KvType::kF16, 100'000);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->visit(0).kv.capacity, 768u) << "500 + a block of 128 + 128 to spare, in steps of 64";
  EXPECT_EQ(state->visit(1).kv.capacity, 100'000u);
  EXPECT_EQ(state->used_bytes(10'000), (768u + 10'000u) * 2 * 2 * 64 * 2);
  EXPECT_EQ(state->first_cut(768), 0u) << "nothing is lost yet";
  EXPECT_EQ(state->first_cut(769), 500u) << "position 0 is lost, which position 499 sees";
  EXPECT_EQ(state->first_cut(1000), 731u);

  const auto small = SequenceState::create(plan, kernels::KvType::kF16, 600);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->visit(0).kv.capacity, 600u) << "a short context holds everything";
  EXPECT_EQ(small->first_cut(600), 0u);
}

TEST(SequenceState, RecurrentLayersHaveNoPositions) {
  Plan plan = plan_of(2, 1, 32);
  DeltaPlan delta;
  delta.key_heads = 2;
  delta.value_heads = 4;
  delta.key_dim = 8;
  delta.value_dim = 16;
  delta.taps = 4;
  plan.layers[0].mixer = delta;
  plan.layers[1].mixer = ShortConvolutionPlan{{}, {}, 3, {}};
  plan.hidden = 64;
  auto state = SequenceState::create(plan, kernels::KvType::kF16, 1000);
  ASSERT_TRUE(state);
  const size_t floats = 3 * (2 * 2 * 8 + 4 * 16) + 4 * 8 * 16 + 2 * 64;
  EXPECT_EQ(state->recurrent().size(), floats);
  EXPECT_EQ(state->used_bytes(0), floats * 4);
  EXPECT_EQ(state->used_bytes(1000), floats * 4);
  EXPECT_EQ(state->visit(0).matrix - state->visit(0).history, 3 * (2 * 2 * 8 + 4 * 16));
  EXPECT_EQ(state->visit(1).matrix, nullptr);
}

TEST(SequenceState, RefusesARecurrentStateThatIsAbsurd) {
  Plan plan = plan_of(1, 1, 32);
  DeltaPlan delta;
  delta.key_heads = delta.value_heads = 1;
  delta.taps = 1;
  for (const uint64_t dim : {uint64_t{1} << 16, uint64_t{1} << 32, ~uint64_t{0}}) {
    delta.key_dim = delta.value_dim = dim;
    plan.layers[0].mixer = delta;
    const auto state = SequenceState::create(plan, kernels::KvType::kF16, 16);
    ASSERT_FALSE(state) << dim;
    EXPECT_EQ(state.error().fault, Fault::kRefused);
  }
}

TEST(SequenceState, ReservesALongContextWithoutFillingIt) {
  const Plan plan = plan_of(32, 8, 128);
  const auto state = SequenceState::create(plan, kernels::KvType::kF16, 1 << 20);  // 128 GiB of addresses
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->reserved_bytes(), (uint64_t{1} << 37) + 4096);
}

TEST(SequenceState, RefusesAContextThatNoMachineHolds) {
  const Plan plan = plan_of(1000, 4096, 4096);
  for (const uint64_t capacity : {uint64_t{1} << 31, uint64_t{1} << 62}) {
    const auto state = SequenceState::create(plan, kernels::KvType::kF32, capacity);
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().fault, Fault::kUsage);
  }
}

}  // namespace
}  // namespace amphora::model
