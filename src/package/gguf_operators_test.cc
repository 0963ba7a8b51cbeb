// Experts, latent attention, gated DeltaNet, windows and LongRoPE from metadata; each contradiction refused.
#include "package/gguf_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "package/gguf_testing.h"

namespace amphora::package {
namespace {

using gguf::testing::GgufBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::open_gguf;
using testing::small_gguf;

constexpr auto kFull = LayerType::kFullAttention;
constexpr auto kSliding = LayerType::kSlidingAttention;
constexpr auto kLinear = LayerType::kLinearAttention;

Result<GgufModel> decode(const GgufBuilder& builder) {
  const std::string file = builder.file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  EXPECT_TRUE(directory) << directory.error().message;
  return decode_gguf_spec(*directory);
}

ModelSpec spec_of(const GgufBuilder& builder) {
  auto model = decode(builder);
  EXPECT_TRUE(model) << model.error().message;
  return model ? model->spec : ModelSpec{};
}

void add_flags(GgufBuilder& builder, std::string_view key, const std::vector<uint8_t>& flags) {
  ByteWriter payload;
  payload.write(static_cast<uint32_t>(gguf::ValueType::kBool));
  payload.write(uint64_t{flags.size()});
  for (const uint8_t flag : flags) payload.write(flag);
  builder.add_raw(key, gguf::ValueType::kArray, payload.bytes());
}

TEST(GgufOperators, TakeWidthsFromTensorsWhereFilesAreSilent) {
  GgufBuilder builder = small_gguf("qwen2moe");
  builder.erase("qwen2moe.expert_feed_forward_length").erase("qwen2moe.expert_shared_feed_forward_length");
  builder.erase("qwen2moe.feed_forward_length");
  const ModelSpec spec = spec_of(builder);
  EXPECT_EQ(spec.moe->moe_intermediate_size, 5u);
  EXPECT_EQ(spec.moe->shared_expert_intermediate_size, 5u);
  EXPECT_EQ(spec.intermediate_size, 5u);

  const auto without_stacks = [] {
    GgufBuilder other = small_gguf("qwen3moe", {"blk.0.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight"});
    other.erase("qwen3moe.expert_feed_forward_length");
    return other;
  };
  GgufBuilder joint = without_stacks();
  joint.add_f32_tensor("blk.1.ffn_gate_up_exps.weight", {8, 10, 3}, std::vector<float>(240));
  EXPECT_EQ(spec_of(joint).moe->moe_intermediate_size, 5u);
  GgufBuilder single = without_stacks();
  single.add_f32_tensor("blk.1.ffn_up.0.weight", {8, 5}, std::vector<float>(40));
  EXPECT_EQ(spec_of(single).moe->moe_intermediate_size, 5u);
}

TEST(GgufOperators, KnowsHowEachFamilyRoutes) {
  const auto moe_of = [](std::string_view name) { return *spec_of(small_gguf(name)).moe; };
  EXPECT_FALSE(moe_of("qwen2moe").norm_topk_prob);
  EXPECT_TRUE(moe_of("qwen3moe").norm_topk_prob);
  EXPECT_TRUE(moe_of("qwen35moe").norm_topk_prob);
  EXPECT_FALSE(moe_of("glm4moe").norm_topk_prob);
  EXPECT_TRUE(moe_of("glm4moe").router_sigmoid);
  EXPECT_TRUE(spec_of(small_gguf("glm4moe", {"blk.1.exp_probs_b.bias"})).moe->router_sigmoid);
  EXPECT_FALSE(moe_of("qwen3next").router_sigmoid);
  // no key in the file, but a bias of the choice, which only sigmoid routers have
  EXPECT_TRUE(moe_of("deepseek2").router_sigmoid);
  const ModelSpec older = spec_of(small_gguf("deepseek2", {"blk.1.exp_probs_b.bias"}));
  EXPECT_FALSE(older.moe->router_sigmoid);
  EXPECT_EQ(older.arch_name, "deepseek_v2");
  EXPECT_EQ(spec_of(small_gguf("deepseek2")).arch_name, "deepseek_v3");
}

TEST(GgufOperators, LetFilesSayHowToRoute) {
  GgufBuilder builder = small_gguf("deepseek2");
  builder.add_u32("deepseek2.expert_gating_func", 1).add_bool("deepseek2.expert_weights_norm", true);
  builder.add_f32("deepseek2.expert_weights_scale", 2.5f).add_u32("deepseek2.expert_group_count", 1);
  const MoeSpec moe = *spec_of(builder).moe;
  EXPECT_FALSE(moe.router_sigmoid);
  EXPECT_TRUE(moe.norm_topk_prob);
  EXPECT_EQ(moe.routed_scaling_factor, 2.5);
  EXPECT_EQ(moe.n_group, std::nullopt);

  GgufBuilder unscaled = small_gguf("deepseek2");
  unscaled.add_f32("deepseek2.expert_weights_scale", 0);  // as llama.cpp writes "none"
  EXPECT_EQ(spec_of(unscaled).moe->routed_scaling_factor, 1);

  GgufBuilder grouped = small_gguf("glm4moe");
  grouped.add_u32("glm4moe.expert_group_count", 3).add_u32("glm4moe.expert_group_used_count", 2);
  EXPECT_EQ(spec_of(grouped).moe->n_group, 3u);
  EXPECT_EQ(spec_of(grouped).moe->topk_group, 2u);
}

TEST(GgufOperators, ReadLatentAttentionOfOlderFiles) {
  GgufBuilder builder = small_gguf("deepseek2");
  for (const char* key : {"key_length", "value_length", "key_length_mla", "value_length_mla"})
    builder.erase(std::string("deepseek2.attention.") + key);
  builder.add_u32("deepseek2.attention.key_length", 6).add_u32("deepseek2.attention.value_length", 3);
  const MlaSpec mla = *spec_of(builder).mla;
  EXPECT_EQ(mla.qk_rope_head_dim, 4u);
  EXPECT_EQ(mla.qk_nope_head_dim, 2u);
  EXPECT_EQ(mla.v_head_dim, 3u);
  EXPECT_EQ(mla.q_lora_rank, 5u);

  GgufBuilder direct = small_gguf("deepseek2", {"blk.0.attn_q_a.weight"});
  direct.add_f32_tensor("blk.0.attn_q.weight", {8, 12}, std::vector<float>(96));
  EXPECT_EQ(spec_of(direct).mla->q_lora_rank, std::nullopt);
}

TEST(GgufOperators, ReadYarnOfLatentAttention) {
  GgufBuilder builder = small_gguf("deepseek2");
  builder.add_string("deepseek2.rope.scaling.type", "yarn").add_f32("deepseek2.rope.scaling.factor", 40);
  builder.add_u32("deepseek2.rope.scaling.original_context_length", 16);
  EXPECT_DOUBLE_EQ(spec_of(builder).yarn->attention_factor, 1.3688879454113936);  // 1 + 0.1 ln 40
  EXPECT_EQ(spec_of(builder).yarn->mscale_all_dim, std::nullopt);
  builder.add_f32("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f);  // DeepSeek-V2: 0.1 · 0.707
  EXPECT_EQ(spec_of(builder).yarn->attention_factor, 1);
  EXPECT_NEAR(*spec_of(builder).yarn->mscale_all_dim, 0.707, 0x1p-24);

  GgufBuilder plain = small_gguf("qwen3");
  plain.add_string("qwen3.rope.scaling.type", "yarn").add_f32("qwen3.rope.scaling.factor", 40);
  plain.add_f32("qwen3.rope.scaling.yarn_log_multiplier", 1);  // mscale_all_dim itself, mscale is 1
  EXPECT_EQ(spec_of(plain).yarn->attention_factor, 1);
  EXPECT_EQ(spec_of(plain).yarn->mscale_all_dim, std::nullopt);
}

TEST(GgufOperators, ReadWhichLayersAreRecurrent) {
  GgufBuilder builder = small_gguf("qwen35");
  EXPECT_THAT(spec_of(builder).layer_types, ElementsAre(kLinear, kFull));
  EXPECT_EQ(spec_of(builder).linear_core->num_heads, 4u);
  EXPECT_EQ(spec_of(builder).linear_value_head_dim, 3u);
  add_flags(builder, "qwen35.attention.recurrent_layers", {0, 1});
  EXPECT_THAT(spec_of(builder).layer_types, ElementsAre(kFull, kLinear));

  GgufBuilder predictor = small_gguf("qwen35");  // the list counts its block too
  predictor.erase("qwen35.block_count").add_u32("qwen35.block_count", 3);
  predictor.add_u32("qwen35.nextn_predict_layers", 1);
  add_flags(predictor, "qwen35.attention.recurrent_layers", {0, 1, 0});
  EXPECT_THAT(spec_of(predictor).layer_types, ElementsAre(kFull, kLinear));
}

TEST(GgufOperators, ReadWindows) {
  GgufBuilder llama = small_gguf("llama");
  llama.add_u32("llama.attention.sliding_window", 16);
  EXPECT_THAT(spec_of(llama).layer_types, ElementsAre(kSliding, kSliding));
  EXPECT_EQ(spec_of(llama).sliding_window, 16u);
  add_flags(llama, "llama.attention.sliding_window_pattern", {0, 1});
  EXPECT_THAT(spec_of(llama).layer_types, ElementsAre(kFull, kSliding));

  GgufBuilder none = small_gguf("phi3");
  none.add_u32("phi3.attention.sliding_window", 0);
  EXPECT_THAT(spec_of(none).layer_types, Each(kFull));
  EXPECT_EQ(spec_of(none).sliding_window, std::nullopt);

  GgufBuilder olmo = small_gguf("olmo2");
  EXPECT_EQ(spec_of(olmo).rope_local_base_freq, std::nullopt);
  olmo.add_u32("olmo2.attention.sliding_window", 16);
  add_flags(olmo, "olmo2.attention.sliding_window_pattern", {1, 0});
  olmo.add_string("olmo2.rope.scaling.type", "yarn").add_f32("olmo2.rope.scaling.factor", 8);
  EXPECT_THAT(spec_of(olmo).layer_types, ElementsAre(kSliding, kFull));
  EXPECT_EQ(spec_of(olmo).rope_local_base_freq, 500000);  // the global base, but without yarn
}

TEST(GgufOperators, KnowsWhatGemma2FilesDoNotSay) {
  GgufBuilder builder = small_gguf("gemma2");
  builder.erase("gemma2.attention.sliding_window");
  const ModelSpec spec = spec_of(builder);
  EXPECT_EQ(spec.sliding_window, 4096u);
  EXPECT_THAT(spec.layer_types, ElementsAre(kSliding, kFull));
  EXPECT_EQ(spec.attn_logit_softcapping, 50);
  EXPECT_EQ(spec.final_logit_softcapping, 30);
  EXPECT_EQ(spec.query_pre_attn_scalar, 4);
  EXPECT_EQ(spec.embed_multiplier, std::sqrt(8.0));
  EXPECT_EQ(spec.hidden_act, Activation::kGeluTanh);
  builder.erase("gemma2.block_count").add_u32("gemma2.block_count", 46);
  builder.erase("gemma2.attention.head_count").add_u32("gemma2.attention.head_count", 4);
  EXPECT_EQ(spec_of(builder).query_pre_attn_scalar, 2);  // the 27B: 8 / 4, though the head has 4
  builder.add_f32("gemma2.attention.scale", 0.25f);
  EXPECT_EQ(spec_of(builder).query_pre_attn_scalar, 16);
  builder.add_f32("gemma2.attn_logit_softcapping", 0).add_f32("gemma2.final_logit_softcapping", 0);
  EXPECT_EQ(spec_of(builder).attn_logit_softcapping, std::nullopt);  // 0 switches a cap off
  EXPECT_EQ(spec_of(builder).final_logit_softcapping, std::nullopt);
}

TEST(GgufOperators, ReadScalesOfGranite) {
  GgufBuilder builder = small_gguf("granite");
  builder.add_f32("granite.attention.scale", 0.125f).add_f32("granite.embedding_scale", 12);
  builder.add_f32("granite.residual_scale", 0.25f).add_f32("granite.logit_scale", 8);
  const auto model = decode(builder);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec.query_pre_attn_scalar, 64);
  EXPECT_EQ(model->spec.embed_multiplier, 12);
  EXPECT_EQ(model->spec.logit_multiplier, 0.125);
  EXPECT_EQ(model->residual_scale, 0.25f);

  GgufBuilder none = small_gguf("granite");  // as llama.cpp takes them: 0 is none
  for (const char* key : {"attention.scale", "embedding_scale", "residual_scale", "logit_scale"})
    none.add_f32(std::string("granite.") + key, 0);
  EXPECT_EQ(spec_of(none).query_pre_attn_scalar, std::nullopt);
  EXPECT_EQ(spec_of(none).embed_multiplier, 1);
  EXPECT_EQ(spec_of(none).logit_multiplier, 1);
  EXPECT_EQ(decode(none)->residual_scale, 1);
}

TEST(GgufOperators, ReadLongRope) {
  GgufBuilder builder = small_gguf("phi3");
  builder.add_f32_tensor("rope_factors_long.weight", {2}, {2, 4});
  builder.add_f32_tensor("rope_factors_short.weight", {2}, {1, 1.5f});
  builder.add_u32("phi3.rope.scaling.original_context_length", 32)
      .add_f32("phi3.rope.scaling.attn_factor", 1.25f);
  const ModelSpec spec = spec_of(builder);
  ASSERT_TRUE(spec.longrope);
  EXPECT_THAT(spec.longrope->long_factors, ElementsAre(2, 4));
  EXPECT_THAT(spec.longrope->short_factors, ElementsAre(1, 1.5f));
  EXPECT_EQ(spec.longrope->original_max_position_embeddings, 32u);
  EXPECT_EQ(spec.longrope->attention_factor, 1.25);
}

struct OperatorDamage {
  const char* architecture;
  const char* place;
  std::function<void(GgufBuilder&)> change;
  Fault fault;
  const char* message;
};

std::function<void(GgufBuilder&)> set(const char* key, uint32_t value) {
  return [=](GgufBuilder& builder) { builder.erase(key).add_u32(key, value); };
}
std::function<void(GgufBuilder&)> set_float(const char* key, float value) {
  return [=](GgufBuilder& builder) { builder.erase(key).add_f32(key, value); };
}
std::function<void(GgufBuilder&)> erase(const char* key) {
  return [=](GgufBuilder& builder) { builder.erase(key); };
}

TEST(GgufOperators, RefuseEachContradictionByItsKey) {
  const OperatorDamage kDamages[] = {
      {"qwen2", "qwen2.expert_count", set("qwen2.expert_count", 8), Fault::kUnsupported,
       "qwen2.expert_count: 8 experts: mixtures are not supported for qwen2"},
      {"llama", "llama.expert_count",
       [](GgufBuilder& b) { b.add_u32("llama.expert_count", 8).add_u32("llama.expert_used_count", 2); },
       Fault::kCorrupt, "llama.expert_count: 8 experts, but no layer has a tensor ffn_up_exps.weight"},
      {"qwen3moe", "qwen3moe.expert_count", erase("qwen3moe.expert_count"), Fault::kCorrupt,
       "there is no metadata key qwen3moe.expert_count"},
      {"qwen3moe", "qwen3moe.expert_count", set("qwen3moe.expert_count", 0), Fault::kCorrupt,
       "qwen3moe.expert_count: 0 is not possible"},
      {"qwen3moe", "qwen3moe.expert_count", set("qwen3moe.expert_count", 16385), Fault::kRefused,
       "qwen3moe.expert_count: 16385 is more than the limit of 16384"},
      {"qwen3moe", "qwen3moe.expert_used_count", set("qwen3moe.expert_used_count", 0), Fault::kCorrupt,
       "qwen3moe.expert_used_count: none of 3 experts"},
      {"qwen3moe", "qwen3moe.expert_used_count", set("qwen3moe.expert_used_count", 4), Fault::kCorrupt,
       "qwen3moe.expert_used_count: 4 is more than the 3 experts there are"},
      {"qwen3moe", "qwen3moe.expert_feed_forward_length", set("qwen3moe.expert_feed_forward_length", 0),
       Fault::kCorrupt, "qwen3moe.expert_feed_forward_length: 0 is not possible"},
      {"qwen3moe", "qwen3moe.expert_gating_func", set("qwen3moe.expert_gating_func", 4), Fault::kUnsupported,
       "qwen3moe.expert_gating_func: the function 4 is not supported, only 1 (softmax) and 2 (sigmoid)"},
      {"glm4moe", "glm4moe.expert_weights_scale", set_float("glm4moe.expert_weights_scale", -1),
       Fault::kCorrupt, "glm4moe.expert_weights_scale: -1 is negative"},
      {"glm4moe", "glm4moe.expert_group_count", set("glm4moe.expert_group_count", 2), Fault::kCorrupt,
       "glm4moe.expert_group_count: 2 does not divide 3 experts"},
      {"glm4moe", "glm4moe.expert_group_used_count",
       [](GgufBuilder& b) {
         b.add_u32("glm4moe.expert_group_count", 3).add_u32("glm4moe.expert_group_used_count", 4);
       },
       Fault::kCorrupt, "glm4moe.expert_group_used_count: 4 of 3 groups"},
      {"glm4moe", "glm4moe.expert_group_used_count", set("glm4moe.expert_group_count", 3), Fault::kCorrupt,
       "glm4moe.expert_group_used_count: 0 of 3 groups"},
      {"deepseek2", "deepseek2.expert_group_count",
       [](GgufBuilder& b) {
         b.add_u32("deepseek2.expert_group_count", 3).add_u32("deepseek2.expert_group_used_count", 1);
         b.add_u32("deepseek2.expert_gating_func", 1);
       },
       Fault::kUnsupported,
       "deepseek2.expert_group_count: groups under a softmax router, which are chosen by their best expert "
       "(DeepSeek-V2), are not supported"},
      {"glm4moe", "glm4moe.expert_shared_count", set("glm4moe.expert_shared_count", 1u << 31),
       Fault::kRefused,
       "glm4moe.expert_shared_count: a shared expert of 10737418240 neurons is more than the limit of "
       "16777216"},
      {"glm4moe", "glm4moe.leading_dense_block_count", set("glm4moe.leading_dense_block_count", 3),
       Fault::kCorrupt, "glm4moe.leading_dense_block_count: 3 dense layers of 2"},
      {"glm4moe", "glm4moe.nextn_predict_layers", set("glm4moe.nextn_predict_layers", 2), Fault::kCorrupt,
       "glm4moe.nextn_predict_layers: 2 of 2 blocks"},
      {"qwen35", "qwen35.ssm.time_step_rank", set("qwen35.ssm.time_step_rank", 3), Fault::kCorrupt,
       "qwen35.ssm.time_step_rank: 3 value heads cannot share 2 key heads"},
      {"qwen35", "qwen35.ssm.inner_size", set("qwen35.ssm.inner_size", 13), Fault::kCorrupt,
       "qwen35.ssm.inner_size: 13 is no multiple of 4 value heads"},
      {"qwen35", "qwen35.ssm.group_count", set("qwen35.ssm.group_count", 0), Fault::kCorrupt,
       "qwen35.ssm.group_count: 0 is not possible"},
      {"qwen35", "qwen35.ssm.state_size", erase("qwen35.ssm.state_size"), Fault::kCorrupt,
       "there is no metadata key qwen35.ssm.state_size"},
      {"qwen35", "qwen35.full_attention_interval", set("qwen35.full_attention_interval", 0), Fault::kCorrupt,
       "qwen35.full_attention_interval: 0 is no interval"},
      {"qwen35", "qwen35.attention.recurrent_layers",
       [](GgufBuilder& b) { add_flags(b, "qwen35.attention.recurrent_layers", {1}); }, Fault::kCorrupt,
       "qwen35.attention.recurrent_layers: wanted an array of bool with 2 elements, one for each layer"},
      {"deepseek2", "deepseek2.attention.kv_lora_rank", erase("deepseek2.attention.kv_lora_rank"),
       Fault::kCorrupt, "there is no metadata key deepseek2.attention.kv_lora_rank"},
      {"deepseek2", "deepseek2.attention.key_length_mla", set("deepseek2.attention.key_length_mla", 4),
       Fault::kCorrupt,
       "deepseek2.attention.key_length_mla: 4 leaves nothing beside the 4 dimensions that turn"},
      {"deepseek2", "deepseek2.rope.dimension_count", set("deepseek2.rope.dimension_count", 3),
       Fault::kCorrupt, "deepseek2.rope.dimension_count: 3 is odd"},
      {"deepseek2", "deepseek2.attention.temperature_scale",
       set_float("deepseek2.attention.temperature_scale", 0.1f), Fault::kUnsupported,
       "deepseek2.attention.temperature_scale: 0.10000000149011612 is not supported, only 0 is"},
      {"granite", "granite.rope.scaling.finetuned",
       [](GgufBuilder& b) { b.add_bool("granite.rope.scaling.finetuned", false); }, Fault::kUnsupported,
       "granite.rope.scaling.finetuned: layers that turn no positions are not supported"},
      {"llama", "llama.residual_scale", set_float("llama.residual_scale", 0.5f), Fault::kUnsupported,
       "llama.residual_scale: is not supported for llama"},
      {"llama", "llama.attention.scale", set_float("llama.attention.scale", -1), Fault::kCorrupt,
       "llama.attention.scale: -1 is negative"},
      {"qwen2", "qwen2.attention.sliding_window", set("qwen2.attention.sliding_window", 16),
       Fault::kUnsupported, "qwen2.attention.sliding_window: windows are not supported for qwen2"},
      {"gemma2", "gemma2.attention.sliding_window", set("gemma2.attention.sliding_window", 0),
       Fault::kCorrupt, "gemma2.attention.sliding_window: a window of 0 positions"},
      {"gemma3", "gemma3.attention.sliding_window_pattern", set("gemma3.attention.sliding_window_pattern", 0),
       Fault::kCorrupt, "gemma3.attention.sliding_window_pattern: 0 is no pattern"},
      {"gemma2", "gemma2.rope.scaling", set_float("gemma2.rope.scaling.factor", 8), Fault::kUnsupported,
       "scaled rotary frequencies of layers with a window are not supported"},
      {"phi3", "rope_factors_long.weight",
       [](GgufBuilder& b) { b.add_f32_tensor("rope_factors_short.weight", {2}, {1, 1}); }, Fault::kCorrupt,
       "there is no tensor rope_factors_long.weight"},
      {"phi3", "rope_factors_short.weight",
       [](GgufBuilder& b) { b.add_f32_tensor("rope_factors_long.weight", {2}, {1, 1}); }, Fault::kCorrupt,
       "there is no tensor rope_factors_short.weight"},
      {"llama", "rope_factors_long.weight",
       [](GgufBuilder& b) { b.add_string("llama.rope.scaling.type", "longrope"); }, Fault::kCorrupt,
       "there is no tensor rope_factors_long.weight"},
      {"phi3", "rope_factors_long.weight",
       [](GgufBuilder& b) { b.add_f32_tensor("rope_factors_long.weight", {3}, {1, 1, 1}); }, Fault::kCorrupt,
       "rope_factors_long.weight has 3 elements, wanted 2: half the rotary dimensions"},
      {"phi3", "rope_factors_long.weight",
       [](GgufBuilder& b) {
         b.add_f32_tensor("rope_factors_long.weight", {2}, {1, 1});
         b.add_f32_tensor("rope_factors_short.weight", {2}, {1, 1});
         b.add_f32("phi3.rope.scaling.factor", 2);
       },
       Fault::kUnsupported, "rope_factors_long.weight together with linear scaling is not supported"},
      {"qwen3", "rope_factors_long.weight",
       [](GgufBuilder& b) {
         b.add_f32_tensor("rope_factors_long.weight", {2}, {1, 1});
         b.add_f32_tensor("rope_factors_short.weight", {2}, {1, 1});
         b.add_string("qwen3.rope.scaling.type", "yarn").add_f32("qwen3.rope.scaling.factor", 2);
       },
       Fault::kUnsupported, "rope_factors_long.weight together with rope kind 'yarn' is not supported"},
      {"llama", "rope_factors_long.weight",
       [](GgufBuilder& b) {
         b.add_f32_tensor("rope_factors_long.weight", {2}, {1, 1});
         b.add_f32_tensor("rope_factors_short.weight", {2}, {1, 1});
         b.add_f32_tensor("rope_freqs.weight", {2}, {1, 8});
       },
       Fault::kUnsupported, "rope_factors_long.weight together with rope_freqs.weight is not supported"},
      {"llama", "rope_freqs.weight",
       [](GgufBuilder& b) {
         b.add_f32_tensor("rope_freqs.weight", {2}, {1, 8});
         b.add_string("llama.rope.scaling.type", "yarn").add_f32("llama.rope.scaling.factor", 2);
       },
       Fault::kUnsupported, "rope_freqs.weight together with rope kind 'yarn' is not supported"},
      {"qwen3", "qwen3.rope.scaling.attn_factor", set_float("qwen3.rope.scaling.attn_factor", 1.5f),
       Fault::kUnsupported, "qwen3.rope.scaling.attn_factor: is supported for yarn and longrope only"},
      {"llama", "general.architecture",
       [](GgufBuilder& b) { b.erase("general.architecture").add_string("general.architecture", "smollm3"); },
       Fault::kUnsupported,
       "the architecture smollm3 is not supported: every fourth of its layers turns no positions, which has "
       "no "
       "counterpart here (supported: llama, qwen2, qwen3, gemma2, gemma3, phi3, qwen2moe, qwen3moe, "
       "qwen3next, "
       "qwen35, qwen35moe, deepseek2, glm4moe, granite, granitemoe, olmo2)"},
  };
  for (const OperatorDamage& damage : kDamages) {
    GgufBuilder builder = small_gguf(damage.architecture);
    damage.change(builder);
    const auto model = decode(builder);
    ASSERT_FALSE(model) << damage.message;
    EXPECT_EQ(model.error().message, damage.message);
    EXPECT_EQ(model.error().place, damage.place) << damage.message;
    EXPECT_EQ(model.error().fault, damage.fault) << damage.message;
  }
}

TEST(GgufOperators, RefuseTensorsThatContradictTheMetadata) {
  const OperatorDamage kDamages[] = {
      {"qwen3moe", "blk.0.ffn_gate_inp.weight", set("qwen3moe.expert_count", 4), Fault::kCorrupt,
       "model.gguf: blk.0.ffn_gate_inp.weight has the shape [3, 8], wanted [4, 8]"},
      {"qwen3moe", "blk.0.ffn_gate_exps.weight", set("qwen3moe.expert_feed_forward_length", 4),
       Fault::kCorrupt, "model.gguf: blk.0.ffn_gate_exps.weight has the shape [3, 5, 8], wanted [3, 4, 8]"},
      {"qwen2moe", "blk.0.ffn_gate_shexp.weight", set("qwen2moe.expert_shared_feed_forward_length", 4),
       Fault::kCorrupt, "model.gguf: blk.0.ffn_gate_shexp.weight has the shape [5, 8], wanted [4, 8]"},
      {"qwen3next", "blk.0.attn_qkv.weight", set("qwen3next.ssm.state_size", 3), Fault::kCorrupt,
       "model.gguf: blk.0.attn_qkv.weight has the shape [20, 8], wanted [24, 8]"},
      {"qwen35", "blk.0.ssm_conv1d.weight", set("qwen35.ssm.conv_kernel", 4), Fault::kCorrupt,
       "model.gguf: blk.0.ssm_conv1d.weight has the shape [20, 3], wanted [20, 4]"},
      {"glm4moe", "blk.0.ffn_gate.weight", set("glm4moe.leading_dense_block_count", 0), Fault::kUnsupported,
       "model.gguf: 3 tensors have no place in the architecture glm4moe: blk.0.ffn_gate.weight, "
       "blk.0.ffn_up.weight, blk.0.ffn_down.weight"},
      {"deepseek2", "blk.0.attn_q_b.weight", set("deepseek2.attention.key_length_mla", 7), Fault::kCorrupt,
       "model.gguf: blk.0.attn_q_b.weight has the shape [12, 5], wanted [14, 5]"},
      {"phi3", "blk.0.attn_qkv.weight", set("phi3.attention.head_count_kv", 2), Fault::kCorrupt,
       "model.gguf: blk.0.attn_qkv.weight has the shape [16, 8], wanted [24, 8]"},
  };
  for (const OperatorDamage& damage : kDamages) {
    GgufBuilder builder = small_gguf(damage.architecture);
    damage.change(builder);
    const auto package = open_gguf(builder);
    ASSERT_FALSE(package) << damage.message;
    EXPECT_EQ(package.error().message, damage.message);
    EXPECT_EQ(package.error().place, damage.place) << damage.message;
    EXPECT_EQ(package.error().fault, damage.fault) << damage.message;
  }
}

TEST(GgufOperators, RefuseStacksOfOtherManyExperts) {
  GgufBuilder builder = small_gguf("qwen3moe", {"blk.1.ffn_up_exps.weight"});
  builder.add_f32_tensor("blk.1.ffn_up_exps.weight", {8, 5, 4}, std::vector<float>(160));
  EXPECT_EQ(open_gguf(builder).error().message,
            "model.gguf: blk.1.ffn_up_exps.weight has the shape [4, 5, 8], wanted [3, 5, 8]");
}

TEST(GgufOperators, RefuseMissingExpertsByName) {
  for (const char* name :
       {"blk.1.ffn_gate_inp.weight", "blk.1.ffn_down_exps.weight", "blk.0.ffn_up_shexp.weight"}) {
    const auto package = open_gguf(small_gguf("qwen2moe", {name}));
    ASSERT_FALSE(package) << name;
    EXPECT_EQ(package.error().code, "Missing") << name;
    EXPECT_EQ(package.error().place, name);
  }
}

}  // namespace
}  // namespace amphora::package
