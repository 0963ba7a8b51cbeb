// Tests of whole checkpoints: the tensors of every tiny model have the names, shapes, order and values that
// tests/oracle/make_hf_canonical.py found with numpy.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/arch_json.h"
#include "package/convert.h"
#include "package/hf_package.h"
#include "package/testing/model_folder.h"

namespace amphora {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelFolder;
using testing::read_text;
using testing::StoredTensor;
using testing::TemporaryFolder;
using testing::test_data;
using testing::values_of;

std::vector<uint64_t> integers_of(const json::Value& array) {
  std::vector<uint64_t> integers;
  for (const json::Value& item : array.items()) integers.push_back(*item.as_unsigned());
  return integers;
}

/// Every tensor against [name, shape, flat indices, values there].
void expect_canonical(const Package& package, const std::filesystem::path& folder) {
  const auto golden = json::parse(read_text(folder / "canonical.json"));
  ASSERT_TRUE(golden) << folder;
  ASSERT_EQ(package.tensors.size(), golden->items().size()) << folder;
  for (size_t i = 0; i < package.tensors.size(); ++i) {
    const PackageTensor& tensor = package.tensors[i];
    const auto& entry = golden->items()[i].items();
    ASSERT_EQ(tensor.name, entry[0].text()) << folder << ", tensor " << i;
    ASSERT_EQ(tensor.shape, integers_of(entry[1])) << tensor.name;
    const std::vector<float> values = values_of(tensor);
    const std::vector<uint64_t> where = integers_of(entry[2]);
    for (size_t k = 0; k < where.size(); ++k)
      EXPECT_EQ(values[where[k]], static_cast<float>(entry[3].items()[k].as_double()))
          << tensor.name << " at " << where[k];
    EXPECT_EQ(tensor.stored_type, "F32") << tensor.name;
    EXPECT_EQ(tensor.stored.size(), tensor.dtype ? 4 * tensor.elements() : 0) << tensor.name;
  }
}

class Canonical : public ::testing::TestWithParam<const char*> {};

TEST_P(Canonical, TensorsAreThoseThatNumpyFinds) {
  const auto folder = test_data("hf/tiny") / GetParam();
  const auto package = open_hugging_face_package(folder);
  ASSERT_TRUE(package) << package.error().message;
  expect_canonical(**package, folder);
}

TEST_P(Canonical, ContainersHoldTheSame) {
  const auto source = open_hugging_face_package(test_data("hf/tiny") / GetParam());
  ASSERT_TRUE(source) << source.error().message;
  const TemporaryFolder folder;
  ConvertOptions options;
  options.quant.target = *parse_quant_target("keep");
  const auto report = convert(**source, folder / "model.cmf", options);
  ASSERT_TRUE(report) << report.error().message;
  const auto written = open_package(folder / "model.cmf");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(package::encode_arch((*written)->spec) == package::encode_arch((*source)->spec));
  ASSERT_EQ((*written)->tensors.size(), (*source)->tensors.size());
  for (size_t i = 0; i < (*source)->tensors.size(); ++i) {
    const PackageTensor &tensor = (*source)->tensors[i], &copy = (*written)->tensors[i];
    ASSERT_EQ(copy.name, tensor.name);
    EXPECT_EQ(copy.shape, tensor.shape) << tensor.name;
    EXPECT_EQ(copy.dtype, DType::kF32) << tensor.name;
    EXPECT_EQ(values_of(copy), values_of(tensor)) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Canonical,
                         ::testing::Values("qwen2_moe", "qwen3_moe", "mixtral", "qwen3_next", "qwen3_5",
                                           "qwen3_5_moe", "qwen3_5_mtp", "qwen3_5_moe_mtp", "deepseek_v3_mtp",
                                           "glm4_moe_mtp"));

std::shared_ptr<const Package> opened(const std::filesystem::path& path) {
  auto package = open_package(path);
  EXPECT_TRUE(package) << path << ": " << package.error().message;
  return package ? *package : std::make_shared<const Package>();
}

TEST(CanonicalNotes, SayWhatWasLeftOutOrSplit) {
  const auto notes = [](const char* model) { return opened(test_data("hf/tiny") / model)->notes; };
  EXPECT_THAT(notes("qwen2_moe"), IsEmpty());
  EXPECT_THAT(notes("mixtral"), IsEmpty());
  EXPECT_THAT(notes("qwen3_next"), ElementsAre("6 fused tensors were split into the matrices they hold"));
  EXPECT_THAT(notes("qwen3_5_moe_mtp"),
              ElementsAre("35 tensors were under 'model.language_model.'",
                          "6 fused tensors were split into the matrices they hold",
                          "21 tensors of other parts than the language model left out"));
  for (const char* model : {"deepseek_v3_mtp", "glm4_moe_mtp"})
    EXPECT_THAT(notes(model), ElementsAre(HasSubstr("1 copies of embedding and head"))) << model;
  const ModelFolder other_eps("deepseek_v3_mtp");
  other_eps.edit("config.json", {{"rms_norm_eps", "1e-5"}});
  EXPECT_THAT(opened(other_eps.path())->notes,
              ::testing::Contains(
                  "latent vectors are normed with rms_norm_eps, 1e-05: transformers takes 1e-06 for them"));
}

TEST(CanonicalPredictor, IsSpokenOfWhereItsTensorsAre) {
  for (const char* model : {"qwen3_5_mtp", "qwen3_5_moe_mtp", "deepseek_v3_mtp", "glm4_moe_mtp"}) {
    const auto package = opened(test_data("hf/tiny") / model);
    ASSERT_TRUE(package->spec.mtp) << model;
    EXPECT_EQ(package->spec.mtp->num_layers, 1u) << model;
  }
  EXPECT_FALSE(opened(test_data("hf/tiny/qwen3_5"))->spec.mtp);
}

/// The bytes of a matrix for each expert behind one another.
std::string bank_of(ModelFolder& folder, const std::string& layer, std::string_view role, int experts) {
  std::string bytes;
  for (int expert = 0; expert < experts; ++expert)
    bytes += folder.tensor(fmt::format("{}.mlp.experts.{}.{}.weight", layer, expert, role)).data;
  return bytes;
}

/// Both roles of each expert behind one another.
std::string fused_of(ModelFolder& folder, const std::string& layer, std::string_view first,
                     std::string_view second, int experts) {
  std::string bytes;
  for (int expert = 0; expert < experts; ++expert)
    for (const std::string_view role : {first, second})
      bytes += folder.tensor(fmt::format("{}.mlp.experts.{}.{}.weight", layer, expert, role)).data;
  return bytes;
}

TEST(CanonicalExperts, OfEveryLayoutGiveTheSameContainer) {  // F9
  const TemporaryFolder out;
  ConvertOptions options;
  options.quant.target = *parse_quant_target("keep");
  options.tool = "amphora test";
  const auto converted = [&](const ModelFolder& folder, const std::string& name) {
    const auto report = convert(*opened(folder.path()), out / name, options);
    EXPECT_TRUE(report) << name << ": " << report.error().message;
    return opened(out / name);
  };
  const auto one_each = converted(ModelFolder("qwen3_moe"), "one each.cmf");
  struct Layout {
    const char* name;
    bool fused;
    std::string_view first, second;
  };
  for (const Layout& layout : {Layout{"banks.cmf", false, "gate_proj", "up_proj"},
                               Layout{"gate_up_proj", true, "gate_proj", "up_proj"},
                               Layout{"up_gate_proj", true, "up_proj", "gate_proj"}}) {
    ModelFolder folder("qwen3_moe");
    std::vector<StoredTensor> banks;
    for (const std::string layer : {"model.layers.0", "model.layers.2"}) {
      const std::string stem = layer + ".mlp.experts.";
      if (layout.fused) {
        banks.push_back({stem + layout.name,
                         "F32",
                         {6, 64, 64},
                         fused_of(folder, layer, layout.first, layout.second, 6)});
      } else {
        banks.push_back({stem + "gate_proj", "F32", {6, 32, 64}, bank_of(folder, layer, "gate_proj", 6)});
        banks.push_back({stem + "up_proj", "F32", {6, 32, 64}, bank_of(folder, layer, "up_proj", 6)});
      }
      banks.push_back({stem + "down_proj", "F32", {6, 64, 32}, bank_of(folder, layer, "down_proj", 6)});
    }
    std::erase_if(folder.tensors, [](const StoredTensor& tensor) {
      return tensor.name.find("experts") != std::string::npos;
    });
    std::ranges::move(banks, std::back_inserter(folder.tensors));
    folder.write_weights();
    const auto other = converted(folder, layout.name);
    ASSERT_EQ(other->tensors.size(), one_each->tensors.size()) << layout.name;
    for (const PackageTensor& tensor : one_each->tensors) {
      const PackageTensor* found = other->find(tensor.name);
      ASSERT_NE(found, nullptr) << layout.name << " " << tensor.name;
      EXPECT_EQ(found->dtype, tensor.dtype) << layout.name << " " << tensor.name;
      EXPECT_TRUE(std::ranges::equal(found->stored, tensor.stored)) << layout.name << " " << tensor.name;
    }
  }
}

TEST(CanonicalExperts, MissingFromACheckpointAreNamed) {
  ModelFolder folder("mixtral");
  std::erase_if(folder.tensors, [](const StoredTensor& tensor) {
    return tensor.name == "model.layers.1.block_sparse_moe.experts.2.w3.weight";
  });
  folder.write_weights();
  auto package = open_package(folder.path());
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().code, "Missing");
  EXPECT_EQ(package.error().place, "model.layers.1.mlp.experts.2.up_proj.weight");
  folder.edit("config.json", {{"num_local_experts", "5"}});
  package = open_package(folder.path());
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().code, "Shape") << "a router of four";
}

TEST(CanonicalResidual, MultiplierIsFoldedIntoWhatEndsABranch) {
  ModelFolder folder("llama");
  folder.edit("config.json",
              {{"architectures", R"(["GraniteForCausalLM"])"}, {"residual_multiplier", "0.25"}});
  const auto granite = opened(folder.path());
  const auto llama = opened(test_data("hf/tiny/llama"));
  EXPECT_THAT(granite->notes,
              ElementsAre("residual_multiplier 0.25 is folded into the 6 tensors that end a branch"));
  for (const PackageTensor& tensor : llama->tensors) {
    const PackageTensor& found = *granite->find(tensor.name);
    const bool ends_branch =
        tensor.name.find("o_proj") != std::string::npos || tensor.name.find("down_proj") != std::string::npos;
    EXPECT_EQ(found.dtype.has_value(), !ends_branch) << tensor.name;
    EXPECT_EQ(values_of(found)[77 % tensor.elements()],
              values_of(tensor)[77 % tensor.elements()] * (ends_branch ? 0.25f : 1.0f))
        << tensor.name;
  }
}

}  // namespace
}  // namespace amphora
