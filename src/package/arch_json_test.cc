// Tests of the `arch` object: what files in the field say, and the way there and back.
#include "package/arch_json.h"

#include <gtest/gtest.h>

#include "package/testing/config.h"

namespace amphora::package {
namespace {

using testing::edited;

// The arch of a file that another program wrote (a Gemma 3 in the older style: no tags, a pattern).
constexpr std::string_view kForeign =
    R"({"arch_name":"gemma3_text","hidden_size":64,"intermediate_size":128,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":16,"vocab_size":128,"layer_types":["FullAttention",)"
    R"("FullAttention","FullAttention","FullAttention"],"rms_norm_eps":1e-6,"norm_style":"gemma",)"
    R"("rope_theta":1000000.0,"tie_word_embeddings":true,"partial_rotary_factor":1.0,"hidden_act":"gelu_tanh",)"
    R"("embed_multiplier":8.0,"query_pre_attn_scalar":32.0,"sliding_window":4,"sliding_window_pattern":2,)"
    R"("rope_local_base_freq":10000.0,"max_position_embeddings":256,"linear_conv_kernel_dim":null,)"
    R"("linear_num_key_heads":null,"linear_num_value_heads":null})";

TEST(ArchJson, ReadsAFileInTheOlderStyle) {
  const auto spec = decode_arch(*json::parse(kForeign));
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->arch_name, "gemma3_text");
  EXPECT_EQ(spec->norm_style, NormStyle::kOnePlus);
  EXPECT_EQ(spec->hidden_act, Activation::kGeluTanh);
  EXPECT_EQ(spec->embed_multiplier, 8);
  EXPECT_EQ(spec->query_pre_attn_scalar, 32);
  EXPECT_EQ(spec->rope_local_base_freq, 10000);
  EXPECT_TRUE(spec->is_local(0));
  EXPECT_FALSE(spec->is_local(1));
  EXPECT_TRUE(spec->is_local(2));
  EXPECT_FALSE(spec->is_local(3));
  EXPECT_FALSE(spec->is_local(4));
  EXPECT_TRUE(spec->other.empty()) << "null is absent";
}

TEST(ArchJson, WritesWhatItReadsInTheOrderOfTheField) {
  std::string wanted(kForeign);
  wanted.erase(wanted.find(R"(,"linear_conv)"));
  wanted += "}";
  const json::Value written = encode_arch(*decode_arch(*json::parse(kForeign)));
  const json::Value reference = *json::parse(wanted);
  ASSERT_EQ(written.members().size(), reference.members().size());
  for (size_t i = 0; i < reference.members().size(); ++i) {
    EXPECT_EQ(written.members()[i].key, reference.members()[i].key);
    EXPECT_TRUE(written.members()[i].value == reference.members()[i].value) << reference.members()[i].key;
  }
}

TEST(ArchJson, CarriesEveryOptionalBlockThereAndBack) {
  const std::string text = edited(
      kForeign,
      {{"hidden_act", R"("silu")"},
       {"embed_multiplier", "1"},
       {"yarn", R"({"factor":8.0,"original_max_position_embeddings":64,"beta_fast":32.0,"beta_slow":1.0,)"
                R"("attention_factor":1.2079442,"mscale_all_dim":0.5})"},
       {"longrope", R"({"short":[1,1.5],"long":[2,4],"original_max_position_embeddings":32,)"
                    R"("attention_factor":1.25})"},
       {"rope_freq_factors", "[1,1.25,8]"},
       {"attention_heads_per_layer", "[4,6,6,6]"},
       {"local_partial_rotary_factor", "0.5"},
       {"final_logit_softcapping", "30"},
       {"attn_logit_softcapping", "50"},
       {"logit_multiplier", "0.125"},
       {"num_loops", "2"},
       {"attn_v_norm", "true"},
       {"loop_final_norm", "true"},
       {"moe", R"({"num_experts":8,"top_k":2,"moe_intermediate_size":32,"norm_topk_prob":true,)"
               R"("shared_expert_intermediate_size":64,"router_sigmoid":true,"routed_scaling_factor":2.5,)"
               R"("n_group":4,"topk_group":2})"},
       {"mla", R"({"kv_lora_rank":512,"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,)"
               R"("q_lora_rank":1536,"nope":true})"},
       {"mtp", R"({"num_layers":1,"share_lm_head":true,"share_embed":false,"hidden_normed":false})"},
       {"linear_core", R"({"kind":"gated_delta_net","num_heads":32,"value_head_dim":128})"},
       {"linear_num_key_heads", "2"},
       {"kda_gate_lower_bound", "-5"},
       {"global_head_dim", "512"},
       {"g3n", R"({"odd":1.50})"}});
  const auto spec = decode_arch(*json::parse(text));
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(spec->yarn && spec->longrope);
  EXPECT_EQ(spec->yarn->attention_factor, 1.2079442);
  EXPECT_EQ(spec->longrope->short_factors, std::vector<float>({1.0f, 1.5f}));
  EXPECT_EQ(spec->attention_heads_per_layer, std::vector<uint32_t>({4, 6, 6, 6}));
  ASSERT_EQ(spec->other.size(), 2u);
  ASSERT_TRUE(spec->moe && spec->mla && spec->mtp && spec->linear_core);
  EXPECT_EQ(spec->moe->topk_group, 2u);
  EXPECT_EQ(spec->mla->q_lora_rank, 1536u);
  EXPECT_FALSE(spec->mtp->share_embed);
  EXPECT_FALSE(spec->mtp->hidden_normed);
  EXPECT_EQ(spec->linear_core->num_heads, 32u);
  json::Value wanted = *json::parse(text);
  for (const char* neutral :
       {"hidden_act", "embed_multiplier", "linear_conv_kernel_dim", "linear_num_value_heads"})
    wanted.erase(neutral);
  const json::Value written = encode_arch(*spec);
  EXPECT_TRUE(written == wanted) << json::dump(written);
  EXPECT_NE(json::dump(written).find(R"("odd":1.50)"), std::string::npos) << "numbers keep their text";
}

TEST(ArchJson, TagsDecideOverThePattern) {
  const auto spec = decode_arch(*json::parse(edited(
      kForeign,
      {{"layer_types", R"(["SlidingAttention","SlidingAttention","FullAttention","FullAttention"])"}})));
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->is_local(0));
  EXPECT_TRUE(spec->is_local(1));
  EXPECT_FALSE(spec->is_local(2));
  EXPECT_FALSE(spec->is_local(3));
}

TEST(ArchJson, RefusesEachFaultForItsOwnReason) {
  struct Refusal {
    const char* key;
    const char* value;
    Fault fault;
    const char* code;
  };
  const Refusal kRefusals[] = {
      {"arch_name", "", Fault::kCorrupt, "Missing"},
      {"arch_name", "null", Fault::kCorrupt, "Missing"},
      {"hidden_size", "", Fault::kCorrupt, "Missing"},
      {"intermediate_size", "", Fault::kCorrupt, "Missing"},
      {"num_layers", "", Fault::kCorrupt, "Missing"},
      {"num_attention_heads", "", Fault::kCorrupt, "Missing"},
      {"num_kv_heads", "", Fault::kCorrupt, "Missing"},
      {"head_dim", "", Fault::kCorrupt, "Missing"},
      {"vocab_size", "", Fault::kCorrupt, "Missing"},
      {"layer_types", "", Fault::kCorrupt, "Missing"},
      {"rms_norm_eps", "", Fault::kCorrupt, "Missing"},
      {"max_position_embeddings", "", Fault::kCorrupt, "Missing"},
      {"hidden_size", "64.0", Fault::kCorrupt, "Parse"},
      {"hidden_size", "4294967296", Fault::kCorrupt, "Parse"},
      {"hidden_size", "\"64\"", Fault::kCorrupt, "Parse"},
      {"layer_types", R"(["FullAttention"])", Fault::kCorrupt, "Parse"},
      {"layer_types", R"(["FullAttention","Full","FullAttention","FullAttention"])", Fault::kCorrupt,
       "Parse"},
      {"layer_types", R"([1,2,3,4])", Fault::kCorrupt, "Parse"},
      {"norm_style", R"("llama")", Fault::kCorrupt, "Parse"},
      {"hidden_act", R"("situ")", Fault::kUnsupported, ""},
      {"sliding_window_pattern", "0", Fault::kCorrupt, "Parse"},
      {"yarn", R"({"factor":2})", Fault::kCorrupt, "Missing"},
      {"yarn", "[]", Fault::kCorrupt, "Parse"},
      {"rope_freq_factors", "[1,0]", Fault::kCorrupt, "Parse"},
      {"rope_freq_factors", "[1,1e39]", Fault::kCorrupt, "Parse"},
      {"attention_heads_per_layer", "[4]", Fault::kCorrupt, "Parse"},
      {"num_loops", "0", Fault::kCorrupt, "Parse"},
      {"moe", R"({"num_experts":8,"top_k":2})", Fault::kCorrupt, "Missing"},
      {"moe", R"({"num_experts":8,"top_k":-2,"moe_intermediate_size":32})", Fault::kCorrupt, "Parse"},
      {"mla", R"({"kv_lora_rank":8})", Fault::kCorrupt, "Missing"},
      {"mtp", R"({"num_layers":true})", Fault::kCorrupt, "Parse"},
      {"linear_core", R"({"kind":"mamba","num_heads":1,"value_head_dim":1})", Fault::kCorrupt, "Parse"},
      {"linear_conv_kernel_dim", "4.5", Fault::kCorrupt, "Parse"},
      {"loop_final_norm", "1", Fault::kCorrupt, "Parse"},
  };
  for (const Refusal& refusal : kRefusals) {
    const auto spec = decode_arch(*json::parse(edited(kForeign, {{refusal.key, refusal.value}})));
    ASSERT_FALSE(spec) << refusal.key << " = " << refusal.value;
    EXPECT_EQ(spec.error().fault, refusal.fault) << refusal.key << ": " << spec.error().message;
    EXPECT_EQ(spec.error().code, refusal.code) << refusal.key << ": " << spec.error().message;
    EXPECT_TRUE(spec.error().place.starts_with(std::string("$.arch.") + refusal.key)) << spec.error().place;
  }
  EXPECT_FALSE(decode_arch(*json::parse("[]")));
}

}  // namespace
}  // namespace amphora::package
