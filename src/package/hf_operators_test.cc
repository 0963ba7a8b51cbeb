// Tests of config.json of families with operators of their own: both spellings, and what silence means.
#include "package/hf_operators.h"

#include <gtest/gtest.h>

#include "package/arch_json.h"
#include "package/hf_config.h"
#include "package/testing/config.h"

namespace amphora::package {
namespace {

using testing::edited;
using testing::read_text;
using testing::test_data;
using Edits = std::vector<std::pair<std::string, std::string>>;

std::string tiny_file(std::string_view name, std::string_view file = "config.json") {
  return read_text(test_data("hf/tiny") / name / file);
}

// Written by hand from the configurations and docs/formats/cmf.md §2, §12.
constexpr std::string_view kQwen2MoeArch =
    R"({"arch_name":"qwen2_moe","hidden_size":64,"intermediate_size":96,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["FullAttention",)"
    R"("FullAttention","FullAttention","FullAttention"],"rms_norm_eps":1e-6,"norm_style":"qwen",)"
    R"("rope_theta":1e6,"tie_word_embeddings":true,"partial_rotary_factor":1,"max_position_embeddings":512,)"
    R"("moe":{"num_experts":4,"top_k":2,"moe_intermediate_size":32,"norm_topk_prob":false,)"
    R"("shared_expert_intermediate_size":64}})";
constexpr std::string_view kQwen3MoeArch =
    R"({"arch_name":"qwen3_moe","hidden_size":64,"intermediate_size":64,"num_layers":3,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,"layer_types":["FullAttention",)"
    R"("FullAttention","FullAttention"],"rms_norm_eps":1e-6,"norm_style":"qwen","rope_theta":1e6,)"
    R"("tie_word_embeddings":false,"partial_rotary_factor":1,"max_position_embeddings":512,)"
    R"("moe":{"num_experts":6,"top_k":2,"moe_intermediate_size":32,"norm_topk_prob":true}})";
constexpr std::string_view kMixtralArch =
    R"({"arch_name":"mixtral","hidden_size":64,"intermediate_size":64,"num_layers":2,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-5,"norm_style":"qwen","rope_theta":1e6,)"
    R"("tie_word_embeddings":false,"partial_rotary_factor":1,"max_position_embeddings":512,)"
    R"("moe":{"num_experts":4,"top_k":2,"moe_intermediate_size":64,"norm_topk_prob":true}})";

constexpr std::string_view kQwen3NextArch =
    R"({"arch_name":"qwen3_next","hidden_size":64,"intermediate_size":96,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,)"
    R"("layer_types":["LinearAttention","LinearAttention","LinearAttention","FullAttention"],)"
    R"("rms_norm_eps":1e-6,"norm_style":"gemma","rope_theta":10000,"tie_word_embeddings":true,"partial_rotary_factor":0.25,)"
    R"("max_position_embeddings":512,"linear_conv_kernel_dim":4,"linear_num_key_heads":2,)"
    R"("linear_num_value_heads":4,"linear_key_head_dim":16,"linear_value_head_dim":16,)"
    R"("linear_core":{"kind":"gated_delta_net","num_heads":4,"value_head_dim":16},"moe":{"num_experts":4,"top_k":2,)"
    R"("moe_intermediate_size":32,"norm_topk_prob":true,"shared_expert_intermediate_size":32}})";
constexpr std::string_view kQwen35Arch =
    R"({"arch_name":"qwen3_5_text","hidden_size":64,"intermediate_size":96,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,)"
    R"("layer_types":["LinearAttention","LinearAttention","LinearAttention","FullAttention"],)"
    R"("rms_norm_eps":1e-6,"norm_style":"gemma","rope_theta":1e7,"tie_word_embeddings":false,"partial_rotary_factor":0.25,)"
    R"("max_position_embeddings":512,"linear_conv_kernel_dim":4,"linear_num_key_heads":2,)"
    R"("linear_num_value_heads":4,"linear_key_head_dim":16,"linear_value_head_dim":16,)"
    R"("linear_core":{"kind":"gated_delta_net","num_heads":4,"value_head_dim":16}})";
constexpr std::string_view kQwen35MoeArch =
    R"({"arch_name":"qwen3_5_moe_text","hidden_size":64,"intermediate_size":32,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,)"
    R"("layer_types":["LinearAttention","LinearAttention","LinearAttention","FullAttention"],)"
    R"("rms_norm_eps":1e-6,"norm_style":"gemma","rope_theta":1e7,"tie_word_embeddings":true,"partial_rotary_factor":0.25,)"
    R"("max_position_embeddings":512,"linear_conv_kernel_dim":4,"linear_num_key_heads":2,)"
    R"("linear_num_value_heads":4,"linear_key_head_dim":16,"linear_value_head_dim":16,)"
    R"("linear_core":{"kind":"gated_delta_net","num_heads":4,"value_head_dim":16},"moe":{"num_experts":4,"top_k":2,)"
    R"("moe_intermediate_size":32,"norm_topk_prob":true,"shared_expert_intermediate_size":32}})";
// The language models of larger ones.
constexpr std::string_view kQwen35InnerArch =
    R"({"arch_name":"qwen3_5_text","hidden_size":64,"intermediate_size":96,"num_layers":3,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,)"
    R"("layer_types":["LinearAttention","FullAttention","LinearAttention"],)"
    R"("rms_norm_eps":1e-6,"norm_style":"gemma","rope_theta":1e7,"tie_word_embeddings":true,"partial_rotary_factor":0.25,)"
    R"("max_position_embeddings":512,"linear_conv_kernel_dim":4,"linear_num_key_heads":2,)"
    R"("linear_num_value_heads":4,"linear_key_head_dim":16,"linear_value_head_dim":16,)"
    R"("linear_core":{"kind":"gated_delta_net","num_heads":4,"value_head_dim":16}})";
constexpr std::string_view kQwen35MoeInnerArch =
    R"({"arch_name":"qwen3_5_moe_text","hidden_size":64,"intermediate_size":32,"num_layers":2,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,)"
    R"("layer_types":["LinearAttention","FullAttention"],)"
    R"("rms_norm_eps":1e-6,"norm_style":"gemma","rope_theta":1e7,"tie_word_embeddings":true,"partial_rotary_factor":0.25,)"
    R"("max_position_embeddings":512,"linear_conv_kernel_dim":4,"linear_num_key_heads":2,)"
    R"("linear_num_value_heads":4,"linear_key_head_dim":16,"linear_value_head_dim":16,)"
    R"("linear_core":{"kind":"gated_delta_net","num_heads":4,"value_head_dim":16},"moe":{"num_experts":4,"top_k":2,)"
    R"("moe_intermediate_size":32,"norm_topk_prob":true,"shared_expert_intermediate_size":32}})";
constexpr std::string_view kDeepseekArch =
    R"({"arch_name":"deepseek_v3","hidden_size":64,"intermediate_size":96,"num_layers":2,)"
    R"("num_attention_heads":4,"num_kv_heads":4,"head_dim":16,"vocab_size":512,)"
    R"("layer_types":["FullAttention","FullAttention"],"rms_norm_eps":1e-6,"norm_style":"qwen",)"
    R"("rope_theta":10000,"tie_word_embeddings":false,"partial_rotary_factor":1,"yarn":{"factor":4,)"
    R"("original_max_position_embeddings":64,"beta_fast":32,"beta_slow":1,"attention_factor":1,)"
    R"("mscale_all_dim":1},"max_position_embeddings":512,"moe":{"num_experts":4,"top_k":2,)"
    R"("moe_intermediate_size":32,"norm_topk_prob":true,"shared_expert_intermediate_size":32,)"
    R"("router_sigmoid":true,"routed_scaling_factor":1.5,"n_group":2,"topk_group":1},"mla":{"kv_lora_rank":32,)"
    R"("qk_rope_head_dim":16,"qk_nope_head_dim":16,"v_head_dim":16,"q_lora_rank":32}})";
constexpr std::string_view kGlm4MoeArch =
    R"({"arch_name":"glm4_moe","hidden_size":64,"intermediate_size":96,"num_layers":2,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":16,"vocab_size":512,)"
    R"("layer_types":["FullAttention","FullAttention"],"rms_norm_eps":1e-5,"norm_style":"qwen",)"
    R"("rope_theta":10000,"tie_word_embeddings":false,"partial_rotary_factor":0.5,"max_position_embeddings":512,)"
    R"("moe":{"num_experts":4,"top_k":2,"moe_intermediate_size":32,"norm_topk_prob":true,)"
    R"("shared_expert_intermediate_size":32,"router_sigmoid":true}})";

/// As values: how the writer spells a number is not the point here.
void expect_arch(std::string_view config, std::string_view wanted, const std::string& what) {
  const auto decoded = decode_hf_config(config);
  ASSERT_TRUE(decoded) << what << ": " << decoded.error().message;
  const json::Value found = encode_arch(decoded->spec);
  EXPECT_TRUE(found == *json::parse(wanted)) << what << ": " << json::dump(found) << "\nwanted " << wanted;
}

ModelSpec spec_of(const std::string& config) {
  const auto decoded = decode_hf_config(config);
  EXPECT_TRUE(decoded) << config << ": " << decoded.error().message;
  return decoded ? decoded->spec : ModelSpec{};
}

TEST(HfOperators, BothSpellingsGiveTheSameModel) {  // F4
  struct Case {
    const char* name;
    std::string_view arch;
    bool has_legacy = true;
  };
  for (const Case& c :
       {Case{"qwen2_moe", kQwen2MoeArch}, Case{"qwen3_moe", kQwen3MoeArch}, Case{"mixtral", kMixtralArch},
        Case{"qwen3_next", kQwen3NextArch}, Case{"qwen3_5", kQwen35Arch, false},
        Case{"qwen3_5_moe", kQwen35MoeArch, false}, Case{"qwen3_5_mtp", kQwen35InnerArch, false},
        Case{"qwen3_5_moe_mtp", kQwen35MoeInnerArch, false}, Case{"deepseek_v3_mtp", kDeepseekArch},
        Case{"glm4_moe_mtp", kGlm4MoeArch}}) {
    expect_arch(tiny_file(c.name), c.arch, c.name);
    if (c.has_legacy)
      expect_arch(tiny_file(c.name, "config_legacy.json"), c.arch, std::string(c.name) + " legacy");
  }
}

// Of transformers 5.24's configuration classes.
TEST(HfOperators, FamiliesOfExpertsFillInWhatIsLeftUnsaid) {
  const auto silent = [](const char* architecture) {
    return spec_of(R"({"architectures":[")" + std::string(architecture) + R"("]})");
  };
  const ModelSpec qwen2 = silent("Qwen2MoeForCausalLM");
  EXPECT_EQ(qwen2.num_kv_heads, 16u);
  EXPECT_EQ(qwen2.intermediate_size, 5632u);
  EXPECT_EQ(qwen2.moe->num_experts, 60u);
  EXPECT_EQ(qwen2.moe->top_k, 4u);
  EXPECT_EQ(qwen2.moe->moe_intermediate_size, 1408u);
  EXPECT_EQ(qwen2.moe->shared_expert_intermediate_size, 5632u);
  EXPECT_FALSE(qwen2.moe->norm_topk_prob);
  const ModelSpec qwen3 = silent("Qwen3MoeForCausalLM");
  EXPECT_EQ(qwen3.head_dim, 64u) << "hidden_size / num_attention_heads";
  EXPECT_EQ(qwen3.moe->num_experts, 128u);
  EXPECT_EQ(qwen3.moe->top_k, 8u);
  EXPECT_EQ(qwen3.moe->moe_intermediate_size, 768u);
  EXPECT_FALSE(qwen3.moe->norm_topk_prob);
  EXPECT_FALSE(qwen3.moe->shared_expert_intermediate_size);
  const ModelSpec mixtral = silent("MixtralForCausalLM");
  EXPECT_EQ(mixtral.rope_theta, 1e6);
  EXPECT_EQ(mixtral.intermediate_size, 14336u);
  EXPECT_EQ(mixtral.moe->num_experts, 8u);
  EXPECT_EQ(mixtral.moe->top_k, 2u);
  EXPECT_EQ(mixtral.moe->moe_intermediate_size, 14336u);
  EXPECT_TRUE(mixtral.moe->norm_topk_prob);
  EXPECT_FALSE(mixtral.sliding_window);
}

TEST(HfOperators, FamiliesOfDeltaNetsFillInWhatIsLeftUnsaid) {
  for (const char* architecture : {"Qwen3NextForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"}) {
    const ModelSpec spec = spec_of(R"({"architectures":[")" + std::string(architecture) + R"("]})");
    EXPECT_EQ(spec.head_dim, 256u) << architecture;
    EXPECT_EQ(spec.partial_rotary_factor, 0.25) << architecture;
    EXPECT_EQ(spec.norm_style, NormStyle::kOnePlus) << architecture;
    EXPECT_EQ(spec.linear_core->num_heads, 32u) << architecture;
    EXPECT_EQ(spec.linear_core->value_head_dim, 128u) << architecture;
    EXPECT_EQ(spec.linear_num_key_heads, 16u) << architecture;
    EXPECT_EQ(spec.linear_key_head_dim, 128u) << architecture;
    EXPECT_EQ(spec.linear_conv_kernel_dim, 4u) << architecture;
    for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
      EXPECT_EQ(spec.layer_types[layer] == LayerType::kFullAttention, layer % 4 == 3)
          << architecture << layer;
  }
  const ModelSpec next = spec_of(R"({"architectures":["Qwen3NextForCausalLM"]})");
  EXPECT_EQ(next.moe->num_experts, 512u);
  EXPECT_EQ(next.moe->top_k, 10u);
  EXPECT_TRUE(next.moe->norm_topk_prob);
  EXPECT_EQ(next.intermediate_size, 5632u);
  const ModelSpec sparse = spec_of(R"({"architectures":["Qwen3_5MoeForCausalLM"]})");
  EXPECT_EQ(sparse.moe->num_experts, 256u);
  EXPECT_EQ(sparse.moe->top_k, 8u);
  EXPECT_EQ(sparse.intermediate_size, 512u) << "that of an expert";
  EXPECT_FALSE(spec_of(R"({"architectures":["Qwen3_5ForCausalLM"]})").moe);
}

TEST(HfOperators, TheIntervalOfFullAttentionCountsWhereThereAreNoLayerTypes) {
  const ModelSpec spec =
      spec_of(edited(tiny_file("qwen3_next"), {{"layer_types", ""}, {"full_attention_interval", "2"}}));
  for (uint32_t layer = 0; layer < 4; ++layer)
    EXPECT_EQ(spec.layer_types[layer] == LayerType::kLinearAttention, layer % 2 == 0) << layer;
}

TEST(HfOperators, PartialRotationInsideTheRopeParametersCountsBeforeTheFamilys) {
  const auto partial = [](const char* model, const char* parameters, const char* outer) {
    return spec_of(
               edited(tiny_file(model), {{"rope_parameters", parameters}, {"partial_rotary_factor", outer}}))
        .partial_rotary_factor;
  };
  EXPECT_EQ(partial("qwen3_next", R"({"rope_theta":10000,"partial_rotary_factor":0.5})", "0.75"), 0.5);
  EXPECT_EQ(partial("qwen3_next", R"({"rope_theta":10000})", "0.75"), 0.75);
  EXPECT_EQ(partial("qwen3_next", R"({"rope_theta":10000})", ""), 0.25);
  EXPECT_EQ(partial("glm4_moe_mtp", R"({"rope_theta":10000})", ""), 0.5);
}

TEST(HfOperators, DeepseekAndGlmFillInWhatIsLeftUnsaid) {
  const ModelSpec v3 = spec_of(R"({"architectures":["DeepseekV3ForCausalLM"]})");
  EXPECT_EQ(v3.num_kv_heads, 128u);
  EXPECT_EQ(v3.head_dim, 64u) << "what turns of a head";
  EXPECT_EQ(v3.mla->q_lora_rank, 1536u);
  EXPECT_EQ(v3.mla->kv_lora_rank, 512u);
  EXPECT_EQ(v3.mla->qk_nope_head_dim, 128u);
  EXPECT_EQ(v3.mla->v_head_dim, 128u);
  EXPECT_EQ(v3.moe->num_experts, 256u);
  EXPECT_EQ(v3.moe->n_group, 8u);
  EXPECT_EQ(v3.moe->topk_group, 4u);
  EXPECT_EQ(v3.moe->routed_scaling_factor, 2.5);
  EXPECT_EQ(v3.moe->shared_expert_intermediate_size, 2048u);
  EXPECT_TRUE(v3.moe->router_sigmoid && v3.moe->norm_topk_prob);
  EXPECT_TRUE(decode_hf_config(R"({"architectures":["DeepseekV3ForCausalLM"]})")->rope_interleaved);
  EXPECT_FALSE(decode_hf_config(R"({"architectures":["DeepseekV3ForCausalLM"],"rope_interleave":false})")
                   ->rope_interleaved);

  // The configuration of a published DeepSeek-V2-Lite says this much about its operators.
  const std::string lite =
      R"({"architectures":["DeepseekV2ForCausalLM"],"num_hidden_layers":27,"hidden_size":2048,)"
      R"("num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":null,"kv_lora_rank":512,)"
      R"("qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"moe_intermediate_size":1408,)"
      R"("n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"n_group":1,"topk_group":1,)"
      R"("norm_topk_prob":false,"routed_scaling_factor":1.0,"scoring_func":"softmax","topk_method":"greedy",)"
      R"("max_position_embeddings":163840,"rope_scaling":{"beta_fast":32,"beta_slow":1,"factor":40,)"
      R"("mscale":0.707,"mscale_all_dim":0.707,"original_max_position_embeddings":4096,"type":"yarn"}})";
  const ModelSpec v2 = spec_of(lite);
  EXPECT_FALSE(v2.mla->q_lora_rank);
  EXPECT_FALSE(v2.moe->router_sigmoid || v2.moe->norm_topk_prob || v2.moe->n_group);
  EXPECT_EQ(v2.moe->shared_expert_intermediate_size, 2816u);
  EXPECT_EQ(v2.yarn->attention_factor, 1) << "the two magnitudes are alike";
  EXPECT_EQ(v2.yarn->mscale_all_dim, 0.707);
  EXPECT_TRUE(decode_hf_config(edited(lite, {{"rope_interleave", "false"}}))->rope_interleaved)
      << "a key of DeepSeek-V3";

  const ModelSpec glm = spec_of(R"({"architectures":["Glm4MoeForCausalLM"],"head_dim":128})");
  EXPECT_EQ(glm.num_kv_heads, 8u);
  EXPECT_EQ(glm.rms_norm_eps, 1e-5);
  EXPECT_EQ(glm.moe->num_experts, 128u);
  EXPECT_EQ(glm.moe->top_k, 8u);
  EXPECT_EQ(glm.moe->routed_scaling_factor, 1);
  EXPECT_FALSE(glm.moe->n_group || glm.moe->topk_group);
  EXPECT_FALSE(spec_of(R"({"architectures":["Glm4MoeForCausalLM"],"head_dim":128,"n_shared_experts":null})")
                   .moe->shared_expert_intermediate_size);
}

TEST(HfOperators, OlmoGraniteAndSmolLmAreRead) {
  const ModelSpec olmo = spec_of(R"({"architectures":["Olmo2ForCausalLM"],"num_attention_heads":16})");
  EXPECT_EQ(olmo.num_kv_heads, 16u);
  EXPECT_EQ(olmo.rms_norm_eps, 1e-5);
  EXPECT_EQ(olmo.vocab_size, 50304u);

  const std::string granite =
      R"({"architectures":["GraniteForCausalLM"],"embedding_multiplier":12.0,"logits_scaling":8.0,)"
      R"("attention_multiplier":0.015625,"residual_multiplier":0.22})";
  EXPECT_EQ(spec_of(granite).embed_multiplier, 12);
  EXPECT_EQ(spec_of(granite).logit_multiplier, 0.125);
  EXPECT_EQ(spec_of(granite).query_pre_attn_scalar, 4096);
  EXPECT_EQ(decode_hf_config(granite)->residual_multiplier, 0.22);
  const std::string silent = R"({"architectures":["GraniteForCausalLM"]})";
  EXPECT_EQ(spec_of(silent).query_pre_attn_scalar, 1) << "not the head's dimension";
  EXPECT_EQ(decode_hf_config(silent)->residual_multiplier, 1);

  const ModelSpec smol =
      spec_of(R"({"architectures":["SmolLM3ForCausalLM"],"num_hidden_layers":3,"no_rope_layers":[1,1,1,0]})");
  EXPECT_EQ(smol.rope_theta, 2e6);
  EXPECT_EQ(smol.num_kv_heads, 4u);
  EXPECT_TRUE(smol.tie_word_embeddings);
  EXPECT_TRUE(
      spec_of(R"({"architectures":["SmolLM3ForCausalLM"],"num_hidden_layers":3})").layer_types.size() == 3)
      << "too few layers for one without rope";
}

TEST(HfOperators, ExpertsAreCountedUnderBothNames) {
  const std::string config = tiny_file("qwen3_moe");  // says num_local_experts
  EXPECT_EQ(spec_of(edited(config, {{"num_local_experts", ""}, {"num_experts", "5"}})).moe->num_experts, 5u);
  EXPECT_EQ(spec_of(edited(config, {{"num_experts", "6"}})).moe->num_experts, 6u);
  EXPECT_EQ(spec_of(edited(config, {{"num_local_experts", "null"}})).moe->num_experts, 128u);
}

TEST(HfOperators, MixtralAlwaysNormsAndQwenAsItSays) {
  EXPECT_TRUE(spec_of(edited(tiny_file("mixtral"), {{"norm_topk_prob", "false"}})).moe->norm_topk_prob);
  EXPECT_TRUE(spec_of(edited(tiny_file("qwen2_moe"), {{"norm_topk_prob", "true"}})).moe->norm_topk_prob);
  EXPECT_FALSE(spec_of(edited(tiny_file("qwen3_moe"), {{"norm_topk_prob", ""}})).moe->norm_topk_prob);
}

TEST(HfOperators, FamiliesOfExpertsPlaceSlidingWindowsInTheirOwnWays) {
  struct Case {
    const char* name;
    std::string config;
    std::vector<bool> local;
    std::optional<uint32_t> window;
  };
  const std::string qwen2 = edited(tiny_file("qwen2_moe"), {{"layer_types", ""}, {"sliding_window", "32"}});
  const Edits used = {{"use_sliding_window", "true"}, {"sliding_window", "32"}};
  const Case kCases[] = {
      {"qwen2_moe, not used", qwen2, {false, false, false, false}, std::nullopt},
      {"qwen2_moe, every second", edited(qwen2, used), {true, false, true, false}, 32},
      {"qwen2_moe, every second of three",
       edited(edited(qwen2, used), {{"max_window_layers", "2"}}),
       {true, false, false, false},
       32},
      {"qwen2_moe, layer types decide",
       edited(edited(tiny_file("qwen2_moe"), used),
              {{"layer_types", R"(["full_attention","sliding_attention",)"
                               R"("full_attention","full_attention"])"}}),
       {false, true, false, false},
       32},
      {"qwen3_moe, not used",
       edited(tiny_file("qwen3_moe"), {{"sliding_window", "32"}}),
       {false, false, false},
       std::nullopt},
      {"qwen3_moe, all", edited(tiny_file("qwen3_moe"), used), {true, true, true}, 32},
      {"mixtral, all", edited(tiny_file("mixtral"), {{"sliding_window", "32"}}), {true, true}, 32},
  };
  for (const Case& c : kCases) {
    const ModelSpec spec = spec_of(c.config);
    for (uint32_t layer = 0; layer < c.local.size(); ++layer)
      EXPECT_EQ(spec.is_local(layer), c.local[layer]) << c.name << " layer " << layer;
    EXPECT_EQ(spec.sliding_window, c.window) << c.name;
  }
}

}  // namespace
}  // namespace amphora::package
