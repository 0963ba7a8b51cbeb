// GGUF metadata to a ModelSpec: what the architectures mean, and each impossible value refused by its key.
#include "package/gguf_spec.h"

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
using testing::small_gguf;

constexpr auto kFull = LayerType::kFullAttention;
constexpr auto kSliding = LayerType::kSlidingAttention;

Result<GgufModel> decode(const GgufBuilder& builder) {
  const std::string file = builder.file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  EXPECT_TRUE(directory) << directory.error().message;
  return decode_gguf_spec(*directory);
}

TEST(GgufSpec, ReadsTheDimensionsOfEveryArchitecture) {
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const auto model = decode(small_gguf(name));
    ASSERT_TRUE(model) << name << ": " << model.error().message;
    const ModelSpec& spec = model->spec;
    EXPECT_EQ(spec.arch_name, std::string_view(name) == "gemma3" ? "gemma3_text" : name);
    EXPECT_EQ(spec.hidden_size, 8u);
    EXPECT_EQ(spec.intermediate_size, 12u);
    EXPECT_EQ(spec.num_attention_heads, 2u);
    EXPECT_EQ(spec.num_kv_heads, 1u);
    EXPECT_EQ(spec.head_dim, 4u);
    EXPECT_EQ(spec.vocab_size, 6u);
    EXPECT_EQ(spec.max_position_embeddings, 64u);
    EXPECT_EQ(spec.rms_norm_eps, 0x1p-20);
    EXPECT_EQ(spec.rope_theta, 500000);
    EXPECT_EQ(spec.partial_rotary_factor, 1);
    EXPECT_TRUE(spec.tie_word_embeddings);
    EXPECT_TRUE(spec.rope_freq_factors.empty());
    EXPECT_FALSE(spec.yarn);
    EXPECT_TRUE(model->notes.empty());
  }
  const auto llama = decode(small_gguf("llama"));
  EXPECT_EQ(llama->spec.norm_style, NormStyle::kPlain);
  EXPECT_EQ(llama->spec.hidden_act, Activation::kSilu);
  EXPECT_EQ(llama->spec.embed_multiplier, 1);
  EXPECT_EQ(llama->spec.query_pre_attn_scalar, std::nullopt);
  EXPECT_THAT(llama->spec.layer_types, ElementsAre(kFull, kFull));
}

TEST(GgufSpec, KnowsWhatGemma3FilesDoNotSay) {
  const auto model = decode(small_gguf("gemma3"));
  ASSERT_TRUE(model) << model.error().message;
  const ModelSpec& spec = model->spec;
  EXPECT_EQ(spec.norm_style, NormStyle::kOnePlus);
  EXPECT_EQ(spec.hidden_act, Activation::kGeluTanh);
  EXPECT_EQ(spec.embed_multiplier, std::sqrt(8.0));
  EXPECT_EQ(spec.query_pre_attn_scalar, 4);
  EXPECT_EQ(spec.sliding_window, 16u);
  EXPECT_EQ(spec.rope_local_base_freq, 10000);
  EXPECT_EQ(spec.final_logit_softcapping, std::nullopt);
  EXPECT_THAT(spec.layer_types,
              ElementsAre(kSliding, kSliding, kSliding, kSliding, kSliding, kFull, kSliding));
}

TEST(GgufSpec, LetsGemma3FilesSayOtherwise) {
  GgufBuilder builder = small_gguf("gemma3");
  builder.add_u32("gemma3.attention.sliding_window_pattern", 3).add_f32("gemma3.rope.freq_base_swa", 20000);
  builder.add_f32("gemma3.final_logit_softcapping", 30);
  const auto model = decode(builder);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->spec.layer_types,
              ElementsAre(kSliding, kSliding, kFull, kSliding, kSliding, kFull, kSliding));
  EXPECT_EQ(model->spec.rope_local_base_freq, 20000);
  EXPECT_EQ(model->spec.final_logit_softcapping, 30);
}

TEST(GgufSpec, ReadsRopeScaling) {
  GgufBuilder linear = small_gguf("gemma3");
  linear.add_string("gemma3.rope.scaling.type", "linear").add_f32("gemma3.rope.scaling.factor", 8);
  EXPECT_THAT(decode(linear)->spec.rope_freq_factors, ElementsAre(8, 8));

  GgufBuilder older = small_gguf("llama");
  older.add_f32("llama.rope.scale_linear", 4);
  EXPECT_THAT(decode(older)->spec.rope_freq_factors, ElementsAre(4, 4));

  GgufBuilder yarn = small_gguf("qwen2");
  yarn.add_string("qwen2.rope.scaling.type", "yarn").add_f32("qwen2.rope.scaling.factor", 4);
  yarn.add_u32("qwen2.rope.scaling.original_context_length", 16);
  const auto model = decode(yarn);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec.yarn->factor, 4);
  EXPECT_EQ(model->spec.yarn->original_max_position_embeddings, 16u);
  EXPECT_EQ(model->spec.yarn->beta_fast, 32);
  EXPECT_EQ(model->spec.yarn->beta_slow, 1);
  EXPECT_DOUBLE_EQ(model->spec.yarn->attention_factor, 1.1386294361119891);  // 1 + 0.1 ln 4
  EXPECT_TRUE(model->spec.rope_freq_factors.empty());

  GgufBuilder factors = small_gguf("llama");
  factors.add_f32_tensor("rope_freqs.weight", {2}, {1, 32});
  EXPECT_THAT(decode(factors)->spec.rope_freq_factors, ElementsAre(1, 32));

  GgufBuilder partial = small_gguf("llama");
  partial.add_u32("llama.rope.dimension_count", 2);
  EXPECT_EQ(decode(partial)->spec.partial_rotary_factor, 0.5);
}

TEST(GgufSpec, TakesTheHeadFromTheTensors) {
  GgufBuilder builder = small_gguf("qwen2");
  builder.add_f32_tensor("output.weight", {8, 6}, std::vector<float>(48));
  EXPECT_FALSE(decode(builder)->spec.tie_word_embeddings);
}

TEST(GgufSpec, NamesKeysThatItDoesNotUse) {
  GgufBuilder builder = small_gguf("qwen2");
  builder.add_u32("qwen2.novel.setting", 1);
  EXPECT_THAT(decode(builder)->notes, ElementsAre(HasSubstr("qwen2.novel.setting")));
}

struct SpecDamage {
  const char* key;  ///< that the error must name
  std::function<void(GgufBuilder&)> change;
  Fault fault;
  const char* message;
};

TEST(GgufSpec, RefusesEachImpossibleValueByItsKey) {
  const auto set = [](const char* key, uint32_t value) {
    return [=](GgufBuilder& builder) { builder.erase(key).add_u32(key, value); };
  };
  const auto set_text = [](const char* key, const char* value) {
    return [=](GgufBuilder& builder) { builder.erase(key).add_string(key, value); };
  };
  const auto set_float = [](const char* key, float value) {
    return [=](GgufBuilder& builder) { builder.erase(key).add_f32(key, value); };
  };
  const SpecDamage kDamages[] = {
      {"general.architecture", set_text("general.architecture", "mamba"), Fault::kUnsupported, "mamba"},
      {"general.architecture", [](GgufBuilder& b) { b.erase("general.architecture"); }, Fault::kCorrupt,
       "no metadata key"},
      {"llama.block_count", set("llama.block_count", 0), Fault::kCorrupt, "0 is not possible"},
      {"llama.block_count", set("llama.block_count", 513), Fault::kRefused, "513"},
      {"llama.block_count", set("llama.block_count", 1u << 31), Fault::kRefused, "2147483648"},
      {"llama.block_count", set_float("llama.block_count", 2), Fault::kCorrupt,
       "found float32, wanted an integer"},
      {"llama.block_count", [](GgufBuilder& b) { b.erase("llama.block_count"); }, Fault::kCorrupt,
       "no metadata key"},
      {"llama.embedding_length", set("llama.embedding_length", ~0u), Fault::kRefused, "4294967295"},
      {"llama.feed_forward_length", set("llama.feed_forward_length", 0), Fault::kCorrupt,
       "0 is not possible"},
      {"llama.feed_forward_length",
       [](GgufBuilder& b) {
         b.erase("llama.feed_forward_length").add_i32s("llama.feed_forward_length", {12, 16});
       },
       Fault::kUnsupported, "different sizes"},
      {"llama.attention.head_count", set("llama.attention.head_count", 0), Fault::kCorrupt,
       "0 is not possible"},
      {"llama.attention.head_count",
       [](GgufBuilder& b) {
         b.erase("llama.attention.head_count")
             .erase("llama.attention.key_length")
             .add_u32("llama.attention.head_count", 3);
       },
       Fault::kCorrupt, "3 does not divide the width 8"},
      {"llama.attention.head_count_kv", set("llama.attention.head_count_kv", 4), Fault::kCorrupt,
       "4 does not divide 2"},
      {"llama.attention.key_length", set("llama.attention.key_length", 3), Fault::kCorrupt, "odd"},
      {"llama.attention.value_length", set("llama.attention.value_length", 8), Fault::kUnsupported,
       "differs"},
      {"llama.context_length", set("llama.context_length", 0), Fault::kCorrupt, "0 is not possible"},
      {"llama.attention.layer_norm_rms_epsilon", set_float("llama.attention.layer_norm_rms_epsilon", NAN),
       Fault::kCorrupt, "finite"},
      {"llama.attention.layer_norm_rms_epsilon", set_float("llama.attention.layer_norm_rms_epsilon", -1),
       Fault::kCorrupt, "negative"},
      {"llama.expert_used_count", set("llama.expert_used_count", 2), Fault::kCorrupt,
       "more than the 0 experts"},
      {"llama.attention.causal", [](GgufBuilder& b) { b.add_bool("llama.attention.causal", false); },
       Fault::kUnsupported, "later"},
      {"llama.vocab_size", set("llama.vocab_size", 7), Fault::kCorrupt, "6 rows"},
      {"llama.rope.freq_base", set_float("llama.rope.freq_base", 0), Fault::kCorrupt, "not above 1"},
      {"llama.rope.dimension_count", set("llama.rope.dimension_count", 6), Fault::kCorrupt, "6 is not"},
      {"llama.rope.dimension_count", set("llama.rope.dimension_count", 3), Fault::kCorrupt, "3 is not"},
      {"llama.rope.scaling.type", set_text("llama.rope.scaling.type", "foo"), Fault::kUnsupported, "foo"},
      {"llama.rope.scaling.factor", set_text("llama.rope.scaling.type", "linear"), Fault::kCorrupt,
       "no metadata key"},
      {"rope_freqs.weight", [](GgufBuilder& b) { b.add_f32_tensor("rope_freqs.weight", {3}, {1, 1, 1}); },
       Fault::kCorrupt, "3 elements, wanted 2"},
      {"rope_freqs.weight", [](GgufBuilder& b) { b.add_f32_tensor("rope_freqs.weight", {2}, {1, 0}); },
       Fault::kCorrupt, "holds 0"},
      {"tokenizer.ggml.tokens",
       [](GgufBuilder& b) { b.add_strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e", "f", "g"}); },
       Fault::kCorrupt, "7 tokens"},
  };
  for (const SpecDamage& damage : kDamages) {
    GgufBuilder builder = small_gguf("llama");
    damage.change(builder);
    const auto model = decode(builder);
    ASSERT_FALSE(model) << damage.key << " " << damage.message;
    EXPECT_EQ(model.error().place, damage.key) << model.error().message;
    EXPECT_EQ(model.error().fault, damage.fault) << model.error().message;
    EXPECT_THAT(model.error().message, HasSubstr(damage.message)) << damage.key;
  }
}

TEST(GgufSpec, ScalesTheLargestGemma3ByItsWidthPerHead) {
  GgufBuilder builder = small_gguf("gemma3");
  builder.erase("gemma3.block_count").add_u32("gemma3.block_count", 62);
  builder.erase("gemma3.attention.head_count").add_u32("gemma3.attention.head_count", 4);
  EXPECT_EQ(decode(builder)->spec.query_pre_attn_scalar, 2);  // 8 / 4, the head has 4
}

}  // namespace
}  // namespace amphora::package
