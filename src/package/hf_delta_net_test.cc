// Tests of fused DeltaNet matrices: rows leave the groups of their key head, and wrong numbers are refused.
#include "package/hf_delta_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/testing/counted.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::values_of;

constexpr const char* kQkvz = "model.layers.0.linear_attn.in_proj_qkvz.weight";
constexpr const char* kBa = "model.layers.0.linear_attn.in_proj_ba.weight";

/// Two key heads of one dimension, each with two value heads of two.
ModelSpec delta_spec() {
  ModelSpec spec;
  spec.linear_core = LinearCoreSpec{LinearCore::kGatedDeltaNet, 4, 2, std::nullopt};
  spec.linear_num_key_heads = 2;
  spec.linear_num_value_heads = 4;
  spec.linear_key_head_dim = 1;
  spec.linear_value_head_dim = 2;
  return spec;
}

TEST(DeltaNet, QueriesKeysAndValuesOfAllHeadsComeBehindOneAnother) {
  // Of each of the two groups: row 0 q, 1 k, 2 … 5 v, 6 … 9 z.
  const auto parts = split_delta_net(counted(kQkvz, {20, 1}), delta_spec());
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].name, "model.layers.0.linear_attn.in_proj_qkv.weight");
  EXPECT_THAT((*parts)[0].shape, ElementsAre(12u, 1u));
  EXPECT_THAT(values_of((*parts)[0]), ElementsAre(0, 10, 1, 11, 2, 3, 4, 5, 12, 13, 14, 15));
  EXPECT_EQ((*parts)[1].name, "model.layers.0.linear_attn.in_proj_z.weight");
  EXPECT_THAT(values_of((*parts)[1]), ElementsAre(6, 7, 8, 9, 16, 17, 18, 19));
  EXPECT_FALSE((*parts)[0].dtype);
  EXPECT_EQ((*parts)[0].stored_type, "F32");
}

TEST(DeltaNet, BetaAndDecayOfAllHeadsComeBehindOneAnother) {
  const auto parts = split_delta_net(counted(kBa, {8, 1}), delta_spec());
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].name, "model.layers.0.linear_attn.in_proj_b.weight");
  EXPECT_THAT(values_of((*parts)[0]), ElementsAre(0, 1, 4, 5));
  EXPECT_EQ((*parts)[1].name, "model.layers.0.linear_attn.in_proj_a.weight");
  EXPECT_THAT(values_of((*parts)[1]), ElementsAre(2, 3, 6, 7));
}

TEST(DeltaNet, OfOneKeyHeadIsAViewOfTheSameBytes) {
  ModelSpec one = delta_spec();
  one.linear_num_key_heads = 1;
  const auto parts = split_delta_net(counted(kBa, {8, 1}), one);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ((*parts)[1].dtype, DType::kF32);
  EXPECT_THAT(values_of((*parts)[1]), ElementsAre(4, 5, 6, 7));
}

TEST(DeltaNet, OtherTensorsAndOtherModelsAreLeftAlone) {
  EXPECT_TRUE(split_delta_net(counted("model.layers.0.linear_attn.in_proj_qkv.weight", {12, 1}), delta_spec())
                  ->empty());
  ModelSpec none = delta_spec();
  none.linear_core.reset();
  EXPECT_TRUE(split_delta_net(counted(kQkvz, {20, 1}), none)->empty());
}

TEST(DeltaNet, AWrongNumberOfRowsIsRefused) {
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<uint64_t>>{kQkvz, {19, 1}},
                                    {kQkvz, {}},
                                    {kBa, {9, 1}},
                                    {kBa, {4}}}) {
    const auto parts = split_delta_net(counted(name, shape), delta_spec());
    ASSERT_FALSE(parts) << name;
    EXPECT_EQ(parts.error().code, "Shape") << name;
    EXPECT_EQ(parts.error().place, name);
  }
}

}  // namespace
}  // namespace amphora::package
