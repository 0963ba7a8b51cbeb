// What a restriction leaves out is neither computed nor read: its weights lie in pages that cannot be
// touched.
#include "engine/restriction.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "engine/session_impl.h"
#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using model::testing::TinyPackage;

/// Memory whose first `forbidden` bytes cannot be touched.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, size_t forbidden) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED || ::mprotect(memory_, forbidden, PROT_NONE) != 0) std::abort();
  }
  ~GuardedMemory() { ::munmap(memory_, bytes_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  size_t bytes_;
};

/// Moves an f32 tensor to memory of which the first `forbidden` bytes (whole pages) cannot be touched.
void forbid(Package& package, const std::string& name, size_t forbidden) {
  for (PackageTensor& tensor : package.tensors) {
    if (tensor.name != name) continue;
    auto memory = std::make_shared<GuardedMemory>(std::max(tensor.stored.size(), forbidden), forbidden);
    if (forbidden < tensor.stored.size())
      std::ranges::copy(tensor.stored.subspan(forbidden), memory->data() + forbidden);
    tensor.stored = {memory->data(), tensor.stored.size()};
    package.owners.push_back(memory);
    return;
  }
  FAIL() << name;
}

std::unique_ptr<Session> open(const Package& package, const SessionOptions& options = {}) {
  auto model = Model::load(std::make_shared<Package>(package));
  if (!model) ADD_FAILURE() << model.error().message;
  auto session = Session::create(*model, options);
  if (!session) ADD_FAILURE() << session.error().message;
  return *std::move(session);
}

std::vector<float> logits_of(Session& session, std::span<const TokenId> ids) {
  const auto logits = session.forward(ids);
  if (!logits) ADD_FAILURE() << logits.error().message;
  return {logits->begin(), logits->end()};
}

constexpr size_t kPage = 4096;

TEST(Restriction, ForbiddenExpertsAreNotTouched) {
  TinyPackage tiny;
  for (const char* part : {"gate", "up", "down"})
    tiny.remove(std::string("model.layers.1.mlp.") + part + "_proj.weight");
  tiny.add("model.layers.1.mlp.gate.weight", {4, 64});
  for (int expert = 0; expert < 4; ++expert) {
    const std::string prefix = "model.layers.1.mlp.experts." + std::to_string(expert) + ".";
    tiny.add(prefix + "gate_proj.weight", {16, 64});
    tiny.add(prefix + "up_proj.weight", {16, 64});
    tiny.add(prefix + "down_proj.weight", {64, 16});
  }
  tiny.spec.moe = MoeSpec();
  tiny.spec.moe->num_experts = 4;
  tiny.spec.moe->top_k = 2;
  tiny.spec.moe->moe_intermediate_size = 16;
  Package package = *tiny.take();
  for (const char* part : {"gate", "up", "down"})
    for (const char* expert : {"1", "3"})
      forbid(package, std::string("model.layers.1.mlp.experts.") + expert + "." + part + "_proj.weight",
             kPage);
  const auto session = open(package, {.experts = ExpertCover{{{1, {9, 0, 9, 0}}}, 1}, .count_experts = true});
  for (const float logit : logits_of(*session, testing::some_ids(150))) ASSERT_TRUE(std::isfinite(logit));
  EXPECT_EQ(session->expert_counts().at(1), (std::vector<uint64_t>{150, 0, 150, 0}));
}

TEST(Restriction, DeadNeuronsAreNotTouchedAndCountAsZero) {
  TinyPackage tiny;
  const auto whole = tiny.take();
  // 32 rows of 64 floats are two pages.
  model::RunMask mask;
  mask.visits.resize(2);
  mask.visits[0].neurons = std::vector<kernels::RowRange>{{32, 96}};

  Package zeroed = *whole;  // silu(0) · up = 0: dead neurons as weights
  for (PackageTensor& tensor : zeroed.tensors) {
    if (tensor.name != "model.layers.0.mlp.gate_proj.weight") continue;
    auto copy = std::make_shared<ByteVector>(tensor.stored.begin(), tensor.stored.end());
    std::fill_n(copy->begin(), 2 * kPage, std::byte{0});
    tensor.stored = *copy;
    zeroed.owners.push_back(copy);
  }
  Package guarded = *whole;
  forbid(guarded, "model.layers.0.mlp.gate_proj.weight", 2 * kPage);
  forbid(guarded, "model.layers.0.mlp.up_proj.weight", 2 * kPage);
  const auto ids = testing::some_ids(150);
  const auto wanted = logits_of(*open(zeroed), ids);
  const auto session = open(guarded);
  session->impl().sequence.decoder().leave_out(&mask);
  EXPECT_EQ(logits_of(*session, ids), wanted);
  EXPECT_NE(logits_of(*open(*whole), ids), wanted);
}

TEST(Restriction, ASkippedLayerIsNotTouched) {
  Package package = *TinyPackage().take();
  model::RunMask mask;
  mask.visits.resize(2);
  mask.visits[1].skipped = true;
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "mlp.gate_proj", "mlp.down_proj"})
    forbid(package, std::string("model.layers.1.") + name + ".weight", 2 * kPage);
  const auto session = open(package);
  session->impl().sequence.decoder().leave_out(&mask);
  for (const float logit : logits_of(*session, testing::some_ids(20))) ASSERT_TRUE(std::isfinite(logit));
}

TEST(Restriction, DeadHeadsAreNotTouched) {
  Package package = *TinyPackage().take();  // 4 heads of 16 over 2 key heads: 16 rows are one page
  model::RunMask mask;
  mask.visits.resize(2);
  mask.visits[0].heads = {0, 0, 1, 1};
  forbid(package, "model.layers.0.self_attn.q_proj.weight", 2 * kPage);
  forbid(package, "model.layers.0.self_attn.k_proj.weight", kPage);
  forbid(package, "model.layers.0.self_attn.v_proj.weight", kPage);
  const auto session = open(package);
  session->impl().sequence.decoder().leave_out(&mask);
  for (const float logit : logits_of(*session, testing::some_ids(150))) ASSERT_TRUE(std::isfinite(logit));
}

TEST(Restriction, ALayerWithoutAnExpertLeftIsRefused) {
  model::Plan plan;
  plan.layers.resize(1);
  model::ExpertsPlan mixture;
  mixture.experts.resize(2);
  plan.layers[0].ffn = mixture;
  TaskMask task;
  task.visits.resize(1);
  task.visits[0].experts = {0, 1};
  EXPECT_TRUE(build_run_mask(plan, task, ExpertCover{{{0, {0, 5}}}, 1}));
  const auto none = build_run_mask(plan, task, ExpertCover{{{0, {5, 0}}}, 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().fault, Fault::kRefused);
}

TEST(Restriction, BitsBeyondALayersOwnHaveNoMeaning) {
  model::Plan plan;
  plan.layers.resize(1);
  auto& ffn = std::get<model::FeedForwardPlan>(plan.layers[0].ffn);
  ffn.gate.weights.rows = 3;  // a layer that has kept fewer neurons
  std::get<model::AttentionPlan>(plan.layers[0].mixer).heads = 2;
  TaskMask task;
  task.visits.resize(1);
  task.visits[0].neurons = {1, 0, 1, 0, 0};
  task.visits[0].heads = {1, 1, 0};
  const auto mask = build_run_mask(plan, task, std::nullopt);
  ASSERT_TRUE(mask) << mask.error().message;
  ASSERT_TRUE(mask->visits[0].neurons);
  ASSERT_EQ(mask->visits[0].neurons->size(), 2u);
  EXPECT_EQ(mask->visits[0].neurons->at(1).last, 3u);
  EXPECT_TRUE(mask->visits[0].heads.empty()) << "both of its heads live";
}

}  // namespace
}  // namespace amphora
