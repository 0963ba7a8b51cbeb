// Whole models against the outputs that Hugging Face transformers gave for them, in float32, on a CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "amphora/json.h"
#include "amphora/session.h"
#include "base/file.h"
#include "base/testing/test_data.h"
#include "engine/prompt.h"
#include "kernels/kernels.h"

namespace amphora {
namespace {

using amphora::testing::test_data;

json::Value read_json(const std::filesystem::path& path) {
  const auto text = read_small_file(path, uint64_t{1} << 24);
  if (!text) return {};
  auto value = json::parse(*text);
  if (!value) ADD_FAILURE() << path << ": " << value.error().message;
  return value ? *value : json::Value();
}

std::shared_ptr<const Model> load(const std::filesystem::path& path) {
  const auto package = open_package(path);
  if (!package) {
    ADD_FAILURE() << package.error().message;
    return nullptr;
  }
  const auto model = Model::load(*package);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return nullptr;
  }
  return *model;
}

std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model, const SessionOptions& options) {
  auto session = Session::create(model, options);
  if (!session) ADD_FAILURE() << session.error().message;
  return *std::move(session);
}

std::vector<TokenId> ids_of(const json::Value& value) {
  std::vector<TokenId> ids;
  for (const json::Value& item : value.items())
    ids.push_back(static_cast<TokenId>(item.as_unsigned().value()));
  return ids;
}

double largest_difference(std::span<const float> logits, const json::Value& wanted) {
  if (logits.size() != wanted.items().size()) return HUGE_VAL;
  double largest = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = std::abs(logits[i] - wanted.items()[i].as_double());
    if (!(difference <= largest)) largest = difference;  // a NaN counts as large
  }
  return largest;
}

/// Runs `count` argmax steps after the logits.
std::vector<TokenId> continue_greedily(Session& session, std::span<const float> logits, size_t count) {
  std::vector<TokenId> ids;
  while (ids.size() < count) {
    ids.push_back(session.argmax(logits));
    const auto next = session.forward({&ids.back(), 1});
    if (!next) ADD_FAILURE() << next.error().message;
    logits = *next;
  }
  return ids;
}

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
  const auto model = load(folder);
  ASSERT_TRUE(model);
  for (const std::string& name : kernels_that_run_here()) {
    const auto session = open(model, {.exact = true, .kernels = name});
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
  const auto model = load(folder);
  ASSERT_TRUE(model);
  for (const bool exact : {false, true}) {
    const auto reference = open(model, {.threads = 1, .exact = exact});
    const auto at_once = reference->forward(ids);
    ASSERT_TRUE(at_once);
    for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}}) {
      const auto session = open(model, {.threads = threads, .exact = exact});
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

INSTANTIATE_TEST_SUITE_P(Families, TinyModel,
                         ::testing::Values("hf/tiny/llama", "hf/tiny/llama_sharded", "hf/tiny/qwen2",
                                           "hf/tiny/qwen3", "hf/tiny/gemma2", "hf/tiny/gemma3",
                                           "hf/tiny/mistral", "hf/tiny/phi3"),
                         [](const auto& instance) {
                           return std::filesystem::path(instance.param).filename().string();
                         });

TEST(BaseModel, ExactNumericsContinueAsTheReference) {
  const auto folder = test_data("base-model");
  const json::Value golden = read_json(folder / "golden.json");
  const auto model = load(folder);
  ASSERT_TRUE(model);
  const auto vocabulary = Vocabulary::load(model->package());
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const auto session = open(model, {.exact = true});
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
  const auto model = load(folder);
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
  const auto exact = perplexity(*open(model, {.exact = true}), *ids, {.context = 256});
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->tokens, 510u);
  EXPECT_NEAR(exact->nll_mean, (first + second) / 510, 1e-4);
  // The fast mode (here: an f16 cache) stays within half a percent of the perplexity.
  const auto fast = perplexity(*open(model, {}), *ids, {.context = 256});
  ASSERT_TRUE(fast) << fast.error().message;
  EXPECT_NEAR(fast->ppl / exact->ppl, 1, 0.005);
}

}  // namespace
}  // namespace amphora
