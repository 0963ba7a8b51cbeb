// Tests of the widths that rows of vbit get: families, routing statistics, faults. Expected widths are worked
// out by hand from the rule of the format.
#include "package/vbit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace amphora {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kColumns = 32;

/// A matrix with one value other than zero in every row, at the end.
PackageTensor matrix(std::string name, const std::vector<float>& row_values) {
  PackageTensor tensor;
  tensor.name = std::move(name);
  tensor.shape = {row_values.size(), kColumns};
  tensor.stored_type = "F32";
  tensor.stored_bytes = tensor.elements() * 4;
  tensor.read = [row_values](uint64_t first, std::span<float> out) -> Status {
    for (uint64_t i = 0; i < out.size(); ++i) {
      const uint64_t index = first + i;
      out[i] = index % kColumns == kColumns - 1 ? row_values[index / kColumns] : 0.0f;
    }
    return {};
  };
  return tensor;
}

std::string expert_name(uint64_t expert) {
  return "model.layers.0.mlp.experts." + std::to_string(expert) + ".up_proj.weight";
}

Result<std::vector<PlannedTensor>> planned(const Package& package, std::string_view target,
                                           const RouteStats* stats = nullptr, size_t threads = 1) {
  QuantPlanOptions options;
  options.target = *parse_quant_target(target);
  AMPHORA_ASSIGN(std::vector<PlannedTensor> plan, plan_quantisation(package, options));
  AMPHORA_TRY(plan_vbit_rows(package, plan, stats, threads));
  return plan;
}

std::vector<std::vector<int>> widths(const Package& package, std::string_view target,
                                     const RouteStats* stats = nullptr) {
  const auto plan = planned(package, target, stats);
  EXPECT_TRUE(plan) << plan.error().message;
  std::vector<std::vector<int>> all;
  if (plan)
    for (const PlannedTensor& tensor : *plan)
      all.emplace_back(tensor.row_widths.begin(), tensor.row_widths.end());
  return all;
}

TEST(VbitPlan, MeetsTheBudgetOfATensor) {
  Package package;
  package.tensors = {matrix("a.weight", {1, -2, 4, 8}), matrix("b.weight", {0.5f, 0.5f})};
  // log2 is 0 1 2 3, mean 1.5.
  EXPECT_THAT(widths(package, "vbit:4.5"), ElementsAre(ElementsAre(3, 4, 5, 6), ElementsAre(4, 4)))
      << "a tie goes to the narrower";
  EXPECT_THAT(widths(package, "vbit"), ElementsAre(ElementsAre(3, 4, 5, 6), ElementsAre(4, 4)));
  EXPECT_THAT(widths(package, "vbit:8"), ElementsAre(ElementsAre(6, 8, 8, 8), ElementsAre(8, 8)));
  const auto plan = *planned(package, "vbit:4.5");
  // Widths, scales of one group per row, rows of 32 weights: 4 · (1 + 2) + (3 + 4 + 5 + 6) · 4.
  EXPECT_EQ(plan[0].bytes, 84u);
  EXPECT_EQ((*planned(package, "vbit_ro:4.5"))[0].bytes, 84u + 5 * 4) << "and the row offsets";
}

TEST(VbitPlan, ExpertsOfALayerAndProjectionShareTheirMean) {
  Package package;
  package.tensors = {matrix(expert_name(0), {1, 2}), matrix("alone.weight", {1, 2}),
                     matrix(expert_name(1), {4, 8}),
                     matrix("model.layers.0.mlp.experts.0.gate_proj.weight", {1, 2}),
                     matrix("model.layers.1.mlp.experts.0.up_proj.weight", {4, 8})};
  EXPECT_THAT(widths(package, "vbit:4.5"),
              ElementsAre(ElementsAre(3, 4), ElementsAre(4, 5), ElementsAre(5, 6), ElementsAre(4, 5),
                          ElementsAre(4, 5)));
}

TEST(VbitPlan, ALoudExpertGetsMoreBitsAndTheMeanIsKept) {
  Package package;
  package.tensors = {matrix(expert_name(0), {1, 1}), matrix(expert_name(1), {1, 1})};
  EXPECT_THAT(widths(package, "vbit:5"), Each(ElementsAre(5, 5)));
  const RouteStats stats = {{0, {1, 3}}};
  // Weights 0.5 and 1.5: levels -1 and 0.585, mean -0.2075, so 4.21 and 5.79.
  const auto loud = widths(package, "vbit:5", &stats);
  EXPECT_THAT(loud, ElementsAre(ElementsAre(4, 4), ElementsAre(6, 6)));
  EXPECT_EQ(
      std::accumulate(loud[0].begin(), loud[0].end(), 0) + std::accumulate(loud[1].begin(), loud[1].end(), 0),
      4 * 5);
}

TEST(VbitPlan, AnExpertThatWasNeverChosenIsAsQuietAsCanBe) {
  Package package;
  package.tensors = {matrix(expert_name(0), {1}), matrix(expert_name(1), {1})};
  const RouteStats stats = {{0, {0, 4}}};
  // Levels -24, the floor, and 1: far apart, so both are clamped.
  EXPECT_THAT(widths(package, "vbit:4.25", &stats), ElementsAre(ElementsAre(3), ElementsAre(8)));
  const RouteStats nothing = {{0, {0, 0}}};
  EXPECT_THAT(widths(package, "vbit:4.25", &nothing), Each(ElementsAre(4)));
  const RouteStats other_layer = {{7, {0, 4}}};
  EXPECT_THAT(widths(package, "vbit:4.25", &other_layer), Each(ElementsAre(4)));
}

TEST(VbitPlan, StandsOddRows) {
  Package package;
  const float tiny = std::numeric_limits<float>::denorm_min();
  package.tensors = {matrix("zeros.weight", {0, 0}), matrix("tiny.weight", {tiny, 0}),
                     matrix("far.weight", {6e4f, 1e-6f})};
  // All below the floor of 2^-24 are alike; 15.87 and -19.93 are 35 apart.
  EXPECT_THAT(widths(package, "vbit:5"),
              ElementsAre(ElementsAre(5, 5), ElementsAre(5, 5), ElementsAre(8, 3)));
}

TEST(VbitPlan, NamesTheFirstTensorThatIsNotFinite) {
  Package package;
  std::vector<float> rows(40, 1.0f);
  package.tensors = {matrix("fine.weight", rows)};
  rows[3] = std::numeric_limits<float>::quiet_NaN();
  package.tensors.push_back(matrix("first.weight", rows));
  rows[0] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < 20; ++i) package.tensors.push_back(matrix("later.weight", rows));
  for (const size_t threads : {1, 4}) {
    const auto plan = planned(package, "vbit", nullptr, threads);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::kRefused);
    EXPECT_EQ(plan.error().place, "first.weight");
    EXPECT_THAT(plan.error().message, HasSubstr("NaN at flat index 127"));
  }
}

TEST(VbitPlan, DoesNotDependOnThreadsAndTellsItsProgress) {
  Package package;
  for (int tensor = 0; tensor < 30; ++tensor) {
    std::vector<float> rows;
    for (int row = 0; row < 10; ++row)
      rows.push_back(std::exp2(static_cast<float>((tensor * 7 + row * 3) % 11)));
    package.tensors.push_back(matrix(expert_name(static_cast<uint64_t>(tensor)), rows));
  }
  const auto one = *planned(package, "vbit");
  const auto many = *planned(package, "vbit", nullptr, 4);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].row_widths, many[i].row_widths);

  std::vector<std::pair<uint64_t, uint64_t>> told;
  QuantPlanOptions options;
  options.target = *parse_quant_target("vbit");
  std::vector<PlannedTensor> plan = *plan_quantisation(package, options);
  ASSERT_TRUE(plan_vbit_rows(package, plan, nullptr, 3,
                             [&](uint64_t done, uint64_t total) { told.emplace_back(done, total); }));
  EXPECT_EQ(told.size(), 30u);
  EXPECT_EQ(told.back(), std::pair(uint64_t{30 * 10 * 32 * 4}, uint64_t{30 * 10 * 32 * 4}));
  EXPECT_TRUE(std::ranges::is_sorted(told));
}

TEST(VbitPlan, ReadsNothingThatNeedsNoWidths) {
  Package package;
  package.tensors = {matrix("a.weight", {1, 2})};
  std::atomic<int> reads = 0;
  package.tensors[0].read = [&](uint64_t, std::span<float>) -> Status {
    ++reads;
    return {};
  };
  EXPECT_THAT(widths(package, "q8"), Each(IsEmpty()));
  EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace amphora
