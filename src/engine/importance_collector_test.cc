// Tests of collected importance: sums by hand, every matrix of a model, the same for any number of threads.
#include "engine/importance_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "amphora/session.h"
#include "base/testing/test_data.h"

namespace amphora {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ImportanceCollector, TakesTheMeanOfSquaresPerColumn) {
  std::array<std::byte, 8> payloads{};
  Package package;
  for (const char* name : {"a.weight", "b.weight", "unseen.weight"}) {
    PackageTensor& tensor = package.tensors.emplace_back();
    tensor.name = name;
    tensor.stored = Bytes(payloads).subspan(2 * package.tensors.size(), 2);
  }
  const auto matrix = [&](size_t index) {
    return kernels::Matrix{DType::kF32, 1, 2, package.tensors[index].stored};
  };
  ImportanceCollector collector(package);
  EXPECT_EQ(collector.importance().tokens, 0u);
  const std::array<float, 4> first = {1, -2, 3, 0.5f};
  const std::array<float, 2> second = {-1, 0};
  collector.observe(matrix(0), first.data(), 2);
  collector.observe(matrix(1), first.data(), 1);
  collector.observe(matrix(0), second.data(), 1);
  const std::array<std::byte, 2> elsewhere{};
  collector.observe(kernels::Matrix{DType::kF32, 1, 2, elsewhere}, first.data(), 2);
  const Importance importance = collector.importance();
  EXPECT_EQ(importance.tokens, 3u);
  ASSERT_THAT(importance.columns, SizeIs(2));
  EXPECT_THAT(importance.columns.at("a.weight"), ElementsAre(11.0f / 3, 4.25f / 3));
  EXPECT_THAT(importance.columns.at("b.weight"), ElementsAre(1, 4));
}

Importance collected(const std::shared_ptr<const Package>& package, size_t threads) {
  const auto model = Model::load(package);
  EXPECT_TRUE(model) << model.error().message;
  SessionOptions options;
  options.threads = threads;
  const auto session = *Session::create(*model, options);
  ImportanceCollector collector(*package);
  session->observe_inputs(&collector);
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < 200; ++id) ids.push_back(id * 7 % 256);
  EXPECT_TRUE(session->forward_each(ids, [](size_t, std::span<const float>) { return Status(); }));
  session->observe_inputs(nullptr);
  EXPECT_TRUE(session->forward(std::vector<TokenId>{1}));
  return collector.importance();
}

TEST(ImportanceCollector, SeesEveryMatrixOfAModelOnAnyNumberOfThreads) {
  const auto package = open_package(testing::test_data("hf/tiny/qwen3"));
  ASSERT_TRUE(package);
  const Importance one = collected(*package, 1);
  EXPECT_EQ(one.tokens, 200u) << "what runs after observing has ended does not count";
  size_t matrices = 0;
  for (const PackageTensor& tensor : (*package)->tensors) {
    if (tensor.shape.size() != 2) continue;
    const auto columns = one.columns.find(tensor.name);
    const bool looked_up_only =
        tensor.name == "model.embed_tokens.weight" && (*package)->find("lm_head.weight") != nullptr;
    ASSERT_EQ(columns == one.columns.end(), looked_up_only) << tensor.name;
    if (looked_up_only) continue;
    ++matrices;
    EXPECT_EQ(columns->second.size(), tensor.shape[1]) << tensor.name;
    for (const float value : columns->second) EXPECT_GT(value, 0) << tensor.name;
  }
  EXPECT_EQ(one.columns.size(), matrices);
  EXPECT_EQ(collected(*package, 3).columns, one.columns);
}

}  // namespace
}  // namespace amphora
