// Tests of multi-token predictors: both places, copies, and what is left out or refused.
#include "package/hf_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/testing/counted.h"

namespace amphora::package {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A model of one layer and these tensors besides; element i of each is i.
Package package_with(const std::vector<std::string>& names) {
  Package package;
  package.spec.num_layers = 1;
  for (const char* name :
       {"model.embed_tokens.weight", "model.layers.0.mlp.up_proj.weight", "lm_head.weight"})
    package.tensors.push_back(
        counted(name, {2, 2}, std::string_view(name) == "lm_head.weight" ? 10.0f : 0.0f));
  for (const std::string& name : names) package.tensors.push_back(counted(name, {2, 2}));
  return package;
}

std::vector<std::string> predictor_names(const Package& package) {
  std::vector<std::string> names;
  for (size_t i = 3; i < package.tensors.size(); ++i) names.push_back(package.tensors[i].name);
  return names;
}

const std::vector<std::string> kOwn = {"model.mtp.fc.weight", "model.mtp.layers.0.mlp.up_proj.weight",
                                       "model.mtp.norm.weight", "model.mtp.pre_fc_norm_embedding.weight",
                                       "model.mtp.pre_fc_norm_hidden.weight"};
const std::vector<std::string> kBehind = {"model.layers.1.eh_proj.weight", "model.layers.1.enorm.weight",
                                          "model.layers.1.hnorm.weight", "model.layers.1.mlp.up_proj.weight",
                                          "model.layers.1.shared_head.norm.weight"};

std::vector<std::string> with(std::vector<std::string> names, std::string name) {
  names.push_back(std::move(name));
  return names;
}

TEST(Predictor, UnderItsOwnNamesIsNamedCanonically) {
  Package package = package_with(kOwn);
  ASSERT_TRUE(place_predictor(PredictorPlace::kOwn, package));
  EXPECT_THAT(predictor_names(package),
              ElementsAre("model.mtp.eh_proj.weight", "model.mtp.layers.0.mlp.up_proj.weight",
                          "model.mtp.norm.weight", "model.mtp.enorm.weight", "model.mtp.hnorm.weight"));
  ASSERT_TRUE(package.spec.mtp);
  EXPECT_EQ(package.spec.mtp->num_layers, 1u);
  EXPECT_TRUE(package.spec.mtp->share_embed && package.spec.mtp->share_lm_head);
  EXPECT_THAT(package.notes, IsEmpty());
}

TEST(Predictor, BehindTheLastLayerIsNamedCanonically) {
  Package package = package_with(kBehind);
  ASSERT_TRUE(place_predictor(PredictorPlace::kBehind, package));
  EXPECT_THAT(predictor_names(package),
              ElementsAre("model.mtp.eh_proj.weight", "model.mtp.enorm.weight", "model.mtp.hnorm.weight",
                          "model.mtp.layers.0.mlp.up_proj.weight", "model.mtp.norm.weight"));
  EXPECT_EQ(package.tensors[1].name, "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(package.spec.mtp->num_layers, 1u);
}

TEST(Predictor, ThatIsNotThereIsNotSpokenOf) {
  Package package = package_with({});
  ASSERT_TRUE(place_predictor(PredictorPlace::kBehind, package));
  ASSERT_TRUE(place_predictor(PredictorPlace::kOwn, package));
  EXPECT_FALSE(package.spec.mtp);
  Package other = package_with(kBehind);
  ASSERT_TRUE(place_predictor(PredictorPlace::kNone, other));
  EXPECT_EQ(predictor_names(other), kBehind) << "families without one";
}

TEST(Predictor, CopiesOfEmbeddingAndHeadAreLeftOut) {
  Package package = package_with(with(kBehind, "model.layers.1.embed_tokens.weight"));
  package.tensors.push_back(counted("model.layers.1.shared_head.head.weight", {2, 2}, 10));
  ASSERT_TRUE(place_predictor(PredictorPlace::kBehind, package));
  EXPECT_EQ(predictor_names(package).size(), kBehind.size());
  EXPECT_THAT(package.notes, ElementsAre(HasSubstr("2 copies of embedding and head")));

  Package tied = package_with(with(kBehind, "model.layers.1.shared_head.head.weight"));
  tied.tensors.erase(tied.tensors.begin() + 2);  // the head is the embedding
  ASSERT_TRUE(place_predictor(PredictorPlace::kBehind, tied));
  EXPECT_EQ(tied.find("model.mtp.shared_head.head.weight"), nullptr);
}

TEST(Predictor, AnEmbeddingOrHeadOfItsOwnIsRefused) {
  for (const char* name : {"model.layers.1.shared_head.head.weight", "model.layers.1.embed_tokens.weight"}) {
    Package package = package_with(kBehind);
    package.tensors.push_back(counted(name, {2, 2}, 3));
    const Status placed = place_predictor(PredictorPlace::kBehind, package);
    ASSERT_FALSE(placed) << name;
    EXPECT_EQ(placed.error().fault, Fault::kUnsupported);
    EXPECT_EQ(placed.error().place, name);
    EXPECT_THAT(placed.error().message, HasSubstr("of its own"));
  }
  Package package = package_with(with(kOwn, "model.mtp.embed_tokens.weight"));
  package.tensors.back().shape = {4};
  EXPECT_FALSE(place_predictor(PredictorPlace::kOwn, package)) << "equal bytes in another shape";
}

TEST(Predictor, OfTwoLayersIsLeftOut) {
  for (const auto& [place, names] :
       {std::pair{PredictorPlace::kBehind, with(kBehind, "model.layers.2.eh_proj.weight")},
        std::pair{PredictorPlace::kOwn, with(kOwn, "model.mtp.layers.1.mlp.up_proj.weight")}}) {
    Package package = package_with(names);
    ASSERT_TRUE(place_predictor(place, package));
    EXPECT_THAT(predictor_names(package), IsEmpty());
    EXPECT_FALSE(package.spec.mtp);
    EXPECT_THAT(package.notes,
                ElementsAre("the multi-token predictor of 2 layers (6 tensors) left out: only one "
                            "layer is supported"));
  }
}

TEST(Predictor, IsNoneIfALayerBehindTheLastIsJustALayer) {
  for (const char* name : {"model.layers.1.mlp.up_proj.weight", "model.layers.2.mlp.up_proj.weight"}) {
    Package package = package_with(name[13] == '1' ? std::vector<std::string>{name} : with(kBehind, name));
    const Status placed = place_predictor(PredictorPlace::kBehind, package);
    ASSERT_FALSE(placed) << name;
    EXPECT_EQ(placed.error().fault, Fault::kCorrupt);
    EXPECT_EQ(placed.error().code, "Shape");
    EXPECT_EQ(placed.error().place, std::string(name).substr(0, 14));
    EXPECT_THAT(placed.error().message, HasSubstr("behind the last of 1 layers"));
  }
}

TEST(Predictor, OfAbsurdNumbersIsNoCrash) {
  Package own = package_with(with(kOwn, "model.mtp.layers.18446744073709551615.mlp.up_proj.weight"));
  ASSERT_TRUE(place_predictor(PredictorPlace::kOwn, own));
  EXPECT_FALSE(own.spec.mtp);
  Package behind = package_with({"model.layers.18446744073709551615.eh_proj.weight"});
  ASSERT_TRUE(place_predictor(PredictorPlace::kBehind, behind));
  EXPECT_FALSE(behind.spec.mtp);
  EXPECT_THAT(behind.notes, ElementsAre(HasSubstr("left out")));
}

TEST(Predictor, ThatLacksAPartIsRefused) {
  for (const auto& [place, names] :
       {std::pair{PredictorPlace::kBehind, kBehind}, std::pair{PredictorPlace::kOwn, kOwn}})
    for (size_t missing = 0; missing < names.size(); ++missing) {
      if (names[missing].find("mlp") != std::string::npos) continue;  // the layer is the loader's business
      std::vector<std::string> rest = names;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(missing));
      Package package = package_with(rest);
      const Status placed = place_predictor(place, package);
      ASSERT_FALSE(placed) << names[missing];
      const bool joins = names[missing].find("eh_proj") != std::string::npos;  // what makes it a predictor
      EXPECT_EQ(placed.error().code, joins ? "Shape" : "Missing") << names[missing];
      EXPECT_THAT(placed.error().place, ::testing::StartsWith(joins ? "model.layers.1" : "model.mtp."))
          << names[missing];
    }
}

}  // namespace
}  // namespace amphora::package
