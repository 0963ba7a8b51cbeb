// Whole models against the outputs that Hugging Face transformers gave for them, in float32, on a CPU.
#include <gtest/gtest.h>

#include "amphora/session.h"
#include "engine/prompt.h"
#include "engine/testing/golden.h"
#include "kernels/kernels.h"

namespace amphora {
namespace {

using testing::continue_greedily;
using testing::ids_of;
using testing::largest_difference;
using testing::load_decoded;
using testing::load_model;
using testing::open_session;
using testing::read_json;
using testing::test_data;

std::vector<std::string> kernels_that_run_here() {
  std::vector<std::string> names;
  for (const kernels::Variant* variant : kernels::variants())
    if (kernels::runs_here(*variant)) names.emplace_back(kernels::name_of(*variant));
  return names;
}

class TinyModel : public ::testing::TestWithParam<const char*> {};

TEST_P(TinyModel, ExactNumericsGiveTheReferencesLogitsIdsAndLikelihood) {
  const auto folder = test_data(GetParam());
  const json::Value golden = read_json(folder / "golden.json");
  const auto model = load_decoded(folder);
  ASSERT_TRUE(model);
  for (const std::string& name : kernels_that_run_here()) {
    const auto session = open_session(model, {.exact = true, .kernels = name});
    for (const char* prompt : {"p17", "p70"}) {
      const json::Value& wanted = *golden.find("prompts")->find(prompt);
      const auto ids = ids_of(*wanted.find("ids"));
      session->reset();
      const auto logits = session->forward(ids);
      ASSERT_TRUE(logits) << logits.error().message;
      EXPECT_LE(largest_difference(*logits, *wanted.find("last_logits")), 2e-4) << name << ' ' << prompt;
      EXPECT_EQ(continue_greedily(*session, *logits, 24), ids_of(*wanted.find("greedy_ids")))
          << name << ' ' << prompt;
      const auto ppl = perplexity(*session, ids);
      ASSERT_TRUE(ppl) << ppl.error().message;
      EXPECT_EQ(ppl->tokens, wanted.find("nll_count")->as_unsigned());
      EXPECT_NEAR(ppl->nll_mean, wanted.find("mean_nll")->as_double(), 1e-4) << name << ' ' << prompt;
    }
  }
}

TEST_P(TinyModel, BlocksAndThreadsDoNotChangeABit) {
  const auto folder = test_data(GetParam());
  const auto ids = ids_of(*read_json(folder / "golden.json").find("prompts")->find("p70")->find("ids"));
  const auto model = load_decoded(folder);
  ASSERT_TRUE(model);
  for (const bool exact : {false, true}) {
    const auto reference = open_session(model, {.threads = 1, .exact = exact});
    const auto at_once = reference->forward(ids);
    ASSERT_TRUE(at_once);
    for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}}) {
      const auto session = open_session(model, {.threads = threads, .exact = exact});
      const auto again = session->forward(ids);
      ASSERT_TRUE(again);
      EXPECT_TRUE(std::ranges::equal(*again, *at_once)) << threads << " threads";
      session->reset();
      std::span<const float> last;
      for (const TokenId id : ids) last = *session->forward({&id, 1});
      EXPECT_TRUE(std::ranges::equal(last, *at_once)) << threads << " threads, one by one";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, TinyModel,
    ::testing::Values("hf/tiny/llama", "hf/tiny/llama_sharded", "hf/tiny/qwen2", "hf/tiny/qwen3",
                      "hf/tiny/gemma2", "hf/tiny/gemma3", "hf/tiny/mistral", "hf/tiny/phi3",
                      "hf/tiny/qwen2_moe", "hf/tiny/qwen3_moe", "hf/tiny/mixtral", "hf/tiny/qwen3_next",
                      "hf/tiny/qwen3_5", "hf/tiny/qwen3_5_moe", "hf/tiny/qwen3_5_mtp",
                      "hf/tiny/qwen3_5_moe_mtp", "hf/tiny/deepseek_v3_mtp", "hf/tiny/glm4_moe_mtp"),
    [](const auto& instance) { return std::filesystem::path(instance.param).filename().string(); });

class BothRoutes : public ::testing::TestWithParam<const char*> {};

TEST_P(BothRoutes, GiveTheSameLogits) {
  const auto folder = test_data(std::string("hf/tiny/") + GetParam());
  const json::Value golden = read_json(folder / "golden.json");
  const json::Value& wanted = *golden.find("prompts")->find("p70");
  const auto ids = ids_of(*wanted.find("ids"));
  const auto session = open_session(load_decoded(test_data(std::string("gguf/tiny/") + GetParam() + ".gguf")),
                                    {.exact = true});
  ASSERT_TRUE(session);
  const auto logits = session->forward(ids);
  ASSERT_TRUE(logits) << logits.error().message;
  EXPECT_LE(largest_difference(*logits, *wanted.find("last_logits")), 2e-4);
  EXPECT_EQ(continue_greedily(*session, *logits, 24), ids_of(*wanted.find("greedy_ids")));
}

INSTANTIATE_TEST_SUITE_P(Gguf, BothRoutes,
                         ::testing::Values("deepseek_v3_mtp", "gemma2", "glm4_moe_mtp", "mistral", "mixtral",
                                           "phi3", "qwen2_moe", "qwen3_5", "qwen3_5_moe", "qwen3_moe",
                                           "qwen3_next"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(BaseModel, ExactNumericsContinueAsTheReference) {
  const auto folder = test_data("base-model");
  const json::Value golden = read_json(folder / "golden.json");
  const auto model = load_model(folder);
  ASSERT_TRUE(model);
  const auto vocabulary = Vocabulary::load(model->package());
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const auto session = open_session(model, {.exact = true});
  for (const json::Value& prompt : golden.find("prompts")->items()) {
    const auto ids = (*vocabulary)->encode_text(prompt.find("text")->text());
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, ids_of(*prompt.find("ids")));
    session->reset();
    const auto logits = session->forward(*ids);
    ASSERT_TRUE(logits) << logits.error().message;
    EXPECT_LE(largest_difference(*logits, *prompt.find("logits")), 2e-4);
    const auto wanted = ids_of(*prompt.find("greedy"));
    EXPECT_EQ(continue_greedily(*session, *logits, wanted.size()), wanted);
  }
}

TEST(BaseModel, PerplexityInWindowsIsTheReferences) {
  const auto folder = test_data("base-model");
  const json::Value golden = read_json(folder / "golden.json");
  const json::Value& prose = *golden.find("heldout")->find("prose");
  const auto model = load_model(folder);
  ASSERT_TRUE(model);
  const auto vocabulary = Vocabulary::load(model->package());
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const auto text = read_small_file(test_data("model/heldout-prose.txt"), 1 << 20);
  ASSERT_TRUE(text);
  auto ids = (*vocabulary)->encode_text(*text);
  ASSERT_TRUE(ids) << ids.error().message;
  ids->resize(512);
  const double first = prose.find("window_nll_sums")->items()[0].as_double();
  const double second = prose.find("window_nll_sums")->items()[1].as_double();
  const auto exact = perplexity(*open_session(model, {.exact = true}), *ids, {.context = 256});
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->tokens, 510u);
  EXPECT_NEAR(exact->nll_mean, (first + second) / 510, 1e-4);
  // The fast mode (here: an f16 cache) stays within half a percent of the perplexity.
  const auto fast = perplexity(*open_session(model, {}), *ids, {.context = 256});
  ASSERT_TRUE(fast) << fast.error().message;
  EXPECT_NEAR(fast->ppl / exact->ppl, 1, 0.005);
}

}  // namespace
}  // namespace amphora
