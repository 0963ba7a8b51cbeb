// The tiny GGUF models against the checkpoints that they were made of (tests/data/gguf/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/test_data.h"
#include "package/arch_json.h"
#include "package/gguf_package.h"
#include "package/hf_package.h"
#include "package/testing/model_folder.h"

namespace amphora {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::test_data;
using testing::values_of;

constexpr const char* kModels[] = {"gemma2",      "phi3",       "mistral", "mixtral",     "qwen2_moe",
                                   "qwen3_moe",   "qwen3_next", "qwen3_5", "qwen3_5_moe", "deepseek_v3_mtp",
                                   "glm4_moe_mtp"};
constexpr auto kFull = LayerType::kFullAttention;
constexpr auto kSliding = LayerType::kSlidingAttention;
constexpr auto kLinear = LayerType::kLinearAttention;

constexpr std::string_view kWithoutPredictor = "deepseek_v3_mtp";

std::shared_ptr<const Package> open_checkpoint(std::string_view name) {
  auto package = open_hugging_face_package(test_data("hf/tiny") / name);
  EXPECT_TRUE(package) << name << ": " << (package ? "" : package.error().message);
  return package ? *package : std::make_shared<const Package>();
}

std::shared_ptr<const Package> open_model(std::string_view name) {
  auto package = open_gguf_package(test_data(fmt::format("gguf/tiny/{}.gguf", name)));
  EXPECT_TRUE(package) << name << ": " << (package ? "" : package.error().message);
  return package ? *package : std::make_shared<const Package>();
}

/// Whether the values were changed on their way into the file: 1 + w, −exp(A_log).
bool was_changed(const PackageTensor& tensor, const ModelSpec& spec) {
  const std::string_view name = tensor.name;
  if (name.ends_with("A_log")) return true;
  return spec.norm_style == NormStyle::kOnePlus && name.ends_with("norm.weight") &&
         !name.ends_with("linear_attn.norm.weight");
}

/// What the file holds in place of w is the f32 nearest to 1 + w, which lies below 4; in place of A_log the
/// one nearest to −exp(A_log), of whose logarithm, below 4 too, we give the nearest.
constexpr float kRounding = 0x1p-22f;

void expect_same_values(const PackageTensor& tensor, const PackageTensor& wanted, const ModelSpec& spec) {
  EXPECT_EQ(tensor.shape, wanted.shape) << tensor.name;
  const std::vector<float> values = values_of(tensor), others = values_of(wanted);
  if (!was_changed(tensor, spec)) {
    EXPECT_EQ(values, others) << tensor.name;
    return;
  }
  ASSERT_EQ(values.size(), others.size()) << tensor.name;
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], others[i], kRounding) << tensor.name << " " << i;
}

TEST(GgufModels, HoldTheTensorsOfTheirCheckpoints) {
  for (const char* name : kModels) {
    SCOPED_TRACE(name);
    const auto package = open_model(name), checkpoint = open_checkpoint(name);
    size_t left_out = 0;
    for (const PackageTensor& wanted : checkpoint->tensors) {
      const PackageTensor* tensor = package->find(wanted.name);
      if (tensor == nullptr && name == kWithoutPredictor && wanted.name.starts_with("model.mtp.")) {
        ++left_out;
        continue;
      }
      ASSERT_NE(tensor, nullptr) << wanted.name;
      expect_same_values(*tensor, wanted, package->spec);
    }
    EXPECT_EQ(package->tensors.size() + left_out, checkpoint->tensors.size());
  }
}

/// Numbers are f32 in a GGUF file; everything else must be equal.
void expect_same_json(const json::Value& value, const json::Value& wanted, const std::string& path) {
  if (wanted.is_number() && value.is_number()) {
    EXPECT_NEAR(value.as_double(), wanted.as_double(), std::fabs(wanted.as_double()) * 0x1p-23) << path;
  } else if (wanted.is_object() && value.is_object()) {
    EXPECT_EQ(value.members().size(), wanted.members().size()) << path << ": " << json::dump(value);
    for (const json::Member& member : wanted.members()) {
      const json::Value* found = value.find(member.key);
      ASSERT_NE(found, nullptr) << path << "." << member.key;
      expect_same_json(*found, member.value, path + "." + member.key);
    }
  } else {
    EXPECT_EQ(json::dump(value), json::dump(wanted)) << path;
  }
}

TEST(GgufModels, AreWhatTheirCheckpointsAre) {
  for (const char* name : kModels) {
    SCOPED_TRACE(name);
    ModelSpec spec = open_model(name)->spec, wanted = open_checkpoint(name)->spec;
    if (spec.arch_name == "llama") wanted.arch_name = "llama";  // llama.cpp has no other name for them
    if (name == kWithoutPredictor) wanted.mtp.reset();
    expect_same_json(package::encode_arch(spec), package::encode_arch(wanted), "arch");
  }
}

TEST(GgufModels, SayWhatGemma2Is) {
  const ModelSpec spec = open_model("gemma2")->spec;
  EXPECT_EQ(spec.arch_name, "gemma2");
  EXPECT_EQ(spec.norm_style, NormStyle::kOnePlus);
  EXPECT_EQ(spec.hidden_act, Activation::kGeluTanh);
  EXPECT_EQ(spec.embed_multiplier, 8);
  EXPECT_EQ(spec.head_dim, 32u);
  EXPECT_NEAR(*spec.query_pre_attn_scalar, 24, 24 * 0x1p-23);  // from an f32 of 1 / sqrt(24)
  EXPECT_EQ(spec.attn_logit_softcapping, 5);
  EXPECT_EQ(spec.final_logit_softcapping, 10);
  EXPECT_EQ(spec.sliding_window, 16u);
  EXPECT_THAT(spec.layer_types, ElementsAre(kSliding, kFull, kSliding, kFull));
  EXPECT_EQ(spec.rope_theta, 10000);
  EXPECT_EQ(spec.rope_local_base_freq, std::nullopt);
  EXPECT_TRUE(spec.tie_word_embeddings);
}

TEST(GgufModels, SayWhatPhi3Is) {
  const auto package = open_model("phi3");
  const ModelSpec& spec = package->spec;
  EXPECT_EQ(spec.arch_name, "phi3");
  EXPECT_EQ(spec.head_dim, 16u);
  EXPECT_EQ(spec.partial_rotary_factor, 0.5);
  EXPECT_EQ(spec.sliding_window, std::nullopt);
  EXPECT_THAT(spec.layer_types, Each(kFull));
  ASSERT_TRUE(spec.longrope);
  EXPECT_THAT(spec.longrope->short_factors, ElementsAre(1.0f, 1.1f, 1.3f, 1.7f));
  EXPECT_THAT(spec.longrope->long_factors, ElementsAre(1.5f, 2.5f, 4.0f, 8.0f));
  EXPECT_EQ(spec.longrope->original_max_position_embeddings, 128u);
  EXPECT_FLOAT_EQ(static_cast<float>(spec.longrope->attention_factor),
                  1.1338934f);  // sqrt(1 + ln 4 / ln 128)
  EXPECT_THAT(package->notes, ElementsAre());
  // the parts of a fused matrix are used where they lie
  const PackageTensor* keys = package->find("model.layers.1.self_attn.k_proj.weight");
  const PackageTensor* queries = package->find("model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(keys->dtype, DType::kF32);
  EXPECT_EQ(keys->stored.data(), queries->stored.data() + queries->stored.size());
  EXPECT_EQ(keys->stored_offset, queries->stored_offset + queries->stored_bytes);
  EXPECT_EQ(keys->stored_bytes, 32u * 64 * 4);
}

TEST(GgufModels, SayWhatMistralIs) {
  const ModelSpec spec = open_model("mistral")->spec;
  EXPECT_EQ(spec.arch_name, "llama");  // llama.cpp has no other name for it
  EXPECT_EQ(spec.sliding_window, 32u);
  EXPECT_THAT(spec.layer_types, ElementsAre(kSliding, kSliding, kSliding));
}

TEST(GgufModels, SayHowMixturesRoute) {
  const auto mixtral = open_model("mixtral")->spec;
  ASSERT_TRUE(mixtral.moe);
  EXPECT_EQ(mixtral.moe->num_experts, 4u);
  EXPECT_EQ(mixtral.moe->top_k, 2u);
  EXPECT_EQ(mixtral.moe->moe_intermediate_size, 64u);
  EXPECT_TRUE(mixtral.moe->norm_topk_prob);
  EXPECT_FALSE(mixtral.moe->router_sigmoid);
  EXPECT_EQ(mixtral.moe->routed_scaling_factor, 1);
  EXPECT_EQ(mixtral.moe->shared_expert_intermediate_size, std::nullopt);
  EXPECT_EQ(mixtral.moe->n_group, std::nullopt);

  const auto qwen2 = open_model("qwen2_moe")->spec;
  EXPECT_EQ(qwen2.arch_name, "qwen2_moe");
  EXPECT_EQ(qwen2.intermediate_size, 96u);
  EXPECT_EQ(qwen2.moe->moe_intermediate_size, 32u);
  EXPECT_FALSE(qwen2.moe->norm_topk_prob);
  EXPECT_EQ(qwen2.moe->shared_expert_intermediate_size, 64u);

  const auto qwen3 = open_model("qwen3_moe")->spec;
  EXPECT_EQ(qwen3.arch_name, "qwen3_moe");
  EXPECT_EQ(qwen3.moe->num_experts, 6u);
  EXPECT_TRUE(qwen3.moe->norm_topk_prob);
  EXPECT_EQ(qwen3.moe->shared_expert_intermediate_size, std::nullopt);
}

TEST(GgufModels, GiveExpertsAsViewsOneProjectionAfterTheOther) {
  const auto package = open_model("qwen3_moe");
  const PackageTensor* before = nullptr;
  for (const char* projection : {"gate", "up", "down"}) {
    before = nullptr;
    for (int expert = 0; expert < 6; ++expert) {
      const PackageTensor* tensor =
          package->find(fmt::format("model.layers.2.mlp.experts.{}.{}_proj.weight", expert, projection));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->dtype, DType::kF32);
      EXPECT_EQ(tensor->stored.size(), 32u * 64 * 4);
      if (before != nullptr) {
        EXPECT_EQ(tensor, before + 1);
        EXPECT_EQ(tensor->stored.data(), before->stored.data() + before->stored.size());
      }
      before = tensor;
    }
  }
}

TEST(GgufModels, SayWhatGatedDeltaNetsAre) {
  for (const auto& [name, arch_name] :
       {std::pair{"qwen3_next", "qwen3_next"}, std::pair{"qwen3_5", "qwen3_5_text"},
        std::pair{"qwen3_5_moe", "qwen3_5_moe_text"}}) {
    const auto package = open_model(name);
    const ModelSpec& spec = package->spec;
    EXPECT_EQ(spec.arch_name, arch_name);
    EXPECT_EQ(spec.norm_style, NormStyle::kOnePlus) << name;
    EXPECT_THAT(spec.layer_types, ElementsAre(kLinear, kLinear, kLinear, kFull)) << name;
    ASSERT_TRUE(spec.linear_core) << name;
    EXPECT_EQ(spec.linear_core->kind, LinearCore::kGatedDeltaNet) << name;
    EXPECT_EQ(spec.linear_core->num_heads, 4u) << name;
    EXPECT_EQ(spec.linear_core->value_head_dim, 16u) << name;
    EXPECT_EQ(spec.linear_conv_kernel_dim, 4u) << name;
    EXPECT_EQ(spec.linear_num_key_heads, 2u) << name;
    EXPECT_EQ(spec.linear_num_value_heads, 4u) << name;
    EXPECT_EQ(spec.linear_key_head_dim, 16u) << name;
    EXPECT_EQ(spec.linear_value_head_dim, 16u) << name;
    EXPECT_EQ(spec.partial_rotary_factor, 0.25) << name;
    EXPECT_EQ(spec.query_pre_attn_scalar, std::nullopt) << name;
    EXPECT_EQ(spec.mtp, std::nullopt) << name;
    EXPECT_THAT(package->notes, ElementsAre()) << name;
  }
  EXPECT_EQ(open_model("qwen3_5")->spec.moe, std::nullopt);
  EXPECT_EQ(open_model("qwen3_5")->spec.rope_theta, 1e7);
  const auto mixture = open_model("qwen3_5_moe")->spec;  // its configuration has no dense width
  EXPECT_EQ(mixture.intermediate_size, 32u);
  EXPECT_TRUE(mixture.moe->norm_topk_prob);
  EXPECT_EQ(mixture.moe->shared_expert_intermediate_size, 32u);
}

TEST(GgufModels, SayWhatDeepSeekV3Is) {
  const ModelSpec spec = open_model("deepseek_v3_mtp")->spec;
  EXPECT_EQ(spec.arch_name, "deepseek_v3");
  EXPECT_EQ(spec.num_layers, 2u);
  EXPECT_EQ(spec.num_kv_heads, 4u);
  EXPECT_EQ(spec.head_dim, 16u);
  ASSERT_TRUE(spec.mla);
  EXPECT_EQ(spec.mla->kv_lora_rank, 32u);
  EXPECT_EQ(spec.mla->q_lora_rank, 32u);
  EXPECT_EQ(spec.mla->qk_rope_head_dim, 16u);
  EXPECT_EQ(spec.mla->qk_nope_head_dim, 16u);
  EXPECT_EQ(spec.mla->v_head_dim, 16u);
  EXPECT_FALSE(spec.mla->nope);
  ASSERT_TRUE(spec.yarn);
  EXPECT_EQ(spec.yarn->factor, 4);
  EXPECT_EQ(spec.yarn->original_max_position_embeddings, 64u);
  EXPECT_EQ(spec.yarn->attention_factor, 1);
  EXPECT_EQ(spec.yarn->mscale_all_dim, 1);
  ASSERT_TRUE(spec.moe);
  EXPECT_TRUE(spec.moe->router_sigmoid);
  EXPECT_TRUE(spec.moe->norm_topk_prob);
  EXPECT_EQ(spec.moe->routed_scaling_factor, 1.5);
  EXPECT_EQ(spec.moe->n_group, 2u);
  EXPECT_EQ(spec.moe->topk_group, 1u);
  EXPECT_EQ(spec.moe->shared_expert_intermediate_size, 32u);
  EXPECT_EQ(spec.mtp, std::nullopt);  // llama.cpp's conversion leaves it out
}

TEST(GgufModels, SayWhatGlm4Is) {
  const auto package = open_model("glm4_moe_mtp");
  const ModelSpec& spec = package->spec;
  EXPECT_EQ(spec.arch_name, "glm4_moe");
  EXPECT_EQ(spec.num_layers, 2u);
  EXPECT_EQ(spec.partial_rotary_factor, 0.5);
  ASSERT_TRUE(spec.moe);
  EXPECT_TRUE(spec.moe->router_sigmoid);
  EXPECT_TRUE(spec.moe->norm_topk_prob);
  EXPECT_EQ(spec.moe->routed_scaling_factor, 1);
  EXPECT_EQ(spec.moe->n_group, std::nullopt);  // one group is none
  ASSERT_TRUE(spec.mtp);
  EXPECT_EQ(spec.mtp->num_layers, 1u);
  EXPECT_TRUE(spec.mtp->share_embed);
  EXPECT_TRUE(spec.mtp->share_lm_head);
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("blk.2.nextn.embed_tokens.weight is left out")));
}

TEST(GgufModels, BringTheirTokenizer) {
  for (const char* name : kModels) {
    const auto package = open_model(name);
    EXPECT_FALSE(package->tokenizer_json.empty()) << name;
    EXPECT_EQ(package->tokenizer.bos_token_id, 1u) << name;
    EXPECT_THAT(package->tokenizer.eos_token_ids, ElementsAre(2)) << name;
  }
}

}  // namespace
}  // namespace amphora
