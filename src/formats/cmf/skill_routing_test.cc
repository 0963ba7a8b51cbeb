// Routing against energies and shares that an independent program computed, and against hand-made cases.
#include "formats/cmf/skill_routing.h"

#include <gtest/gtest.h>

#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::test_data;

std::vector<double> doubles_of(const json::Value& list) {
  std::vector<double> numbers;
  for (const json::Value& number : list.items()) numbers.push_back(number.as_double());
  return numbers;
}

TEST(SkillRouting, EveryGoldenFileGivesItsWritersEnergiesAndShares) {
  int routed = 0;
  for (const auto& json_path : testing::files_in(test_data("cmf_strict/golden"), ".json")) {
    const json::Value document = testing::read_json(json_path);
    const json::Value* route = document.find("route");
    if (route == nullptr) continue;
    SCOPED_TRACE(json_path.filename());
    std::filesystem::path path = json_path;
    const auto file = CmfFile::open(path.replace_extension(".cmf"));
    ASSERT_TRUE(file);
    const std::vector<double> phi = doubles_of(*route->find("phi"));
    std::vector<double> energies;
    for (const json::Member& energy : route->find("energies")->members()) {
      const auto selection = selection_of(file->header(), energy.key);
      ASSERT_TRUE(selection) << selection.error().message;
      energies.push_back(routing_energy(*selection, phi));
      EXPECT_NEAR(energies.back(), energy.value.as_double(), 1e-12 * energy.value.as_double());
    }
    EXPECT_EQ(file->skills()[least_energy(energies)].id, route->find("best")->text());
    const std::vector<double> weights = blend_weights(energies, route->find("temperature")->as_double());
    const std::vector<json::Member>& expected = route->find("weights")->members();
    ASSERT_EQ(weights.size(), expected.size());
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], expected[i].value.as_double(), 1e-12 * expected[i].value.as_double());
    ++routed;
  }
  EXPECT_EQ(routed, 5);
}

TEST(SkillRouting, TheEnergyIsWhatLiesOutsideTheSubspaceOverTheWhole) {
  // r = (3, 4, 12) − (1, 0, 0) = (2, 4, 12); the basis covers the last axis: 4 + 16 of 9 + 16 + 144.
  SkillSelection selection{.mean = {1, 0, 0}, .basis = {0, 0, 1}};
  const std::vector<double> phi = {3, 4, 12};
  EXPECT_DOUBLE_EQ(routing_energy(selection, phi), 20.0 / 169);
  // φ/13: r = (3/13 − 1, 4/13, 12/13), of a whole of 1.
  selection.unit = true;
  EXPECT_DOUBLE_EQ(routing_energy(selection, phi), (100.0 + 16.0) / 169);
}

TEST(SkillRouting, AStateOfZerosHasTheLeastNorm) {
  EXPECT_DOUBLE_EQ(routing_energy({.mean = {0.5, 0}, .basis = {0, 1}}, std::vector<double>{0, 0}), 0.25e12);
  EXPECT_DOUBLE_EQ(
      routing_energy({.unit = true, .mean = {0.5, 0}, .basis = {0, 1}}, std::vector<double>{0, 0}), 0.25e12);
}

TEST(SkillRouting, AnEnergyIsNeverNegative) {
  // A basis that is not orthonormal takes more than there is.
  EXPECT_EQ(routing_energy({.mean = {0, 0}, .basis = {2, 0}}, std::vector<double>{1, 0}), 0);
}

TEST(SkillRouting, TheEarlierRecordWinsATie) {
  EXPECT_EQ(least_energy(std::vector<double>{2, 1, 1}), 1u);
  EXPECT_EQ(least_energy(std::vector<double>{0}), 0u);
}

TEST(SkillRouting, SharesAreASoftmaxOfNegativeEnergies) {
  EXPECT_EQ(blend_weights(std::vector<double>{3}, 0.4), std::vector<double>{1});
  EXPECT_EQ(blend_weights(std::vector<double>{1e9, 1e9}, 0.4), (std::vector<double>{0.5, 0.5}));
  const std::vector<double> weights = blend_weights(std::vector<double>{0, 1}, 0.5);
  EXPECT_NEAR(weights[0], 0.8807970779778823, 1e-15);  // 1 / (1 + e^-2)
}

TEST(SkillRouting, ASkillWithoutSelectionIsNotFound) {
  const auto partial = CmfFile::open(test_data("cmf_strict/golden/skill_applied.cmf"));
  ASSERT_TRUE(partial);
  for (const std::string_view id : {"gfx", "no such skill", ""}) {
    const auto selection = selection_of(partial->header(), id);
    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().fault, Fault::kNotFound);
  }
  const auto without = CmfFile::open(test_data("cmf_strict/golden/shapes.cmf"));
  ASSERT_TRUE(without);
  EXPECT_FALSE(selection_of(without->header(), "alpha"));
}

}  // namespace
}  // namespace amphora::cmf
