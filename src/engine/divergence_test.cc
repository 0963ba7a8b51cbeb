// Divergence of two models: zero of a model with itself, and the formula's numbers otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/divergence.h"
#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using amphora::testing::open_session;
using amphora::testing::some_ids;
using model::testing::TinyPackage;
using ::testing::HasSubstr;

/// All logits of a run, one row for each id.
std::vector<std::vector<float>> rows_of(Session& session, std::span<const TokenId> ids) {
  std::vector<std::vector<float>> rows;
  EXPECT_TRUE(session.forward_each(ids, [&](size_t, std::span<const float> logits) -> Status {
    rows.emplace_back(logits.begin(), logits.end());
    return {};
  }));
  return rows;
}

TEST(Divergence, OfAModelWithItselfIsNothing) {
  const auto result = divergence(*open_session(TinyPackage()), *open_session(TinyPackage()), some_ids(40));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->positions, 39u);
  EXPECT_EQ(result->kl_mean, 0);
  EXPECT_EQ(result->kl_99, 0);
  EXPECT_EQ(result->top1_agreement, 1);
  EXPECT_EQ(result->ppl_ratio, 1);
}

// The candidate knows nothing: KL is ln 80 minus the entropy of the reference.
TEST(Divergence, FromAModelThatKnowsNothingIsTheMissingEntropy) {
  TinyPackage ignorant;
  ignorant.spec.logit_multiplier = 0;
  const auto ids = some_ids(30);
  const auto reference = open_session(TinyPackage());
  const auto rows = rows_of(*reference, ids);
  double mean = 0, nll = 0;
  int first_is_best = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    double sum = 0, entropy = 0;
    for (const float logit : rows[i]) sum += std::exp(double{logit});
    for (const float logit : rows[i]) {
      const double p = std::exp(double{logit}) / sum;
      entropy -= p * std::log(p);
    }
    mean += (std::log(80.0) - entropy) / 29;
    nll += (std::log(sum) - rows[i][ids[i + 1]]) / 29;
    first_is_best += std::ranges::max_element(rows[i]) == rows[i].begin() ? 1 : 0;
  }
  const auto result = divergence(*reference, *open_session(ignorant), ids);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->kl_mean, mean, 1e-9);
  EXPECT_GE(result->kl_99, result->kl_mean);
  EXPECT_NEAR(result->ppl_ratio, 80 / std::exp(nll), 1e-9 * result->ppl_ratio);
  EXPECT_NEAR(result->top1_agreement, first_is_best / 29.0, 1e-12);  // equal logits: the first is the best
}

TEST(Divergence, CutsALongTextIntoWindows) {
  const auto result =
      divergence(*open_session(TinyPackage(), 16), *open_session(TinyPackage(), 32), some_ids(40));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->positions, 15u + 15u + 7u);
}

TEST(Divergence, RefusesWhatCannotBeCompared) {
  const std::vector<TokenId> outside{1, 2, 80};
  EXPECT_THAT(divergence(*open_session(TinyPackage()), *open_session(TinyPackage()), outside).error().message,
              HasSubstr("token id 80 is outside"));
  const auto a = open_session(TinyPackage()), b = open_session(TinyPackage());
  EXPECT_THAT(divergence(*a, *b, some_ids(1)).error().message, HasSubstr("at least two tokens"));
  EXPECT_THAT(divergence(*a, *b, some_ids(9), {.context = 1}).error().message, HasSubstr("window of 1"));
  EXPECT_THAT(divergence(*a, *b, some_ids(9), {.stride = 4}).error().message, HasSubstr("stride"));
}

}  // namespace
}  // namespace amphora
