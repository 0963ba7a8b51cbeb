// Names and layouts that the tiny models do not have: what is stored in another way comes out the same.
#include "package/gguf_layers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/gguf_testing.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using gguf::testing::GgufBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::open_gguf;
using testing::small_gguf;
using testing::values_of;
using Values = std::vector<float>;

std::shared_ptr<const Package> open_small(const GgufBuilder& builder) {
  auto package = open_gguf(builder);
  EXPECT_TRUE(package) << package.error().message;
  return package ? *package : std::make_shared<const Package>();
}

Values values_of(const Package& package, std::string_view name) {
  const PackageTensor* tensor = package.find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << name;
    return {};
  }
  return testing::values_of(*tensor);
}

/// Elements [first, first + count) of the tensor that has this number in a small model.
Values stored(size_t number, size_t count, size_t first = 0) {
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(number) + static_cast<float>(first + i) / 64;
  return values;
}

Values joined(const std::vector<Values>& parts) {
  Values all;
  for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Every tensor of `wanted` is in `package`, with the same values and shape.
void expect_same_tensors(const Package& package, const Package& wanted) {
  EXPECT_EQ(package.tensors.size(), wanted.tensors.size());
  for (const PackageTensor& tensor : wanted.tensors) {
    const PackageTensor* found = package.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(testing::values_of(*found), testing::values_of(tensor)) << tensor.name;
  }
}

TEST(GgufLayers, AreReadInEveryArchitecture) {
  for (const char* name :
       {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "qwen2moe", "qwen3moe", "qwen3next", "qwen35",
        "qwen35moe", "deepseek2", "glm4moe", "granite", "granitemoe", "olmo2"}) {
    const auto package = open_gguf(small_gguf(name));
    ASSERT_TRUE(package) << name << ": " << package.error().message;
    EXPECT_THAT((*package)->notes, ElementsAre(HasSubstr("no vocabulary"))) << name;
  }
}

TEST(GgufLayers, SplitFusedProjections) {
  for (const char* name : {"llama", "qwen3"}) {  // with pairs of rows, and without
    GgufBuilder builder =
        small_gguf(name, {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"});
    builder.add_f32_tensor("blk.0.attn_qkv.weight", {8, 16},
                           joined({stored(3, 64), stored(4, 32), stored(5, 32)}));
    const auto fused = open_small(builder), wanted = open_small(small_gguf(name));
    for (const char* letter : {"q", "k", "v"}) {
      const std::string tensor = fmt::format("model.layers.0.self_attn.{}_proj.weight", letter);
      EXPECT_EQ(values_of(*fused, tensor), values_of(*wanted, tensor)) << name << " " << letter;
    }
  }
}

TEST(GgufLayers, SplitFusedBiases) {
  GgufBuilder builder = small_gguf("llama");
  Values biases(16);
  for (size_t i = 0; i < biases.size(); ++i) biases[i] = static_cast<float>(i);
  builder.add_f32_tensor("blk.1.attn_qkv.bias", {16}, biases);
  const auto package = open_small(builder);
  EXPECT_THAT(values_of(*package, "model.layers.1.self_attn.q_proj.bias"),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(values_of(*package, "model.layers.1.self_attn.k_proj.bias"), ElementsAre(8, 10, 9, 11));
  EXPECT_THAT(values_of(*package, "model.layers.1.self_attn.v_proj.bias"), ElementsAre(12, 13, 14, 15));
}

/// The number of the tensor of this name among those of a small model.
size_t number_of(const GgufBuilder& builder, std::string_view name) {
  const auto found = std::ranges::find(builder.tensors, name, &gguf::testing::TensorRecord::name);
  EXPECT_NE(found, builder.tensors.end()) << name;
  return static_cast<size_t>(found - builder.tensors.begin());
}

TEST(GgufLayers, GatherExpertsThatAreStoredOneByOne) {
  const GgufBuilder whole = small_gguf("qwen3moe");
  GgufBuilder builder = small_gguf(
      "qwen3moe", {"blk.1.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"});
  for (const size_t expert : {0, 1, 2})
    for (const char* projection : {"gate", "down", "up"}) {
      const size_t number = number_of(whole, fmt::format("blk.1.ffn_{}_exps.weight", projection));
      const bool down = std::string_view(projection) == "down";
      builder.add_f32_tensor(fmt::format("blk.1.ffn_{}.{}.weight", projection, expert),
                             down ? std::vector<uint64_t>{5, 8} : std::vector<uint64_t>{8, 5},
                             stored(number, 40, 40 * expert));
    }
  const auto package = open_small(builder);
  expect_same_tensors(*package, *open_small(whole));
  // one projection after the other, though the file has one expert after the other
  std::vector<std::string> last;
  for (size_t i = package->tensors.size() - 9; i < package->tensors.size(); ++i)
    last.push_back(package->tensors[i].name.substr(std::string_view("model.layers.1.mlp.experts.").size()));
  EXPECT_THAT(last, ElementsAre("0.gate_proj.weight", "1.gate_proj.weight", "2.gate_proj.weight",
                                "0.down_proj.weight", "1.down_proj.weight", "2.down_proj.weight",
                                "0.up_proj.weight", "1.up_proj.weight", "2.up_proj.weight"));
}

TEST(GgufLayers, SplitGateAndUpOfExperts) {
  const GgufBuilder whole = small_gguf("qwen3moe");
  GgufBuilder builder = small_gguf("qwen3moe", {"blk.1.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight"});
  const size_t gate = number_of(whole, "blk.1.ffn_gate_exps.weight");
  const size_t up = number_of(whole, "blk.1.ffn_up_exps.weight");
  std::vector<Values> parts;
  for (const size_t expert : {0, 1, 2}) {
    parts.push_back(stored(gate, 40, 40 * expert));
    parts.push_back(stored(up, 40, 40 * expert));
  }
  builder.add_f32_tensor("blk.1.ffn_gate_up_exps.weight", {8, 10, 3}, joined(parts));
  const auto package = open_small(builder);
  for (const char* projection : {"gate", "up"})
    for (const size_t expert : {0, 1, 2})
      EXPECT_EQ(values_of(*package,
                          fmt::format("model.layers.1.mlp.experts.{}.{}_proj.weight", expert, projection)),
                stored(projection[0] == 'g' ? gate : up, 40, 40 * expert));
  EXPECT_EQ(package->tensors[package->tensors.size() - 4].name,
            "model.layers.1.mlp.experts.2.gate_proj.weight");
  EXPECT_EQ(package->tensors[package->tensors.size() - 3].name,
            "model.layers.1.mlp.experts.0.up_proj.weight");
}

TEST(GgufLayers, SeparateOlderQwen3NextProjections) {
  GgufBuilder builder = small_gguf("qwen3next", {"blk.0.attn_qkv.weight", "blk.0.attn_gate.weight"});
  Values joint(32 * 8);  // per key head: q 2, k 2, v 2 · 3, z 2 · 3 rows; every row is its number
  for (size_t i = 0; i < joint.size(); ++i) joint[i] = static_cast<float>(i / 8);
  builder.add_f32_tensor("blk.0.ssm_in.weight", {8, 32}, joint);
  const auto package = open_small(builder);
  const auto first_column = [&](const char* name) {
    const Values values = values_of(*package, fmt::format("model.layers.0.linear_attn.{}.weight", name));
    Values column;
    for (size_t i = 0; i < values.size(); i += 8) column.push_back(values[i]);
    return column;
  };
  EXPECT_THAT(first_column("in_proj_qkv"),
              ElementsAre(0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 6, 7, 8, 9, 20, 21, 22, 23, 24, 25));
  EXPECT_THAT(first_column("in_proj_z"), ElementsAre(10, 11, 12, 13, 14, 15, 26, 27, 28, 29, 30, 31));
}

TEST(GgufLayers, TakeLatentKeysAndValuesWholeOrInHalves) {
  // kv_b [2 heads · (2 + 3), 6]: element (row, column) is 10 · row + column
  const auto element = [](size_t row, size_t column) { return static_cast<float>(10 * row + column); };
  Values whole, keys, values;
  for (size_t row = 0; row < 10; ++row)
    for (size_t column = 0; column < 6; ++column) whole.push_back(element(row, column));
  for (const size_t head : {0, 1}) {
    for (size_t column = 0; column < 6; ++column)
      for (size_t row = 0; row < 2; ++row) keys.push_back(element(5 * head + row, column));
    for (size_t row = 2; row < 5; ++row)
      for (size_t column = 0; column < 6; ++column) values.push_back(element(5 * head + row, column));
  }
  GgufBuilder builder = small_gguf("deepseek2", {"blk.0.attn_k_b.weight", "blk.0.attn_v_b.weight",
                                                 "blk.1.attn_k_b.weight", "blk.1.attn_v_b.weight"});
  builder.add_f32_tensor("blk.0.attn_kv_b.weight", {6, 10}, whole);
  builder.add_f32_tensor("blk.1.attn_k_b.weight", {2, 6, 2}, keys);
  builder.add_f32_tensor("blk.1.attn_v_b.weight", {6, 3, 2}, values);
  const auto package = open_small(builder);
  EXPECT_EQ(package->find("model.layers.0.self_attn.kv_b_proj.weight")->dtype, DType::kF32);
  EXPECT_EQ(values_of(*package, "model.layers.0.self_attn.kv_b_proj.weight"), whole);
  const PackageTensor* halves = package->find("model.layers.1.self_attn.kv_b_proj.weight");
  ASSERT_NE(halves, nullptr);
  EXPECT_THAT(halves->shape, ElementsAre(10, 6));
  EXPECT_EQ(halves->dtype, std::nullopt);
  EXPECT_EQ(halves->stored_type, "F32");
  EXPECT_EQ(halves->stored_bytes, 60u * 4);
  for (size_t first = 0; first < 60; ++first)
    for (size_t count = 0; first + count <= 60; ++count) {
      Values part(count);
      ASSERT_TRUE(halves->read(first, part));
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)))
          << first << " " << count;
    }
}

TEST(GgufLayers, PutGranitesScaleIntoWhatJoinsTheResidual) {
  GgufBuilder builder = small_gguf("granite");
  builder.add_f32("granite.residual_scale", 0.25f);
  const auto package = open_small(builder), plain = open_small(small_gguf("granite"));
  for (const char* name : {"self_attn.o_proj", "mlp.down_proj", "self_attn.v_proj", "mlp.up_proj"}) {
    const std::string tensor = fmt::format("model.layers.1.{}.weight", name);
    Values wanted = values_of(*plain, tensor);
    const bool joins = tensor.find("o_proj") != std::string::npos || tensor.find("down") != std::string::npos;
    for (float& value : wanted) value *= joins ? 0.25f : 1.0f;
    EXPECT_EQ(values_of(*package, tensor), wanted) << name;
    EXPECT_EQ(package->find(tensor)->dtype, joins ? std::nullopt : std::optional(DType::kF32)) << name;
  }
}

TEST(GgufLayers, NameARateThatIsNotNegative) {
  GgufBuilder builder = small_gguf("qwen35", {"blk.0.ssm_a"});
  builder.add_f32_tensor("blk.0.ssm_a", {4}, {-1, -2, 0, -3});
  const auto package = open_small(builder);
  Values rates(4);
  const Status read = package->find("model.layers.0.linear_attn.A_log")->read(0, rates);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, "Value");
  EXPECT_EQ(read.error().place, "blk.0.ssm_a");
  EXPECT_EQ(read.error().message, "blk.0.ssm_a holds 0, which is not below 0");
}

/// A block behind the layers of a small glm4moe, with everything that a predictor has.
GgufBuilder with_predictor(const std::string& without) {
  GgufBuilder builder = small_gguf("glm4moe");
  builder.erase("glm4moe.block_count").add_u32("glm4moe.block_count", 3);
  builder.add_u32("glm4moe.nextn_predict_layers", 1);
  const auto add = [&](const std::string& suffix, std::vector<uint64_t> dimensions) {
    if (suffix == without) return;
    uint64_t elements = 1;
    for (const uint64_t dimension : dimensions) elements *= dimension;
    builder.add_f32_tensor("blk.2." + suffix, std::move(dimensions), Values(elements, 0.5f));
  };
  for (const char* norm :
       {"attn_norm", "post_attention_norm", "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"})
    add(fmt::format("{}.weight", norm), {8});
  add("nextn.eh_proj.weight", {16, 8});
  add("attn_q.weight", {8, 8});
  add("attn_k.weight", {8, 4});
  add("attn_v.weight", {8, 4});
  add("attn_output.weight", {8, 8});
  add("ffn_gate_inp.weight", {8, 3});
  add("exp_probs_b.bias", {3});
  for (const char* projection : {"gate", "up"}) {
    add(fmt::format("ffn_{}_exps.weight", projection), {8, 5, 3});
    add(fmt::format("ffn_{}_shexp.weight", projection), {8, 5});
  }
  add("ffn_down_exps.weight", {5, 8, 3});
  add("ffn_down_shexp.weight", {5, 8});
  return builder;
}

TEST(GgufLayers, TakeOneWholePredictor) {
  const auto whole = open_small(with_predictor(""));
  EXPECT_TRUE(whole->spec.mtp);
  EXPECT_EQ(whole->spec.num_layers, 2u);
  for (const char* name :
       {"enorm.weight", "hnorm.weight", "eh_proj.weight", "norm.weight", "layers.0.input_layernorm.weight",
        "layers.0.mlp.experts.2.down_proj.weight", "layers.0.mlp.expert_bias"})
    EXPECT_NE(whole->find(fmt::format("model.mtp.{}", name)), nullptr) << name;

  const auto part = open_small(with_predictor("nextn.hnorm.weight"));
  EXPECT_FALSE(part->spec.mtp);
  EXPECT_THAT(part->notes,
              ElementsAre("17 tensors of 1 predictors of further tokens are left out: some are missing",
                          HasSubstr("no vocabulary")));

  const auto missing = open_gguf(with_predictor("attn_k.weight"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().place, "blk.2.attn_k.weight");

  GgufBuilder several = with_predictor("");
  several.erase("glm4moe.block_count").add_u32("glm4moe.block_count", 4);
  several.erase("glm4moe.nextn_predict_layers").add_u32("glm4moe.nextn_predict_layers", 2);
  const auto package = open_small(several);
  EXPECT_FALSE(package->spec.mtp);
  EXPECT_THAT(package->notes,
              ElementsAre("18 tensors of 2 predictors of further tokens are left out: only one has a place",
                          HasSubstr("no vocabulary")));
}

TEST(GgufLayers, IgnoreDimensionsOfOne) {
  GgufBuilder builder = small_gguf("qwen2moe", {"blk.0.ffn_gate_inp_shexp.weight"});
  builder.add_f32_tensor("blk.0.ffn_gate_inp_shexp.weight", {8, 1}, Values(8, 0.5f));
  const auto package = open_small(builder);
  for (const uint32_t layer : {0u, 1u})
    EXPECT_THAT(package->find(fmt::format("model.layers.{}.mlp.shared_expert_gate.weight", layer))->shape,
                ElementsAre(1, 8));
}

}  // namespace
}  // namespace amphora::package
