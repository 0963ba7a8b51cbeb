// Files of the reference implementation against the logits and ids that it gave for them: every architecture,
// task masks and restrictions of experts (tests/data/cmf, runs with f32 activations).
#include <gtest/gtest.h>

#include <algorithm>

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
struct Run {
  const char* file;
  const char* variant = "default";
  const char* task = "";
  double tolerance = 2e-4;
};

std::string name_of(const Run& run) {
  return std::string(run.file) + (run.task[0] == 0 ? "" : std::string("_") + run.task);
}

class ReferenceRun : public ::testing::TestWithParam<Run> {};

TEST_P(ReferenceRun, GivesItsLogitsAndIds) {
  const Run& run = GetParam();
  const std::string stem = std::string("cmf/") + run.file;
  const json::Value golden = read_json(test_data(stem + ".json"));
  const json::Value* runs = golden.find("runs")->find(run.variant);
  ASSERT_NE(runs, nullptr);
  const json::Value* wanted = runs->find(kExactSequential);
  if (wanted == nullptr) wanted = runs->find(kExact);
  ASSERT_NE(wanted, nullptr);
  ASSERT_GE(wanted->find("min_margin")->as_double(), 0.01) << "a margin that can be trusted";

  const auto model = load_model(test_data(stem + ".cmf"));
  ASSERT_TRUE(model);
  const auto session = open_session(model, {.exact = true, .task = run.task});
  const auto logits = session->forward(ids_of(*wanted->find("prompt_ids")));
  ASSERT_TRUE(logits) << logits.error().message;
  EXPECT_LE(largest_difference(*logits, *wanted->find("first_logits")), run.tolerance);
  const auto ids = ids_of(*wanted->find("greedy_ids"));
  EXPECT_EQ(continue_greedily(*session, *logits, ids.size()), ids);
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, ReferenceRun,
    ::testing::Values(Run{"arch_gemma2_f16"}, Run{"arch_gemma3_f16"}, Run{"arch_gemma3_q8"},
                      Run{"arch_kimi_kda_f16"}, Run{"arch_laguna_f16"}, Run{"arch_lfm2_f16"},
                      Run{"arch_looped_f16"}, Run{"arch_partial_rotary_f16"}, Run{"arch_qwen2_moe_f16"},
                      Run{"arch_qwen3_5_gdn_mtp_q8"}, Run{"arch_qwen3_f16"}, Run{"arch_qwen3_moe_f16"},
                      Run{"arch_qwen3_moe_q4tp"}, Run{"arch_qwen3_moe_q8"}, Run{"arch_qwen3_next_moe_q8"}),
    [](const auto& instance) { return name_of(instance.param); });

}  // namespace
}  // namespace amphora
