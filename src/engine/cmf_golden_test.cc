// Files of the reference implementation against the logits and ids that it gave for them: every architecture,
// task masks and restrictions of experts (tests/data/cmf, runs with f32 activations).
#include <gtest/gtest.h>

#include <cmath>

#include "amphora/session.h"
#include "engine/testing/golden.h"
#include "package/route_stats.h"

namespace amphora {
namespace {

using testing::continue_greedily;
using testing::ids_of;
using testing::largest_difference;
using testing::load_model;
using testing::open_session;
using testing::read_json;
using testing::test_data;

constexpr const char* kExact = "exact_CMF_SDOT=0";
/// The reference's batched prefill ignores all of a mask but FFN rows, so its runs token by token count.
constexpr const char* kExactSequential = "exact_seq_prefill_CMF_SDOT=0_CMF_PREFILL=seq";

/// A model's run: its variant in the golden file and the task mask that it names, if any.
struct Expected {
  const char* file;
  const char* variant = "default";
  const char* task = "";
  /// The reference leaves out the norms of q and k in a layer with a masked head, so there its ids alone
  /// count.
  bool logits_count = true;
};

std::string name_of(const Expected& run) {
  return std::string(run.file) + (run.task[0] == 0 ? "" : std::string("_") + run.task);
}

class ReferenceRun : public ::testing::TestWithParam<Expected> {};

TEST_P(ReferenceRun, GivesItsLogitsAndIds) {
  const Expected& run = GetParam();
  const std::string stem = std::string("cmf/") + run.file;
  const json::Value golden = read_json(test_data(stem + ".json"));
  const json::Value* runs = golden.find("runs")->find(run.variant);
  ASSERT_NE(runs, nullptr);
  const json::Value* wanted = runs->find(kExactSequential);
  if (wanted == nullptr) wanted = runs->find(kExact);
  ASSERT_NE(wanted, nullptr);

  const auto model = load_model(test_data(stem + ".cmf"));
  ASSERT_TRUE(model);
  const auto session = open_session(model, {.exact = true, .task = run.task});
  const auto logits = session->forward(ids_of(*wanted->find("prompt_ids")));
  ASSERT_TRUE(logits) << logits.error().message;
  const double difference = largest_difference(*logits, *wanted->find("first_logits"));
  EXPECT_TRUE(difference <= 2e-4 || !run.logits_count) << difference;
  const auto ids = ids_of(*wanted->find("greedy_ids"));
  EXPECT_EQ(continue_greedily(*session, *logits, ids.size()), ids);
}

INSTANTIATE_TEST_SUITE_P(Architectures, ReferenceRun,
                         ::testing::Values(Expected{"arch_gemma2_f16"}, Expected{"arch_gemma3_f16"},
                                           Expected{"arch_gemma3_q8"}, Expected{"arch_kimi_kda_f16"},
                                           Expected{"arch_laguna_f16"}, Expected{"arch_lfm2_f16"},
                                           Expected{"arch_looped_f16"}, Expected{"arch_partial_rotary_f16"},
                                           Expected{"arch_qwen2_moe_f16"},
                                           Expected{"arch_qwen3_5_gdn_mtp_q8"}, Expected{"arch_qwen3_f16"},
                                           Expected{"arch_qwen3_moe_f16"}, Expected{"arch_qwen3_moe_q4tp"},
                                           Expected{"arch_qwen3_moe_q8"}, Expected{"arch_qwen3_next_moe_q8"}),
                         [](const auto& instance) { return name_of(instance.param); });

// masks_dense's heads are a recorded fault of the reference (it drops biases there).
INSTANTIATE_TEST_SUITE_P(
    Masks, ReferenceRun,
    ::testing::Values(Expected{"masks_dense", "no_task"}, Expected{"masks_dense", "general", "general"},
                      Expected{"masks_dense", "ffn", "ffn"}, Expected{"masks_dense", "gate", "gate"},
                      Expected{"masks_expert", "no_task"}, Expected{"masks_expert", "general", "general"},
                      Expected{"masks_expert", "ffn", "ffn"},
                      Expected{"masks_expert", "heads", "heads", false},
                      Expected{"masks_expert", "gate", "gate"},
                      Expected{"masks_expert", "experts", "experts"}, Expected{"masks_loop", "no_task"},
                      Expected{"masks_loop", "general", "general"}, Expected{"masks_loop", "ffn", "ffn"},
                      Expected{"masks_loop", "heads", "heads"}, Expected{"masks_loop", "gate", "gate"},
                      Expected{"moe_mask", "no_task"}, Expected{"moe_mask", "coder", "coder"},
                      Expected{"moe_defrag"}),
    [](const auto& instance) { return name_of(instance.param); });

/// Greedy ids of a file's run after the prompt of the routing goldens.
std::vector<TokenId> greedy_ids(const char* file, const SessionOptions& options) {
  const std::vector<TokenId> prompt = {3, 17, 42, 9, 88, 21, 5, 64, 30, 11, 70, 2, 45, 19};
  const auto session = open_session(load_model(test_data(file)), options);
  const auto logits = session->forward(prompt);
  if (!logits) {
    ADD_FAILURE() << logits.error().message;
    return {};
  }
  return continue_greedily(*session, *logits, 32);
}

TEST(ExpertRestriction, MaskRunTimeAndDefragmentedFileAgree) {
  const auto stats = load_route_stats(test_data("cmf/moe_stats.json"));
  ASSERT_TRUE(stats) << stats.error().message;
  const SessionOptions restricted = {.exact = true, .experts = ExpertCover{*stats, 0.6}};
  const auto wanted = greedy_ids("cmf/moe_defrag.cmf", {.exact = true});
  EXPECT_EQ(greedy_ids("cmf/moe_mask.cmf", {.exact = true, .task = "coder"}), wanted);
  EXPECT_EQ(greedy_ids("cmf/moe_mask.cmf", restricted), wanted);
  EXPECT_EQ(greedy_ids("cmf/arch_qwen3_moe_q8.cmf", restricted), wanted);
  EXPECT_NE(greedy_ids("cmf/arch_qwen3_moe_q8.cmf", {.exact = true}), wanted);
}

TEST(ExpertRestriction, RefusesCountsOfAnotherModel) {
  const auto model = load_model(test_data("cmf/arch_qwen3_moe_q8.cmf"));
  EXPECT_FALSE(Session::create(model, {.experts = ExpertCover{{{0, {1, 2, 3}}}, 0.5}}));
  for (const double cover : {0.0, -1.0, 1.5, std::nan("")})
    EXPECT_FALSE(Session::create(model, {.experts = ExpertCover{{}, cover}})) << cover;
  const auto dense = load_model(test_data("cmf/dense_q8.cmf"));
  EXPECT_FALSE(Session::create(dense, {.experts = ExpertCover{{}, 0.5}})) << "no experts";
}

TEST(ExpertCounts, CountEveryChoiceOfEveryLayer) {
  const auto session = open_session(load_model(test_data("cmf/arch_qwen3_moe_q8.cmf")),
                                    {.exact = true, .count_experts = true});
  const std::vector<TokenId> ids = {3, 17, 42, 9, 88, 21, 5};
  ASSERT_TRUE(session->prefill(ids));
  const ExpertCounts counts = session->expert_counts();
  ASSERT_EQ(counts.size(), 2u);
  for (const auto& [layer, of_layer] : counts) {
    ASSERT_EQ(of_layer.size(), 8u);
    uint64_t sum = 0;
    for (const uint64_t count : of_layer) sum += count;
    EXPECT_EQ(sum, 2 * ids.size()) << "two experts a token";
  }
}

TEST(Tasks, AnUnknownOneIsRefusedWithThoseThereAre) {
  const auto session = Session::create(load_model(test_data("cmf/masks_expert.cmf")), {.task = "nonsense"});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().fault, Fault::kUsage);
  EXPECT_NE(session.error().message.find("only general, ffn, heads, gate, experts"), std::string::npos)
      << session.error().message;
}

TEST(Tasks, AnUnmeasuredOneIsNoted) {
  const auto model = load_model(test_data("cmf/masks_loop.cmf"));
  EXPECT_EQ(open_session(model, {.task = "ffn"})->notes().size(), 1u);
  EXPECT_TRUE(open_session(model, {.task = "general"})->notes().empty()) << "its quality was measured";
}

}  // namespace
}  // namespace amphora
