// Sampling: each step alone, and whole sequences against a computation in another language.
#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "engine/random.h"

namespace amphora::engine {
namespace {

using ::testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<TokenId> draw(const SamplingOptions& options, std::span<const float> logits, size_t count,
                          std::vector<TokenId> recent = {}) {
  Sampler sampler(options);
  std::vector<TokenId> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(sampler.sample(logits, recent));
  return ids;
}

std::map<TokenId, size_t> counts(const SamplingOptions& options, std::span<const float> logits,
                                 size_t count) {
  std::map<TokenId, size_t> counts;
  for (const TokenId id : draw(options, logits, count)) ++counts[id];
  return counts;
}

TEST(Random, IsSplitMix64) {
  // The first two outputs of the published generator for seed 0.
  EXPECT_EQ(scramble(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(scramble(0x9E3779B97F4A7C15u), 0x6E789E6AA1B965F4u);
  EXPECT_DOUBLE_EQ(uniform(1, 0), 0.36818951565166946);  // from Python
  EXPECT_DOUBLE_EQ(uniform(1, 1), 0.9140224628703029);
}

TEST(ExpOfNegative, IsWithinItsBound) {
  EXPECT_EQ(exp_of_negative(0), 1.0);
  for (double x = -700; x < 0; x += 0.01171875) {
    const double wanted = std::exp(x);
    EXPECT_NEAR(exp_of_negative(x), wanted, 1e-15 * wanted) << x;
  }
  EXPECT_EQ(exp_of_negative(-1e9), 0.0);
  EXPECT_EQ(exp_of_negative(-std::numeric_limits<double>::infinity()), 0.0);
}

TEST(Sampler, TemperatureZeroTakesTheLargestAndTheLowerOfEquals) {
  EXPECT_THAT(draw({}, std::vector<float>{1, 3, 2, 3}, 3), ElementsAre(1, 1, 1));
}

TEST(Sampler, SequencesAreThoseOfTheReference) {
  // Computed in Python: SplitMix64, math.exp, candidates in order of their ids (or, cut, of their logits).
  const std::vector<float> logits{0.5f, -1.0f, 2.0f, 1.5f, 0.0f, 1.0f, -0.5f, 1.75f};
  EXPECT_THAT(draw({.temperature = 0.8, .seed = 42}, logits, 16),
              ElementsAre(2, 7, 3, 7, 2, 7, 7, 2, 7, 7, 5, 3, 3, 3, 7, 7));
  EXPECT_THAT(draw({.temperature = 0.8, .top_k = 4, .top_p = 0.9, .seed = 7}, logits, 16),
              ElementsAre(3, 2, 2, 7, 7, 7, 5, 2, 2, 7, 7, 3, 2, 5, 3, 2));
}

TEST(Sampler, FrequenciesFollowTheProbabilities) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  const size_t draws = 20000;
  const auto seen = counts({.temperature = 1, .seed = 3}, logits, draws);
  for (const auto& [id, probability] : {std::pair<TokenId, double>{0, 0.5}, {1, 0.3}, {2, 0.2}}) {
    const double deviation = std::sqrt(draws * probability * (1 - probability));
    EXPECT_NEAR(static_cast<double>(seen.at(id)), draws * probability, 4 * deviation) << id;
  }
}

TEST(Sampler, TopKKeepsTheLargestAndTheLowerIdsOfEquals) {
  const auto seen = counts({.temperature = 5, .top_k = 2}, std::vector<float>{1, 2, 1, 1}, 200);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(1) && seen.contains(0));
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const std::vector<float> logits{std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.45}, logits, 200).size(), 1u);
  const auto two = counts({.temperature = 1, .top_p = 0.75}, logits, 200);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_FALSE(two.contains(0));
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.85}, logits, 200).size(), 3u);
}

TEST(Sampler, TopPCountsOnlyWhatTopKHasKept) {
  // Of the two largest, 0.5 and 0.3, the first holds 0.625 of what is left.
  const std::vector<float> logits{std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  EXPECT_EQ(counts({.temperature = 1, .top_k = 2, .top_p = 0.6}, logits, 200).size(), 1u);
}

TEST(Sampler, MinPDropsWhatIsFarBelowTheLargest) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.04f), std::log(0.16f)};
  const auto seen = counts({.temperature = 1, .min_p = 0.3}, logits, 300);
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen.contains(2));
}

TEST(Sampler, PenaltyCountsEveryRecentIdOnce) {
  const std::vector<float> logits{4, 3, -1, -1.5f};
  const SamplingOptions options{.repeat_penalty = 1.5, .repeat_window = 3};
  EXPECT_THAT(draw(options, logits, 1, {0}), ElementsAre(1)) << "4 / 1.5 < 3";
  EXPECT_THAT(draw(options, logits, 1, {1, 1, 1, 0, 0}), ElementsAre(0)) << "4 / 1.5 > 3 / 1.5, each once";
  EXPECT_THAT(draw(options, logits, 1, {0, 2, 2, 2}), ElementsAre(0)) << "0 is no longer recent";
  EXPECT_THAT(draw({.repeat_penalty = 2}, std::vector<float>{-1, -1.5f}, 1, {0}), ElementsAre(1))
      << "negative logits are multiplied";
}

TEST(Sampler, NeverChoosesNaN) {
  for (const double temperature : {0.0, 1.0})
    EXPECT_THAT(draw({.temperature = temperature}, std::vector<float>{kNaN, -kInfinity, 1, kNaN}, 3),
                ElementsAre(2, 2, 2));
  EXPECT_THAT(draw({.temperature = 1}, std::vector<float>{0, kInfinity}, 2), ElementsAre(1, 1));
  EXPECT_THAT(draw({.temperature = 1}, std::vector<float>{kNaN, kNaN}, 1), ElementsAre(0));
}

TEST(Sampler, OptionsOutsideTheirRangesAreRefused) {
  EXPECT_TRUE(check_sampling({}));
  EXPECT_TRUE(
      check_sampling({.temperature = 2, .top_k = 40, .top_p = 0.95, .min_p = 0.05, .repeat_penalty = 1.1}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = -1}, SamplingOptions{.temperature = nan}, SamplingOptions{.top_p = 0},
        SamplingOptions{.top_p = 1.5}, SamplingOptions{.min_p = -0.1}, SamplingOptions{.min_p = nan},
        SamplingOptions{.repeat_penalty = 0}}) {
    const Status status = check_sampling(options);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, Fault::kUsage);
  }
}

}  // namespace
}  // namespace amphora::engine
