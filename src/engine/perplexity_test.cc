// Perplexity: which tokens are scored, and the statistics over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "amphora/session.h"
#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using amphora::testing::open_session;
using amphora::testing::some_ids;
using model::testing::TinyPackage;
using ::testing::HasSubstr;

TEST(Perplexity, OfAModelThatKnowsNothingIsTheVocabulary) {
  TinyPackage tiny;
  tiny.spec.logit_multiplier = 0;
  const auto result = perplexity(*open_session(tiny), some_ids(40));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tokens, 39u);
  EXPECT_NEAR(result->nll_mean, std::log(80.0), 1e-12);
  EXPECT_NEAR(result->ppl, 80, 1e-9);
  EXPECT_NEAR(result->ppl_stderr, 0, 1e-9);
}

// The last id of a text is predicted but never run.
TEST(Perplexity, RefusesAnIdThatIsOnlyPredictedTooIfItIsOutsideTheVocabulary) {
  const std::vector<TokenId> ids{1, 2, 80};
  const auto result = perplexity(*open_session(TinyPackage()), ids);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, Fault::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("token id 80 is outside the vocabulary of 80"));
}

TEST(Perplexity, IsTheMeanOverThePredictedTokensWithItsStandardError) {
  const auto ids = some_ids(30);
  const auto session = open_session(TinyPackage());
  std::vector<double> nll;
  ASSERT_TRUE(session->forward_each(ids, [&](size_t index, std::span<const float> logits) -> Status {
    if (index + 1 == ids.size()) return {};
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit});
    nll.push_back(std::log(sum) - logits[ids[index + 1]]);
    return {};
  }));
  double mean = 0, variance = 0;
  for (const double each : nll) mean += each / 29;
  for (const double each : nll) variance += (each - mean) * (each - mean) / 28;
  const auto result = perplexity(*session, ids);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tokens, 29u);
  EXPECT_NEAR(result->nll_mean, mean, 1e-12);
  EXPECT_NEAR(result->ppl, std::exp(mean), 1e-9 * std::exp(mean));
  EXPECT_NEAR(result->ppl_stderr, std::exp(mean) * std::sqrt(variance / 29), 1e-9 * std::exp(mean));
}

TEST(Perplexity, WindowsScoreEveryTokenOnce) {
  struct Case {
    size_t ids;
    uint32_t context, stride;
    uint64_t tokens;
  };
  const Case cases[] = {
      {40, 0, 0, 39},    // one pass
      {40, 40, 0, 39},   // just fits
      {40, 10, 0, 36},   // four windows, each but its first token
      {41, 10, 0, 36},   // a last window of one token predicts nothing
      {40, 10, 5, 39},   // overlapping: all but the very first
      {40, 10, 10, 36},  // as the default
      {43, 10, 9, 42},  {40, 2, 1, 39},
  };
  TinyPackage tiny;
  tiny.spec.logit_multiplier = 0;
  const auto session = open_session(tiny);
  for (const Case& each : cases) {
    const auto result =
        perplexity(*session, some_ids(each.ids), {.context = each.context, .stride = each.stride});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tokens, each.tokens) << each.ids << ' ' << each.context << ' ' << each.stride;
  }
}

TEST(Perplexity, AWindowSeesNothingBeforeIt) {
  const auto ids = some_ids(20);
  const auto session = open_session(TinyPackage());
  const auto first = perplexity(*session, std::span(ids).first(10));
  const auto second = perplexity(*session, std::span(ids).subspan(10));
  const auto both = perplexity(*session, ids, {.context = 10});
  ASSERT_TRUE(first && second && both);
  EXPECT_NEAR(both->nll_mean, (first->nll_mean + second->nll_mean) / 2, 1e-12);
  // Overlapping windows: the second one scores ids 10 … 14 with five ids before them in the cache.
  const auto overlapping = perplexity(*session, std::span(ids).first(15), {.context = 10, .stride = 5});
  const auto window = perplexity(*session, std::span(ids).subspan(5, 10));
  const auto head = perplexity(*session, std::span(ids).subspan(5, 5));
  ASSERT_TRUE(overlapping && window && head);
  EXPECT_NEAR(overlapping->nll_mean * 14, first->nll_mean * 9 + window->nll_mean * 9 - head->nll_mean * 4,
              1e-9);
}

TEST(Perplexity, RefusesWhatCannotBeMeasured) {
  const auto session = open_session(TinyPackage(), 20);
  for (const auto& [count, options, words] :
       {std::tuple<size_t, PerplexityOptions, const char*>{1, {}, "at least two tokens"},
        {10, {.context = 1}, "at least two positions"},
        {10, {.context = 30}, "a window of 30 positions does not fit into a context of 20"},
        {10, {.context = 5, .stride = 6}, "a stride of 6"}}) {
    const auto result = perplexity(*session, some_ids(count), options);
    ASSERT_FALSE(result) << words;
    EXPECT_EQ(result.error().fault, Fault::kUsage);
    EXPECT_THAT(result.error().message, HasSubstr(words));
  }
}

TEST(Perplexity, CanBeInterrupted) {
  std::stop_source source;
  const auto session = open_session(TinyPackage());
  const auto result = perplexity(*session, some_ids(40),
                                 {.progress =
                                      [&](uint64_t done, uint64_t) {
                                        if (done > 10) source.request_stop();
                                      },
                                  .interrupt = source.get_token()});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, Fault::kRefused);
}

}  // namespace
}  // namespace amphora
