// Tests of config.json: both spellings, every rope kind, what each family means by silence, and refusals.
#include "package/hf_config.h"

#include <gtest/gtest.h>

#include "package/arch_json.h"
#include "package/hf_rope.h"
#include "package/testing/config.h"

namespace amphora::package {
namespace {

using testing::edited;
using testing::read_text;
using testing::test_data;
using Edits = std::vector<std::pair<std::string, std::string>>;

std::string tiny(std::string_view name, std::string_view file = "config.json") {
  return read_text(test_data("hf/tiny") / name / file);
}

std::string arch_of(std::string_view config) {
  const auto decoded = decode_hf_config(config);
  if (!decoded) return decoded.error().message;
  return json::dump(encode_arch(decoded->spec));
}

// Written by hand from the configurations and docs/formats/cmf.md §2, §12; the rope factors from the formula
// of transformers' _compute_llama3_parameters in double precision, by another program.
constexpr std::string_view kLlamaArch =
    R"({"arch_name":"llama","hidden_size":64,"intermediate_size":128,"num_layers":3,"num_attention_heads":4,)"
    R"("num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["FullAttention","FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-5,"norm_style":"qwen","rope_theta":10000,"tie_word_embeddings":false,)"
    R"("partial_rotary_factor":1,"rope_freq_factors":[1,1.2939758,7.667385,8,8,8,8,8],)"
    R"("max_position_embeddings":512})";
constexpr std::string_view kMistralArch =
    R"({"arch_name":"mistral","hidden_size":64,"intermediate_size":128,"num_layers":3,"num_attention_heads":4,)"
    R"("num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["SlidingAttention","SlidingAttention",)"
    R"("SlidingAttention"],"rms_norm_eps":1e-5,"norm_style":"qwen","rope_theta":10000,)"
    R"("tie_word_embeddings":false,"partial_rotary_factor":1,"sliding_window":32,"max_position_embeddings":512})";
constexpr std::string_view kQwen2Arch =
    R"({"arch_name":"qwen2","hidden_size":64,"intermediate_size":128,"num_layers":3,"num_attention_heads":4,)"
    R"("num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["FullAttention","FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-6,"norm_style":"qwen","rope_theta":1e6,"tie_word_embeddings":true,)"
    R"("partial_rotary_factor":1,"max_position_embeddings":512})";
constexpr std::string_view kQwen3Arch =
    R"({"arch_name":"qwen3","hidden_size":64,"intermediate_size":128,"num_layers":3,"num_attention_heads":4,)"
    R"("num_kv_heads":2,"head_dim":32,"vocab_size":512,"layer_types":["FullAttention","FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-6,"norm_style":"qwen","rope_theta":1e6,"tie_word_embeddings":true,)"
    R"("partial_rotary_factor":1,"max_position_embeddings":512})";
// The attention factor is sqrt(1 + ln(512 / 128) / ln(128)).
constexpr std::string_view kPhi3Arch =
    R"({"arch_name":"phi3","hidden_size":64,"intermediate_size":128,"num_layers":3,"num_attention_heads":4,)"
    R"("num_kv_heads":2,"head_dim":16,"vocab_size":512,"layer_types":["FullAttention","FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-5,"norm_style":"qwen","rope_theta":10000,)"
    R"("tie_word_embeddings":false,"partial_rotary_factor":0.5,"longrope":{"short":[1,1.1,1.3,1.7],)"
    R"("long":[1.5,2.5,4,8],"original_max_position_embeddings":128,"attention_factor":1.1338934190276817},)"
    R"("max_position_embeddings":512})";
constexpr std::string_view kGemma2Arch =
    R"({"arch_name":"gemma2","hidden_size":64,"intermediate_size":96,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,"layer_types":)"
    R"(["SlidingAttention","FullAttention","SlidingAttention","FullAttention"],"rms_norm_eps":1e-6,)"
    R"("norm_style":"gemma","rope_theta":10000,"tie_word_embeddings":true,"partial_rotary_factor":1,)"
    R"("hidden_act":"gelu_tanh","embed_multiplier":8,"query_pre_attn_scalar":24,"sliding_window":16,)"
    R"("final_logit_softcapping":10,"attn_logit_softcapping":5,"max_position_embeddings":512})";
constexpr std::string_view kGemma3Arch =
    R"({"arch_name":"gemma3_text","hidden_size":64,"intermediate_size":96,"num_layers":4,)"
    R"("num_attention_heads":4,"num_kv_heads":2,"head_dim":32,"vocab_size":512,"layer_types":)"
    R"(["SlidingAttention","SlidingAttention","FullAttention","SlidingAttention"],"rms_norm_eps":1e-6,)"
    R"("norm_style":"gemma","rope_theta":1e6,"tie_word_embeddings":true,"partial_rotary_factor":1,)"
    R"("rope_freq_factors":[8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8],"hidden_act":"gelu_tanh","embed_multiplier":8,)"
    R"("query_pre_attn_scalar":32,"sliding_window":16,"rope_local_base_freq":10000,)"
    R"("max_position_embeddings":512})";

/// As values: how the writer spells a number is not the point here.
void expect_arch(std::string_view config, std::string_view wanted, std::string_view what) {
  const std::string found = arch_of(config);
  const auto value = json::parse(found);
  ASSERT_TRUE(value) << what << ": " << found;
  EXPECT_TRUE(*value == *json::parse(wanted)) << what << ": " << found << "\nwanted " << wanted;
}

TEST(HfConfig, BothSpellingsGiveTheSameModel) {  // F4
  struct Case {
    const char* name;
    std::string_view arch;
  };
  for (const Case& c : {Case{"llama", kLlamaArch}, Case{"qwen2", kQwen2Arch}, Case{"qwen3", kQwen3Arch},
                        Case{"mistral", kMistralArch}, Case{"phi3", kPhi3Arch}, Case{"gemma2", kGemma2Arch},
                        Case{"gemma3", kGemma3Arch}}) {
    expect_arch(tiny(c.name), c.arch, c.name);
    expect_arch(tiny(c.name, "config_legacy.json"), c.arch, std::string(c.name) + " legacy");
  }
}

TEST(HfConfig, Gemma2SaysSoftCapsByItsSilenceAndNoneByNull) {
  const auto spec_of = [](const std::string& config) { return decode_hf_config(config).value().spec; };
  const ModelSpec silent =
      spec_of(edited(tiny("gemma2"),
                     {{"attn_logit_softcapping", ""}, {"final_logit_softcapping", ""}, {"layer_types", ""}}));
  EXPECT_EQ(silent.attn_logit_softcapping, 50);
  EXPECT_EQ(silent.final_logit_softcapping, 30);
  EXPECT_TRUE(silent.is_local(0) && !silent.is_local(1) && silent.is_local(2) && !silent.is_local(3));
  const ModelSpec none = spec_of(
      edited(tiny("gemma2"), {{"attn_logit_softcapping", "null"}, {"final_logit_softcapping", "null"}}));
  EXPECT_FALSE(none.attn_logit_softcapping || none.final_logit_softcapping);
}

TEST(HfConfig, Phi3SeesAWindowInEveryLayerIfItHasOne) {
  const auto config = decode_hf_config(edited(tiny("phi3"), {{"sliding_window", "47"}}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->spec.sliding_window, 47u);
  EXPECT_TRUE(config->spec.is_local(0) && config->spec.is_local(1) && config->spec.is_local(2));
  const auto silent = decode_hf_config(edited(tiny("phi3"), {{"sliding_window", ""}}));
  ASSERT_TRUE(silent) << silent.error().message;
  EXPECT_FALSE(silent->spec.sliding_window);
}

TEST(HfConfig, YarnWithoutATopLevelThetaEqualsTheOlderSpelling) {  // F4
  const std::string newer =
      edited(tiny("qwen2"), {{"max_position_embeddings", "131072"},
                             {"rope_parameters", R"({"rope_theta":1e6,"rope_type":"yarn","factor":4,)"
                                                 R"("original_max_position_embeddings":32768})"}});
  const std::string older =
      edited(tiny("qwen2", "config_legacy.json"),
             {{"max_position_embeddings", "131072"},
              {"rope_theta", "1000000.0"},
              {"rope_scaling", R"({"type":"yarn","factor":4.0,"original_max_position_embeddings":32768})"}});
  EXPECT_EQ(arch_of(newer), arch_of(older));
  const auto spec = decode_hf_config(newer);
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(spec->spec.yarn);
  EXPECT_EQ(spec->spec.rope_theta, 1e6);
  EXPECT_EQ(spec->spec.yarn->factor, 4);
  EXPECT_EQ(spec->spec.yarn->original_max_position_embeddings, 32768u);
  EXPECT_EQ(spec->spec.yarn->beta_fast, 32);
  EXPECT_EQ(spec->spec.yarn->beta_slow, 1);
  EXPECT_NEAR(spec->spec.yarn->attention_factor, 1.138629436111989, 1e-15);  // 0.1 ln 4 + 1
}

ModelSpec with_rope(const std::string& rope_parameters) {
  const auto config = decode_hf_config(edited(
      tiny("qwen3"),
      {{"rope_parameters", rope_parameters}, {"max_position_embeddings", "131072"}, {"head_dim", "8"}}));
  EXPECT_TRUE(config) << rope_parameters << ": " << config.error().message;
  return config ? config->spec : ModelSpec{};
}

TEST(HfConfig, ReadsEveryRopeKind) {  // F5
  EXPECT_TRUE(with_rope(R"({"rope_type":"default"})").rope_freq_factors.empty());
  EXPECT_EQ(with_rope(R"({"rope_type":"linear","factor":2.5})").rope_freq_factors,
            std::vector<float>({2.5f, 2.5f, 2.5f, 2.5f}));
  // 8 dimensions, base 10000, 8 -> 1, high 4, original 64: wavelengths 6.28, 62.8, 628, 6283.
  const auto llama3 = with_rope(R"({"rope_theta":10000,"rope_type":"llama3","factor":8,"low_freq_factor":1,)"
                                R"("high_freq_factor":4,"original_max_position_embeddings":64})")
                          .rope_freq_factors;
  ASSERT_EQ(llama3.size(), 4u);
  EXPECT_FLOAT_EQ(llama3[0], 1.0f);
  EXPECT_FLOAT_EQ(llama3[1], 7.667385126f);
  EXPECT_FLOAT_EQ(llama3[2], 8.0f);
  EXPECT_FLOAT_EQ(llama3[3], 8.0f);

  const auto longrope = with_rope(R"({"rope_type":"longrope","short_factor":[1,1,1,2],)"
                                  R"("long_factor":[1,2,4,8],"original_max_position_embeddings":4096})")
                            .longrope;
  ASSERT_TRUE(longrope);
  EXPECT_EQ(longrope->long_factors, std::vector<float>({1, 2, 4, 8}));
  EXPECT_EQ(longrope->original_max_position_embeddings, 4096u);
  EXPECT_NEAR(longrope->attention_factor, 1.1902380714238083, 1e-15);  // sqrt(1 + ln 32 / ln 4096)
}

TEST(HfConfig, YarnTakesItsMagnitudeAsTransformersDoes) {
  const std::string yarn = R"({"rope_type":"yarn","factor":40,"original_max_position_embeddings":4096)";
  EXPECT_EQ(with_rope(yarn + R"(,"attention_factor":0.75})").yarn->attention_factor, 0.75);
  EXPECT_NEAR(with_rope(yarn + R"(,"mscale":0.707,"mscale_all_dim":1.0})").yarn->attention_factor,
              0.9210423553163399, 1e-15);
  EXPECT_NEAR(with_rope(yarn + R"(,"mscale":0.707})").yarn->attention_factor, 1.3688879454113936, 1e-15);
  EXPECT_EQ(with_rope(yarn + R"(,"beta_fast":16,"beta_slow":2})").yarn->beta_fast, 16);
  EXPECT_EQ(with_rope(yarn + R"(,"beta_slow":null})").yarn->beta_slow, 1);
  // Without a factor: the ratio of the two context lengths.
  EXPECT_EQ(with_rope(R"({"rope_type":"yarn","original_max_position_embeddings":32768})").yarn->factor, 4);
}

TEST(HfConfig, FillsInWhatAFamilyLeavesUnsaid) {
  // The configuration of a published multimodal Gemma 3 says no more of its language model than this.
  const auto gemma = decode_hf_config(
      R"({"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3","eos_token_id":[1,106],)"
      R"("text_config":{"hidden_size":2560,"intermediate_size":10240,"model_type":"gemma3_text",)"
      R"("num_hidden_layers":34,"rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":1024}})");
  ASSERT_TRUE(gemma) << gemma.error().message;
  EXPECT_TRUE(gemma->has_other_parts);
  EXPECT_FALSE(gemma->says_tied);
  const ModelSpec& spec = gemma->spec;
  EXPECT_EQ(spec.num_attention_heads, 8u);
  EXPECT_EQ(spec.num_kv_heads, 4u);
  EXPECT_EQ(spec.head_dim, 256u);
  EXPECT_EQ(spec.vocab_size, 262208u);
  EXPECT_EQ(spec.max_position_embeddings, 131072u);
  EXPECT_TRUE(spec.tie_word_embeddings);
  EXPECT_EQ(spec.rope_theta, 1e6);
  EXPECT_EQ(spec.rope_local_base_freq, 10000);
  EXPECT_EQ(spec.query_pre_attn_scalar, 256);
  EXPECT_NEAR(spec.embed_multiplier, 50.59644256269407, 1e-13);  // sqrt(2560)
  EXPECT_EQ(spec.rope_freq_factors, std::vector<float>(128, 8.0f));
  for (uint32_t layer = 0; layer < 34; ++layer)
    EXPECT_EQ(spec.is_local(layer), (layer + 1) % 6 != 0) << layer;
  EXPECT_EQ(gemma->token_ids.eos_token_ids, std::vector<uint32_t>({1, 106}));

  const auto qwen3 =
      decode_hf_config(edited(tiny("qwen3"), {{"head_dim", ""}, {"num_key_value_heads", "null"}}));
  ASSERT_TRUE(qwen3);
  EXPECT_EQ(qwen3->spec.head_dim, 128u);
  EXPECT_EQ(qwen3->spec.num_kv_heads, 4u);

  const std::string mistral = tiny("mistral");
  const Edits wide = {{"num_attention_heads", "32"}};
  EXPECT_EQ(decode_hf_config(edited(edited(mistral, wide), {{"num_key_value_heads", ""}}))->spec.num_kv_heads,
            8u);
  EXPECT_EQ(
      decode_hf_config(edited(edited(mistral, wide), {{"num_key_value_heads", "null"}}))->spec.num_kv_heads,
      32u);
}

TEST(HfConfig, PlacesSlidingWindowsAsEachFamilyDoes) {
  struct Case {
    const char* name;
    std::string config;
    std::vector<bool> local;
    std::optional<uint32_t> window;
  };
  const std::string qwen2 = edited(tiny("qwen2"), {{"layer_types", ""}, {"sliding_window", "32"}});
  const std::string mistral = tiny("mistral");
  const Case kCases[] = {
      {"qwen2, not used", qwen2, {false, false, false}, std::nullopt},
      {"qwen2, all below max_window_layers",
       edited(qwen2, {{"use_sliding_window", "true"}}),
       {false, false, false},
       std::nullopt},
      {"qwen2, from layer 1",
       edited(qwen2, {{"use_sliding_window", "true"}, {"max_window_layers", "1"}}),
       {false, true, true},
       32},
      {"qwen2, layer types decide",
       edited(qwen2, {{"use_sliding_window", "true"},
                      {"layer_types", R"(["sliding_attention","full_attention","sliding_attention"])"}}),
       {true, false, true},
       32},
      {"mistral, null", edited(mistral, {{"sliding_window", "null"}}), {false, false, false}, std::nullopt},
      {"mistral, silent", edited(mistral, {{"sliding_window", ""}}), {true, true, true}, 4096},
      {"llama has none",
       edited(tiny("llama"), {{"sliding_window", "32"}}),
       {false, false, false},
       std::nullopt},
      {"gemma3, pattern of 2",
       edited(tiny("gemma3", "config_legacy.json"), {{"sliding_window_pattern", "2"}}),
       {true, false, true, false},
       16},
  };
  for (const Case& c : kCases) {
    const auto config = decode_hf_config(c.config);
    ASSERT_TRUE(config) << c.name << ": " << config.error().message;
    for (uint32_t layer = 0; layer < c.local.size(); ++layer)
      EXPECT_EQ(config->spec.is_local(layer), c.local[layer]) << c.name << " layer " << layer;
    EXPECT_EQ(config->spec.sliding_window, c.window) << c.name;
  }
}

TEST(HfConfig, ReadsTokenIdsInEveryForm) {
  const auto ids = [](std::string_view text) { return decode_token_ids(*json::parse(text), "$"); };
  EXPECT_EQ(ids(R"({"eos_token_id":7})")->eos_token_ids, std::vector<uint32_t>({7}));
  EXPECT_EQ(ids(R"({"eos_token_id":[7,9]})")->eos_token_ids, std::vector<uint32_t>({7, 9}));
  EXPECT_TRUE(ids(R"({"eos_token_id":null,"pad_token_id":-1})")->eos_token_ids.empty());
  EXPECT_FALSE(ids(R"({"pad_token_id":-1})")->pad_token_id);
  EXPECT_EQ(ids(R"({"bos_token_id":0})")->bos_token_id, 0u);
  EXPECT_FALSE(ids(R"({"eos_token_id":"7"})"));
  EXPECT_FALSE(ids(R"({"eos_token_id":[7,-9]})"));
  EXPECT_FALSE(ids(R"({"bos_token_id":1.5})"));
}

struct ConfigRefusal {
  const char* name;
  const char* base;
  Edits edits;
  Fault fault;
  const char* place;
  const char* words;  ///< in the message
};

TEST(HfConfig, RefusesEachFaultForItsOwnReason) {
  const ConfigRefusal kRefusals[] = {
      {"unknown architecture",
       "llama",
       {{"architectures", R"(["MambaForCausalLM"])"}},
       Fault::kUnsupported,
       "$.architectures",
       "the architecture MambaForCausalLM is not supported (supported: LlamaForCausalLM, "},
      {"unknown model type",
       "llama",
       {{"architectures", ""}, {"model_type", R"("mamba")"}},
       Fault::kUnsupported,
       "$.architectures",
       "mamba is not supported"},
      {"no architecture",
       "llama",
       {{"architectures", ""}, {"model_type", ""}},
       Fault::kCorrupt,
       "$.architectures",
       "neither"},
      {"gptq",
       "llama",
       {{"quantization_config", R"({"quant_method":"gptq","bits":4})"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "already quantised by gptq"},
      {"bitsandbytes",
       "llama",
       {{"quantization_config", R"({"load_in_4bit":true})"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "already quantised by bitsandbytes"},
      {"fp8",
       "qwen3",
       {{"quantization_config", R"({"quant_method":"fp8","weight_block_size":null})"}},
       Fault::kUnsupported,
       "$.quantization_config",
       "already quantised by fp8"},
      {"layers beyond the limit",
       "llama",
       {{"num_hidden_layers", "2147483648"}},
       Fault::kRefused,
       "$.num_hidden_layers",
       "2147483648 is more than the limit of 512"},
      {"layers beyond 32 bits",
       "llama",
       {{"num_hidden_layers", "4294967296"}},
       Fault::kCorrupt,
       "$.num_hidden_layers",
       "not an integer"},
      {"layers negative",
       "llama",
       {{"num_hidden_layers", "-3"}},
       Fault::kCorrupt,
       "$.num_hidden_layers",
       "not an integer"},
      {"layers a string",
       "llama",
       {{"num_hidden_layers", R"("3")"}},
       Fault::kCorrupt,
       "$.num_hidden_layers",
       "found a value of type string, wanted number"},
      {"layers missing",
       "llama",
       {{"num_hidden_layers", ""}},
       Fault::kCorrupt,
       "$.num_hidden_layers",
       "missing"},
      {"no layers", "llama", {{"num_hidden_layers", "0"}}, Fault::kCorrupt, "$.num_hidden_layers", "0"},
      {"hidden size beyond the limit",
       "llama",
       {{"hidden_size", "16777217"}},
       Fault::kRefused,
       "$.hidden_size",
       "more than the limit of 16777216"},
      {"no heads", "llama", {{"num_attention_heads", "0"}}, Fault::kCorrupt, "$.num_attention_heads", "0"},
      {"heads beyond the limit",
       "llama",
       {{"num_attention_heads", "16385"}},
       Fault::kRefused,
       "$.num_attention_heads",
       "more than the limit of 16384"},
      {"kv heads do not divide",
       "llama",
       {{"num_key_value_heads", "3"}},
       Fault::kCorrupt,
       "$.num_key_value_heads",
       "3 does not divide 4"},
      {"more kv heads than heads",
       "llama",
       {{"num_key_value_heads", "8"}},
       Fault::kCorrupt,
       "$.num_key_value_heads",
       "8 does not divide 4"},
      {"no kv heads", "llama", {{"num_key_value_heads", "0"}}, Fault::kCorrupt, "$.num_key_value_heads", "0"},
      {"heads do not divide the width",
       "qwen2",
       {{"num_attention_heads", "6"}},
       Fault::kCorrupt,
       "$.num_attention_heads",
       "6 does not divide hidden_size 64"},
      {"odd head", "llama", {{"head_dim", "15"}}, Fault::kCorrupt, "$.head_dim", "odd"},
      {"eps negative", "llama", {{"rms_norm_eps", "-1e-5"}}, Fault::kCorrupt, "$.rms_norm_eps", "negative"},
      {"eps a string", "llama", {{"rms_norm_eps", R"("1e-5")"}}, Fault::kCorrupt, "$.rms_norm_eps", "string"},
      {"activation", "llama", {{"hidden_act", R"("relu2")"}}, Fault::kUnsupported, "$.hidden_act", "'relu2'"},
      {"exact gelu",
       "gemma3",
       {{"hidden_activation", R"("gelu")"}},
       Fault::kUnsupported,
       "$.hidden_activation",
       "'gelu'"},
      {"too few layer types",
       "qwen3",
       {{"layer_types", R"(["full_attention"])"}},
       Fault::kCorrupt,
       "$.layer_types",
       "1 elements for 3 layers"},
      {"linear layers",
       "qwen3",
       {{"layer_types", R"(["linear_attention","full_attention","full_attention"])"}},
       Fault::kUnsupported,
       "$.layer_types",
       "'linear_attention'"},
      {"sliding llama",
       "llama",
       {{"layer_types", R"(["full_attention","sliding_attention","full_attention"])"}},
       Fault::kUnsupported,
       "$.layer_types",
       "LlamaForCausalLM"},
      {"sliding without a window",
       "qwen3",
       {{"layer_types", R"(["sliding_attention","full_attention","full_attention"])"}},
       Fault::kCorrupt,
       "$.sliding_window",
       "without a window"},
      {"window of nothing", "gemma3", {{"sliding_window", "0"}}, Fault::kCorrupt, "$.sliding_window", "0"},
      {"pattern 0",
       "gemma3",
       {{"sliding_window_pattern", "0"}},
       Fault::kCorrupt,
       "$.sliding_window_pattern",
       "no pattern"},
      {"both directions",
       "gemma3",
       {{"use_bidirectional_attention", "true"}},
       Fault::kUnsupported,
       "$.use_bidirectional_attention",
       "later positions"},
      {"soft cap 0",
       "gemma3",
       {{"final_logit_softcapping", "0"}},
       Fault::kCorrupt,
       "$.final_logit_softcapping",
       "above 0"},
      {"tied a number",
       "llama",
       {{"tie_word_embeddings", "1"}},
       Fault::kCorrupt,
       "$.tie_word_embeddings",
       "number"},
      {"unknown rope",
       "llama",
       {{"rope_parameters", R"({"rope_type":"foo","factor":2})"}},
       Fault::kUnsupported,
       "$.rope_parameters.rope_type",
       "unknown rope kind 'foo'"},
      {"unknown rope, older spelling",
       "llama",
       {{"rope_parameters", ""}, {"rope_scaling", R"({"type":"mrope"})"}},
       Fault::kUnsupported,
       "$.rope_scaling.rope_type",
       "'mrope'"},
      {"dynamic rope",
       "llama",
       {{"rope_parameters", R"({"rope_type":"dynamic","factor":2})"}},
       Fault::kUnsupported,
       "$.rope_parameters.rope_type",
       "'dynamic'"},
      {"two kinds",
       "llama",
       {{"rope_parameters", R"({"rope_type":"linear","type":"yarn","factor":2})"}},
       Fault::kUnsupported,
       "$.rope_parameters.type",
       "rope_type is 'linear' and type is 'yarn'"},
      {"two spellings that disagree",
       "llama",
       {{"rope_scaling", R"({"type":"linear","factor":2})"}},
       Fault::kCorrupt,
       "$.rope_parameters",
       "disagree"},
      {"two thetas",
       "qwen3",
       {{"rope_theta", "5"}},
       Fault::kCorrupt,
       "$.rope_parameters.rope_theta",
       "1000000"},
      {"theta 0",
       "qwen3",
       {{"rope_parameters", R"({"rope_theta":0})"}},
       Fault::kCorrupt,
       "$.rope_parameters.rope_theta",
       "above 1"},
      {"linear without factor",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"linear"})"}},
       Fault::kCorrupt,
       "$.rope_parameters.factor",
       "missing"},
      {"linear factor 0",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"linear","factor":0})"}},
       Fault::kCorrupt,
       "$.rope_parameters.factor",
       "above 0"},
      {"llama3 without bounds",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"llama3","factor":8})"}},
       Fault::kCorrupt,
       "$.rope_parameters.low_freq_factor",
       "missing"},
      {"yarn original 0",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"yarn","factor":2,"original_max_position_embeddings":0})"}},
       Fault::kCorrupt,
       "$.rope_parameters.original_max_position_embeddings",
       "0 positions"},
      {"yarn without truncation",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"yarn","factor":2,"truncate":false})"}},
       Fault::kUnsupported,
       "$.rope_parameters.truncate",
       "truncation"},
      {"longrope too short",
       "qwen3",
       {{"rope_parameters", R"({"rope_type":"longrope","short_factor":[1],"long_factor":[1]})"}},
       Fault::kCorrupt,
       "$.rope_parameters.short_factor",
       "has 1 elements, wanted 16"},
      {"scaled sliding layers",
       "gemma3",
       {{"rope_parameters", R"({"full_attention":{"rope_theta":1e6},)"
                            R"("sliding_attention":{"rope_type":"linear","factor":2}})"}},
       Fault::kUnsupported,
       "$.rope_parameters.sliding_attention.rope_type",
       "sliding layers"},
      {"gemma3 with one set of parameters",
       "gemma3",
       {{"rope_parameters", R"({"rope_type":"linear","factor":2})"}},
       Fault::kCorrupt,
       "$.rope_parameters",
       "each type of layer"},
      {"rope of an unknown layer type",
       "gemma3",
       {{"rope_parameters", R"({"full_attention":{},"sliding_attention":{},"chunked_attention":{}})"}},
       Fault::kUnsupported,
       "$.rope_parameters.chunked_attention",
       "chunked_attention"},
      {"rope a list", "llama", {{"rope_parameters", "[]"}}, Fault::kCorrupt, "$.rope_parameters", "array"},
      {"partial rotary 0",
       "llama",
       {{"partial_rotary_factor", "0"}},
       Fault::kCorrupt,
       "$.partial_rotary_factor",
       "above 0"},
      {"eos a string", "llama", {{"eos_token_id", R"("</s>")"}}, Fault::kCorrupt, "$.eos_token_id", "string"},
  };
  for (const ConfigRefusal& refusal : kRefusals) {
    const auto config = decode_hf_config(edited(tiny(refusal.base), refusal.edits));
    ASSERT_FALSE(config) << refusal.name;
    EXPECT_EQ(config.error().fault, refusal.fault) << refusal.name << ": " << config.error().message;
    EXPECT_EQ(config.error().place, refusal.place) << refusal.name << ": " << config.error().message;
    EXPECT_NE(config.error().message.find(refusal.words), std::string::npos)
        << refusal.name << ": " << config.error().message;
  }
}

TEST(HfConfig, RefusesScaledRopeOnMistralsSlidingLayers) {
  const auto config = decode_hf_config(
      edited(tiny("mistral"), {{"rope_parameters", R"({"rope_type":"linear","factor":2})"}}));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().fault, Fault::kUnsupported);
}

TEST(HfConfig, RefusesEveryTruncationAndEveryWrongType) {
  const std::string text = tiny("gemma3");
  const size_t end = text.rfind('}');
  for (size_t kept = 0; kept <= end; ++kept) EXPECT_FALSE(decode_hf_config(text.substr(0, kept))) << kept;
  EXPECT_FALSE(decode_hf_config("[]"));
  EXPECT_FALSE(decode_hf_config(R"({"architectures":"LlamaForCausalLM"})"));
  // Whatever stands in place of a field that is read, an object is never it.
  for (const char* key : {"hidden_size", "num_hidden_layers", "vocab_size", "sliding_window", "layer_types",
                          "hidden_activation", "rms_norm_eps", "architectures", "tie_word_embeddings",
                          "query_pre_attn_scalar", "head_dim", "max_position_embeddings", "eos_token_id"})
    EXPECT_FALSE(decode_hf_config(edited(text, {{key, "{}"}}))) << key;
}

}  // namespace
}  // namespace amphora::package
