// Tests of what config.json of families with operators of their own may not say: each fault for its own
// reason.
#include <gtest/gtest.h>

#include "package/hf_config.h"
#include "package/testing/config.h"

namespace amphora::package {
namespace {

using testing::edited;
using testing::read_text;
using testing::test_data;
using Edits = std::vector<std::pair<std::string, std::string>>;

std::string tiny_config(std::string_view name) {
  return read_text(test_data("hf/tiny") / name / "config.json");
}

struct OperatorRefusal {
  const char* name;
  const char* base;
  Edits edits;
  Fault fault;
  const char* place;
  const char* words;  ///< in the message
};

void expect_refusals(std::span<const OperatorRefusal> refusals) {
  for (const OperatorRefusal& refusal : refusals) {
    const auto config = decode_hf_config(edited(tiny_config(refusal.base), refusal.edits));
    ASSERT_FALSE(config) << refusal.name;
    EXPECT_EQ(config.error().fault, refusal.fault) << refusal.name << ": " << config.error().message;
    EXPECT_EQ(config.error().place, refusal.place) << refusal.name << ": " << config.error().message;
    EXPECT_NE(config.error().message.find(refusal.words), std::string::npos)
        << refusal.name << ": " << config.error().message;
  }
}

TEST(HfOperators, RefusesFaultsOfExperts) {
  const OperatorRefusal kRefusals[] = {
      {"no experts",
       "qwen2_moe",
       {{"num_experts", "0"}},
       Fault::kCorrupt,
       "$.num_experts",
       "0 is not possible"},
      {"experts beyond the limit",
       "qwen2_moe",
       {{"num_experts", "65537"}},
       Fault::kRefused,
       "$.num_experts",
       "more than the limit of 65536"},
      {"experts negative",
       "mixtral",
       {{"num_local_experts", "-4"}},
       Fault::kCorrupt,
       "$.num_local_experts",
       "not an integer"},
      {"two counts",
       "qwen3_moe",
       {{"num_experts", "7"}},
       Fault::kCorrupt,
       "$.num_local_experts",
       "6 here and 7 as num_experts"},
      {"more chosen than there are",
       "qwen2_moe",
       {{"num_experts_per_tok", "5"}},
       Fault::kCorrupt,
       "$.num_experts_per_tok",
       "5 of 4 experts"},
      {"none chosen",
       "mixtral",
       {{"num_experts_per_tok", "0"}},
       Fault::kCorrupt,
       "$.num_experts_per_tok",
       "0"},
      {"experts without neurons",
       "qwen3_moe",
       {{"moe_intermediate_size", "0"}},
       Fault::kCorrupt,
       "$.moe_intermediate_size",
       "0"},
      {"shared expert beyond the limit",
       "qwen2_moe",
       {{"shared_expert_intermediate_size", "16777217"}},
       Fault::kRefused,
       "$.shared_expert_intermediate_size",
       "limit"},
      {"norm a number",
       "qwen2_moe",
       {{"norm_topk_prob", "1"}},
       Fault::kCorrupt,
       "$.norm_topk_prob",
       "number"},
  };
  expect_refusals(kRefusals);
}

TEST(HfOperators, RefusesFaultsOfDeltaNets) {
  const OperatorRefusal kRefusals[] = {
      {"key heads do not divide",
       "qwen3_next",
       {{"linear_num_key_heads", "3"}},
       Fault::kCorrupt,
       "$.linear_num_value_heads",
       "3 key heads do not divide 4"},
      {"no key heads",
       "qwen3_5",
       {{"linear_num_key_heads", "0"}},
       Fault::kCorrupt,
       "$.linear_num_key_heads",
       "0"},
      {"value heads beyond the limit",
       "qwen3_5",
       {{"linear_num_value_heads", "16385"}},
       Fault::kRefused,
       "$.linear_num_value_heads",
       "limit"},
      {"a head of nothing",
       "qwen3_5_moe",
       {{"linear_value_head_dim", "0"}},
       Fault::kCorrupt,
       "$.linear_value_head_dim",
       "0"},
      {"taps a string",
       "qwen3_next",
       {{"linear_conv_kernel_dim", R"("4")"}},
       Fault::kCorrupt,
       "$.linear_conv_kernel_dim",
       "string"},
      {"interval 0",
       "qwen3_next",
       {{"layer_types", ""}, {"full_attention_interval", "0"}},
       Fault::kCorrupt,
       "$.full_attention_interval",
       "no pattern"},
      {"sliding layers",
       "qwen3_next",
       {{"layer_types", R"(["linear_attention","sliding_attention","linear_attention","full_attention"])"}},
       Fault::kUnsupported,
       "$.layer_types",
       "'sliding_attention'"},
      {"too few layer types",
       "qwen3_5",
       {{"layer_types", R"(["linear_attention"])"}},
       Fault::kCorrupt,
       "$.layer_types",
       "1 elements for 4 layers"},
      {"an inner model that is not there",
       "qwen3_5_mtp",
       {{"text_config", "null"}},
       Fault::kCorrupt,
       "$.text_config",
       "Qwen3_5ForConditionalGeneration without a text_config"},
  };
  expect_refusals(kRefusals);
}

TEST(HfOperators, RefusesFaultsOfLatentAttentionAndItsRouters) {
  const OperatorRefusal kRefusals[] = {
      {"odd rope",
       "deepseek_v3_mtp",
       {{"qk_rope_head_dim", "15"}},
       Fault::kCorrupt,
       "$.qk_rope_head_dim",
       "15 is odd"},
      {"no latent", "deepseek_v3_mtp", {{"kv_lora_rank", "0"}}, Fault::kCorrupt, "$.kv_lora_rank", "0"},
      {"query rank 0", "deepseek_v3_mtp", {{"q_lora_rank", "0"}}, Fault::kCorrupt, "$.q_lora_rank", "0"},
      {"values beyond the limit",
       "deepseek_v3_mtp",
       {{"v_head_dim", "16385"}},
       Fault::kRefused,
       "$.v_head_dim",
       "limit"},
      {"groups that do not divide",
       "deepseek_v3_mtp",
       {{"n_group", "3"}},
       Fault::kCorrupt,
       "$.n_group",
       "4 experts do not make 3 groups"},
      {"groups of one",
       "deepseek_v3_mtp",
       {{"n_group", "4"}},
       Fault::kCorrupt,
       "$.n_group",
       "4 experts do not make 4 groups of at least two"},
      {"more groups than there are",
       "deepseek_v3_mtp",
       {{"topk_group", "3"}},
       Fault::kCorrupt,
       "$.topk_group",
       "3 of 2 groups"},
      {"groups that hold too few",
       "deepseek_v3_mtp",
       {{"num_experts_per_tok", "3"}},
       Fault::kCorrupt,
       "$.topk_group",
       "3 experts are chosen, but 1 groups hold only 2"},
      {"another score",
       "deepseek_v3_mtp",
       {{"scoring_func", R"("softmax")"}},
       Fault::kUnsupported,
       "$.scoring_func",
       "'softmax' is not supported (supported: sigmoid)"},
      {"DeepSeek-V2's groups",
       "deepseek_v3_mtp",
       {{"architectures", R"(["DeepseekV2ForCausalLM"])"},
        {"norm_topk_prob", "false"},
        {"topk_method", R"("group_limited_greedy")"}},
       Fault::kUnsupported,
       "$.topk_method",
       "'group_limited_greedy'"},
      {"DeepSeek-V2 that norms",
       "deepseek_v3_mtp",
       {{"architectures", R"(["DeepseekV2ForCausalLM"])"}},
       Fault::kUnsupported,
       "$.norm_topk_prob",
       "disagree"},
      {"DeepSeek-V2 that does not say how many",
       "deepseek_v3_mtp",
       {{"architectures", R"(["DeepseekV2ForCausalLM"])"},
        {"norm_topk_prob", "false"},
        {"num_experts_per_tok", ""}},
       Fault::kCorrupt,
       "$.num_experts_per_tok",
       "missing"},
      {"scaling 0",
       "glm4_moe_mtp",
       {{"routed_scaling_factor", "0"}},
       Fault::kCorrupt,
       "$.routed_scaling_factor",
       "above 0"},
      {"shared experts beyond the limit",
       "glm4_moe_mtp",
       {{"n_shared_experts", "600000"}},
       Fault::kRefused,
       "$.n_shared_experts",
       "600000 of 32 neurons"},
  };
  expect_refusals(kRefusals);
}

TEST(HfOperators, RefusesFaultsOfGraniteAndSmolLm) {
  const std::string granite = R"(["GraniteForCausalLM"])", smol = R"(["SmolLM3ForCausalLM"])";
  const OperatorRefusal kRefusals[] = {
      {"attention multiplied by 0",
       "llama",
       {{"architectures", granite}, {"attention_multiplier", "0"}},
       Fault::kCorrupt,
       "$.attention_multiplier",
       "above 0"},
      {"logits divided by 0",
       "llama",
       {{"architectures", granite}, {"logits_scaling", "0"}},
       Fault::kCorrupt,
       "$.logits_scaling",
       "above 0"},
      {"branches multiplied by a string",
       "llama",
       {{"architectures", granite}, {"residual_multiplier", R"("0.22")"}},
       Fault::kCorrupt,
       "$.residual_multiplier",
       "string"},
      {"a layer without rope",
       "llama",
       {{"architectures", smol}, {"no_rope_layers", "[1,0,1]"}},
       Fault::kUnsupported,
       "$.no_rope_layers",
       "layer 1 has no rope"},
      {"too few of them",
       "llama",
       {{"architectures", smol}, {"no_rope_layers", "[1,1]"}},
       Fault::kCorrupt,
       "$.no_rope_layers",
       "has 2 elements for 3 layers"},
      {"every fourth layer, by silence",
       "llama",
       {{"architectures", smol}, {"num_hidden_layers", "4"}},
       Fault::kUnsupported,
       "$.no_rope_layer_interval",
       "every layer number 4 has no rope"},
      {"an interval of 0",
       "llama",
       {{"architectures", smol}, {"no_rope_layer_interval", "0"}},
       Fault::kCorrupt,
       "$.no_rope_layer_interval",
       "0 is no interval"},
  };
  expect_refusals(kRefusals);
}

TEST(HfOperators, Fp8WithScaledBlocksIsNoRefusal) {  // F6
  const auto blocks = [](const char* block) {
    return decode_hf_config(edited(tiny_config("qwen3_moe"), {{"quantization_config", block}}));
  };
  const auto published = blocks(R"({"activation_scheme":"dynamic","fmt":"e4m3","quant_method":"fp8",)"
                                R"("weight_block_size":[128,64]})");
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_EQ(published->fp8->rows, 128u);
  EXPECT_EQ(published->fp8->columns, 64u);
  EXPECT_EQ(blocks(R"({"quant_method":"fp8"})")->fp8->rows, 128u);
  EXPECT_FALSE(decode_hf_config(tiny_config("qwen3_moe"))->fp8);
  const OperatorRefusal kRefusals[] = {
      {"a scale for each matrix",
       "qwen3_moe",
       {{"quantization_config", R"({"quant_method":"fp8","weight_block_size":null})"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "already quantised by fp8 without scales for blocks"},
      {"scaled activations",
       "qwen3_moe",
       {{"quantization_config", R"({"quant_method":"fp8","activation_scheme":"static"})"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "already quantised by fp8"},
      {"blocks of nothing",
       "qwen3_moe",
       {{"quantization_config", R"({"quant_method":"fp8","weight_block_size":[128,0]})"}},
       Fault::kCorrupt,
       "$.quantization_config.weight_block_size",
       "two numbers above 0"},
      {"blocks of one dimension",
       "qwen3_moe",
       {{"quantization_config", R"({"quant_method":"fp8","weight_block_size":[128]})"}},
       Fault::kCorrupt,
       "$.quantization_config.weight_block_size",
       "two numbers above 0"},
      {"no object",
       "qwen3_moe",
       {{"quantization_config", "7"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "an unnamed method"},
  };
  expect_refusals(kRefusals);
}

}  // namespace
}  // namespace amphora::package
