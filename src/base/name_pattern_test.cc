// Tests of name patterns.
#include "base/name_pattern.h"

#include <gtest/gtest.h>

namespace amphora {
namespace {

TEST(NamePattern, IsFoundAnywhereUnlessAnchored) {
  const auto pattern = NamePattern::compile(R"(layers\.[0-2]\.)");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->found_in("model.layers.1.mlp.up_proj.weight"));
  EXPECT_FALSE(pattern->found_in("model.layers.11.mlp.up_proj.weight"));
  EXPECT_FALSE(NamePattern::compile("^layers")->found_in("model.layers.1"));
  EXPECT_TRUE(NamePattern::compile("")->found_in("anything"));
  EXPECT_TRUE(NamePattern::compile("ü.ß")->found_in("xüaß"));
}

TEST(NamePattern, RefusesWhatIsNoExpression) {
  const auto pattern = NamePattern::compile("layers.(");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().fault, Fault::kUsage);
  EXPECT_NE(pattern.error().message.find("character 8"), std::string::npos) << pattern.error().message;
}

TEST(NamePattern, BoundsHostileExpressionsAndNames) {
  const auto pattern = NamePattern::compile("^(a+)+$");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->found_in(std::string(64, 'a') + "b"));
  EXPECT_FALSE(NamePattern::compile("x")->found_in("\xFF x"));  // not UTF-8: no match, no fault
}

}  // namespace
}  // namespace amphora
