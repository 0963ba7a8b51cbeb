// Tests of what names say: skills' tensors, experts.
#include "package/tensor_names.h"

#include <gtest/gtest.h>

namespace amphora::package {
namespace {

TEST(TensorNames, FindsTheNameBehindASkillsId) {
  const std::vector<std::string> ids = {"coder", "a.b"};
  EXPECT_EQ(own_name("model.norm.weight", ids), "model.norm.weight");
  EXPECT_EQ(own_name("skill.coder.model.norm.weight", ids), "model.norm.weight");
  EXPECT_EQ(own_name("skill.a.b.lm_head.weight", ids), "lm_head.weight");
  for (const char* name : {"skill.code.x", "skill.coder", "skill.coderx.y", "skill.a.x", "xskill.coder.y"})
    EXPECT_EQ(own_name(name, ids), name) << "no registered owner";
}

TEST(TensorNames, TakesTheIdsFromTheHeader) {
  Package package;
  EXPECT_TRUE(skill_ids(package).empty());
  package.header = *json::parse(R"({"skills":[{"id":"b","layers":[]},{"id":"a"}]})");
  EXPECT_EQ(skill_ids(package), std::vector<std::string>({"b", "a"}));
  package.header = *json::parse(R"({"skills":null})");
  EXPECT_TRUE(skill_ids(package).empty());
}

TEST(TensorNames, KnowsTheFamilyOfAnExpert) {
  const std::vector<std::string> ids = {"s"};
  const auto expert = find_expert_weight("model.layers.3.mlp.experts.12.up_proj.weight", ids);
  ASSERT_TRUE(expert);
  EXPECT_EQ(expert->expert, 12u);
  EXPECT_EQ(expert->layer, 3u);
  EXPECT_EQ(expert->family, "model.layers.3.mlp.experts.*.up_proj.weight");
  const auto of_skill = find_expert_weight("skill.s.model.layers.3.mlp.experts.12.up_proj.weight", ids);
  ASSERT_TRUE(of_skill);
  EXPECT_EQ(of_skill->layer, 3u);
  EXPECT_EQ(of_skill->family, "skill.s.model.layers.3.mlp.experts.*.up_proj.weight");
  const auto elsewhere = find_expert_weight("model.mtp.layers.0.mlp.experts.1.down_proj.weight", ids);
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(elsewhere->layer) << "statistics number the layers of the model";
  for (const char* name :
       {"model.layers.3.mlp.experts.up_proj.weight", "model.layers.3.mlp.experts.01.up_proj.weight",
        "model.layers.3.mlp.experts.1.up_proj.bias", "model.layers.3.mlp.experts.-1.up_proj.weight",
        "model.layers.3.mlp.experts.99999999999999999999.up_proj.weight", "model.layers.3.mlp.experts.",
        "model.layers.3.mlp.shared_expert.up_proj.weight", "model.layers.3.mlp.experts.1"})
    EXPECT_FALSE(find_expert_weight(name, ids)) << name;
}

}  // namespace
}  // namespace amphora::package
