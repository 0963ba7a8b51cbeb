// Tests of routing statistics: malformed files, files for another model, weights.
#include "package/route_stats.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_data.h"

namespace amphora {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::test_data;

Package experts(const std::vector<uint64_t>& per_layer) {
  Package package;
  package.path = "model.cmf";
  for (size_t layer = 0; layer < per_layer.size(); ++layer)
    for (uint64_t expert = 0; expert < per_layer[layer]; ++expert) {
      package.tensors.emplace_back().name =
          fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight", layer, expert);
    }
  package.tensors.emplace_back().name = "model.norm.weight";
  return package;
}

TEST(RouteStats, ReadsWhatRunsWrite) {
  const auto stats = load_route_stats(test_data("cmf/moe_stats.json"));
  ASSERT_TRUE(stats) << stats.error().message;
  ASSERT_EQ(stats->size(), 2u);
  EXPECT_THAT(stats->at(0), ElementsAre(103, 65, 36, 6, 0, 18, 56, 114));
  EXPECT_THAT(stats->at(1), ElementsAre(2, 6, 43, 68, 109, 75, 2, 93));
  EXPECT_EQ(parse_route_stats(R"({"511":[18446744073709551615]})")->at(511)[0], 18446744073709551615u);
  EXPECT_TRUE(parse_route_stats("{}")->empty());
}

TEST(RouteStats, RefusesEachFaultByItsPlace) {
  struct Fault {
    const char* text;
    const char* place;
  };
  for (const auto& [text, place] : {
           Fault{"[[1]]", "$"},
           Fault{R"({"0":[1,-1]})", "$.0[1]"},
           Fault{R"({"0":[1.5]})", "$.0[0]"},
           Fault{R"({"0":[1e2]})", "$.0[0]"},
           Fault{R"({"0":["1"]})", "$.0[0]"},
           Fault{R"({"0":[null]})", "$.0[0]"},
           Fault{R"({"0":[18446744073709551616]})", "$.0[0]"},
           Fault{R"({"0":[]})", "$.0"},
           Fault{R"({"0":7})", "$.0"},
           Fault{R"({"00":[1]})", "$.00"},
           Fault{R"({"-1":[1]})", "$[\"-1\"]"},
           Fault{R"({"layer":[1]})", "$.layer"},
           Fault{R"({"":[1]})", "$[\"\"]"},
           Fault{R"({"512":[1]})", "$.512"},
           Fault{R"({"4294967296":[1]})", "$.4294967296"},
       }) {
    const auto stats = parse_route_stats(text);
    ASSERT_FALSE(stats) << text;
    EXPECT_EQ(stats.error().fault, amphora::Fault::kCorrupt) << text;
    EXPECT_EQ(stats.error().place, place) << text;
  }
  for (const char* text : {R"({"0":[NaN]})", R"({"0":[1],"0":[1]})", R"({"0":[1]} x)", "", R"({"0":[1)"})
    EXPECT_FALSE(parse_route_stats(text)) << text;
}

TEST(RouteStats, RefusesStatisticsOfAnotherModel) {
  std::vector<std::string> notes;
  const auto refusal = [&](const char* text, const std::vector<uint64_t>& per_layer) {
    const Status status = check_route_stats(*parse_route_stats(text), experts(per_layer), notes);
    EXPECT_FALSE(status) << text;
    EXPECT_EQ(status.error().fault, Fault::kRefused);
    return status.error().message;
  };
  EXPECT_THAT(refusal(R"({"0":[1,2]})", {}), HasSubstr("model.cmf has none"));
  EXPECT_THAT(refusal(R"({"0":[1,2,3]})", {2}), HasSubstr("3 experts for layer 0, the model has 2"));
  EXPECT_THAT(refusal(R"({"0":[1]})", {2}), HasSubstr("1 experts for layer 0, the model has 2"));
  EXPECT_THAT(refusal(R"({"0":[1,2],"1":[1,2]})", {2}), HasSubstr("layer 1"));
  EXPECT_THAT(refusal(R"({"1":[1,2]})", {2, 0, 2}), HasSubstr("layer 1"));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(RouteStats, NotesTheLayersOfWhichItKnowsNothing) {
  std::vector<std::string> notes;
  ASSERT_TRUE(check_route_stats(*parse_route_stats(R"({"1":[0,0],"2":[0,5]})"), experts({2, 2, 2}), notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("2 of 3 layers (0, 1)")));
}

TEST(RouteStats, WeighsAnExpertAgainstTheMeanOfItsLayer) {
  const RouteStats stats = *parse_route_stats(R"({"0":[1,3,0,4],"1":[0,0,0,0]})");
  EXPECT_DOUBLE_EQ(route_weight(stats, 0, 0), 0.5);
  EXPECT_DOUBLE_EQ(route_weight(stats, 0, 1), 1.5);
  EXPECT_DOUBLE_EQ(route_weight(stats, 0, 2), 0);
  EXPECT_DOUBLE_EQ(route_weight(stats, 0, 3), 2);
  EXPECT_DOUBLE_EQ(route_weight(stats, 1, 0), 1) << "all zero: nothing is known";
  EXPECT_DOUBLE_EQ(route_weight(stats, 2, 0), 1);
  // Counts whose sum does not fit 64 bits.
  const RouteStats huge = *parse_route_stats(R"({"0":[18446744073709551615,18446744073709551615]})");
  EXPECT_DOUBLE_EQ(route_weight(huge, 0, 1), 1);
}

}  // namespace
}  // namespace amphora
