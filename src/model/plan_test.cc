// Planning: presence of tensors decides, and one error names all that is wrong.
#include "model/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "amphora/model.h"
#include "model/findings.h"
#include "model/testing/tiny_package.h"

namespace amphora::model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TinyPackage;

MoeSpec moe_of(uint32_t experts, uint32_t top_k, uint32_t width) {
  MoeSpec moe;
  moe.num_experts = experts;
  moe.top_k = top_k;
  moe.moe_intermediate_size = width;
  return moe;
}

TEST(Plan, FindsEveryTensorOfALlama) {
  const auto package = TinyPackage().take();
  const auto plan = plan_model(*package);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ((*plan)->layers.size(), 2u);
  EXPECT_EQ(std::get<FeedForwardPlan>((*plan)->layers[1].ffn).gate.rows(), 96u);
  const auto& attention = std::get<AttentionPlan>((*plan)->layers[0].mixer);
  EXPECT_TRUE(attention.q.bias.empty());
  EXPECT_TRUE(attention.q_norm.empty());
  EXPECT_FLOAT_EQ((*plan)->attention_scale, 0.25f);
  EXPECT_EQ((*plan)->head.payload.data(), package->find("lm_head.weight")->stored.data()) << "used in place";
}

TEST(Plan, UsesTheEmbeddingAsHeadOnlyIfTied) {
  TinyPackage tiny;
  tiny.remove("lm_head.weight");
  const auto untied = plan_model(*tiny.take());
  ASSERT_FALSE(untied);
  EXPECT_EQ(untied.error().code, "Missing");
  EXPECT_THAT(untied.error().message, HasSubstr("missing tensors: lm_head.weight"));
  tiny.spec.tie_word_embeddings = true;
  const auto package = tiny.take();
  const auto tied = plan_model(*package);
  ASSERT_TRUE(tied) << tied.error().message;
  EXPECT_EQ((*tied)->head.payload.data(), (*tied)->embedding.payload.data());
}

TEST(Plan, SandwichNormsFollowFromTheirPresence) {
  TinyPackage tiny;
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    tiny.add(layer + "pre_feedforward_layernorm.weight", {64});
    tiny.add(layer + "post_feedforward_layernorm.weight", {64});
  }
  const auto plan = plan_model(*tiny.take());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ((*plan)->layers[0].mixer_output_norm.size(), 64u);
  EXPECT_EQ((*plan)->layers[1].ffn_output_norm.size(), 64u);
}

TEST(Plan, ALayerMayHaveFewerNeuronsButNotMore) {
  TinyPackage tiny;
  tiny.add("model.layers.1.mlp.gate_proj.weight", {40, 64});
  tiny.add("model.layers.1.mlp.up_proj.weight", {40, 64});
  tiny.add("model.layers.1.mlp.down_proj.weight", {64, 40});
  const auto fewer = plan_model(*tiny.take());
  ASSERT_TRUE(fewer) << fewer.error().message;
  EXPECT_EQ(std::get<FeedForwardPlan>((*fewer)->layers[1].ffn).up.rows(), 40u);
  tiny.add("model.layers.1.mlp.gate_proj.weight", {97, 64});
  EXPECT_FALSE(plan_model(*tiny.take()));
}

TEST(Plan, NamesAllThatIsMissingUnusedOrMisshapenAtOnce) {
  TinyPackage tiny;
  tiny.remove("model.norm.weight");
  tiny.remove("model.layers.0.mlp.up_proj.weight");
  tiny.remove("model.layers.1.mlp.up_proj.weight");
  tiny.add("model.layers.1.self_attn.k_proj.weight", {16, 64});
  tiny.add("model.layers.0.self_attn.rel_pos.weight", {4});
  const auto plan = plan_model(*tiny.take());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kCorrupt);
  EXPECT_THAT(plan.error().message,
              HasSubstr("missing tensors: model.norm.weight, model.layers.{0-1}.mlp.up_proj.weight"));
  EXPECT_THAT(plan.error().message,
              HasSubstr("model.layers.1.self_attn.k_proj.weight has shape [16, 64], wanted [32, 64]"));
  EXPECT_THAT(plan.error().message, HasSubstr("unused tensors: model.layers.0.self_attn.rel_pos.weight"));
}

TEST(Findings, NameTheFirstOfEachKindAndCountTheRest) {
  Findings findings;
  for (int i = 0; i < 128; ++i) {
    const std::string number = std::to_string(i);
    findings.contradiction("c" + number);
    findings.unsupported("u" + number);
    findings.missing("m" + number);
    for (int layer = 0; layer < 2; ++layer)
      findings.unused("layers." + std::to_string(layer) + ".x" + number);
    findings.unsupported_operator("gated delta net", "o" + number);
  }
  EXPECT_EQ(
      findings.error().message,
      "this model cannot run: gated delta net (o0, o1, o2, o3, o4, o5, o6, o7, … and 120 more) is not "
      "supported; u0; u1; u2; u3; u4; u5; u6; u7; … and 120 more; c0; c1; c2; c3; c4; c5; c6; c7; … and "
      "120 more; missing tensors: m0, m1, m2, m3, m4, m5, m6, m7, … and 120 more; unused tensors: "
      "layers.{0-1}.x0, layers.{0-1}.x1, layers.{0-1}.x2, layers.{0-1}.x3, layers.{0-1}.x4, "
      "layers.{0-1}.x5, layers.{0-1}.x6, layers.{0-1}.x7, … and 240 more");
}

TEST(Plan, NamesOperatorsThatItDoesNotRun) {
  TinyPackage tiny;
  for (const char* part : {"q", "k", "v", "o"})
    tiny.remove(std::string("model.layers.0.self_attn.") + part + "_proj.weight");
  tiny.add("model.layers.0.vmf_attn.out_proj.weight", {64, 64});
  tiny.add("model.layers.1.layer_scalar", {1});
  const auto plan = plan_model(*tiny.take());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kUnsupported);
  EXPECT_THAT(plan.error().message,
              HasSubstr("vmf_phase attention (model.layers.0.vmf_attn.out_proj.weight) is not supported"));
  EXPECT_THAT(plan.error().message, HasSubstr("layer scalar (model.layers.1.layer_scalar) is not supported"));
  EXPECT_THAT(plan.error().message, Not(HasSubstr("missing")))
      << "the usual tensors of that layer are not missed";
}

/// The tiny model with a mixture of four experts of 8 neurons in layer 1.
TinyPackage with_mixture() {
  TinyPackage tiny;
  for (const char* part : {"gate", "up", "down"})
    tiny.remove(std::string("model.layers.1.mlp.") + part + "_proj.weight");
  tiny.add("model.layers.1.mlp.gate.weight", {4, 64});
  for (int expert = 0; expert < 4; ++expert) {
    const std::string prefix = "model.layers.1.mlp.experts." + std::to_string(expert) + ".";
    tiny.add(prefix + "gate_proj.weight", {8, 64});
    tiny.add(prefix + "up_proj.weight", {8, 64});
    tiny.add(prefix + "down_proj.weight", {64, 8});
  }
  tiny.spec.moe = moe_of(4, 2, 8);
  return tiny;
}

TEST(Plan, ARouterMakesAMixture) {
  const auto plan = plan_model(*with_mixture().take());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(std::holds_alternative<FeedForwardPlan>((*plan)->layers[0].ffn)) << "by layer, not by model";
  const auto& mixture = std::get<ExpertsPlan>((*plan)->layers[1].ffn);
  EXPECT_EQ(mixture.experts.size(), 4u);
  EXPECT_EQ(mixture.top_k, 2u);
  EXPECT_FALSE(mixture.shared);

  TinyPackage fewer = with_mixture();  // as a defragmented file has them
  fewer.spec.moe->num_experts = 8;
  fewer.spec.moe->top_k = 6;
  const auto clamped = plan_model(*fewer.take());
  ASSERT_TRUE(clamped) << clamped.error().message;
  EXPECT_EQ(std::get<ExpertsPlan>((*clamped)->layers[1].ffn).top_k, 4u);
}

TEST(Plan, FindsFaultWithMixturesThatContradictThemselves) {
  struct Case {
    const char* name;
    void (*change)(TinyPackage&);
    const char* words;
  };
  const Case cases[] = {
      {"no moe", [](TinyPackage& tiny) { tiny.spec.moe.reset(); }, "arch.moe is absent"},
      {"a gap", [](TinyPackage& tiny) { tiny.remove("model.layers.1.mlp.experts.1.gate_proj.weight"); },
       "gate.weight has shape [4, 64], wanted [1, 64]"},
      {"no experts", [](TinyPackage& tiny) { tiny.remove("model.layers.1.mlp.experts.0.gate_proj.weight"); },
       "missing tensors: model.layers.1.mlp.experts.0.gate_proj.weight"},
      {"too many", [](TinyPackage& tiny) { tiny.spec.moe->num_experts = 3; }, "arch.moe.num_experts is 3"},
      {"another width", [](TinyPackage& tiny) { tiny.spec.moe->moe_intermediate_size = 9; },
       "experts.0.gate_proj.weight has shape [8, 64], wanted [9, 64]"},
      {"groups", [](TinyPackage& tiny) { tiny.spec.moe->n_group = 3; }, "n_group and topk_group do not fit"},
      {"groups of one", [](TinyPackage& tiny) { tiny.spec.moe->n_group = 4; }, "n_group and topk_group"},
      {"a dense branch", [](TinyPackage& tiny) { tiny.add("model.layers.1.mlp.gate_proj.weight", {96, 64}); },
       "dense branch beside a mixture"},
      {"a gate without its expert",
       [](TinyPackage& tiny) { tiny.add("model.layers.1.mlp.shared_expert_gate.weight", {1, 64}); },
       "unused tensors: model.layers.1.mlp.shared_expert_gate.weight"},
  };
  for (const Case& test : cases) {
    TinyPackage tiny = with_mixture();
    test.change(tiny);
    const auto plan = plan_model(*tiny.take());
    ASSERT_FALSE(plan) << test.name;
    EXPECT_THAT(plan.error().message, HasSubstr(test.words)) << test.name;
  }
}

TEST(Plan, FindsFaultWithAConvolutionWithoutTaps) {
  TinyPackage tiny;
  for (const char* part : {"q", "k", "v", "o"})
    tiny.remove(std::string("model.layers.0.self_attn.") + part + "_proj.weight");
  tiny.add("model.layers.0.short_conv.in_proj.weight", {192, 64});
  tiny.add("model.layers.0.short_conv.out_proj.weight", {64, 64});
  tiny.add("model.layers.0.short_conv.conv.weight", {64, 1, 3});
  EXPECT_TRUE(plan_model(*tiny.take()));
  tiny.add("model.layers.0.short_conv.conv.weight", {64, 1, 0});
  const auto plan = plan_model(*tiny.take());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("model.layers.0.short_conv.conv.weight has no taps"));
}

TEST(Plan, IgnoresWhatIsKnownAndHarmless) {
  TinyPackage tiny;
  tiny.add("skill.law.model.layers.0.mlp.up_proj.weight", {48, 32});
  tiny.add("model.mtp.norm.weight", {32});
  tiny.add("model.layers.0.mlp.down_proj.t.weight", {48, 32});
  tiny.add("model.layers.0.mlp.up_proj.tube12.weight", {8, 32});
  tiny.add("model.layers.0.self_attn.rotary_emb.inv_freq", {4});
  tiny.spec.other.push_back({"global_head_dim", json::Value()});
  const auto plan = plan_model(*tiny.take());
  EXPECT_TRUE(plan) << plan.error().message;
  tiny.add("model.layers.0.mlp.up_proj.tubes.weight", {8, 32});
  EXPECT_FALSE(plan_model(*tiny.take()));
}

TEST(Plan, RefusesOptionsThatChangeTheResult) {
  struct Case {
    const char* name;
    void (*change)(ModelSpec&);
    Fault fault;
    const char* words;
  };
  const Case cases[] = {
      {"norm style", [](ModelSpec& spec) { spec.norm_style.reset(); }, Fault::kUnsupported,
       "arch.norm_style"},
      {"loops", [](ModelSpec& spec) { spec.num_loops = 40'000; }, Fault::kCorrupt, "arch.num_loops is 40000"},
      {"resonance",
       [](ModelSpec& spec) {
         spec.moe = moe_of(4, 2, 8);
         spec.moe->router_resonance = true;
       },
       Fault::kUnsupported, "arch.moe.router_resonance"},
      {"no choice", [](ModelSpec& spec) { spec.moe = moe_of(4, 0, 8); }, Fault::kCorrupt, "arch.moe"},
      {"phases",
       [](ModelSpec& spec) {
         spec.linear_core = LinearCoreSpec();
         spec.linear_core->kind = LinearCore::kVmfPhase;
       },
       Fault::kUnsupported, "vmf_phase"},
      {"latent width", [](ModelSpec& spec) { spec.mla = MlaSpec(); }, Fault::kCorrupt, "arch.mla"},
      {"g3n", [](ModelSpec& spec) { spec.other.push_back({"g3n", json::Value::object()}); },
       Fault::kUnsupported, "arch.g3n"},
      {"heads", [](ModelSpec& spec) { spec.num_attention_heads = 3; }, Fault::kCorrupt, "3 attention heads"},
      {"no kv heads", [](ModelSpec& spec) { spec.num_kv_heads = 0; }, Fault::kCorrupt, "key-value heads"},
      {"layers", [](ModelSpec& spec) { spec.num_layers = 4'000'000'000; }, Fault::kCorrupt,
       "arch.num_layers"},
      {"layer types", [](ModelSpec& spec) { spec.layer_types.pop_back(); }, Fault::kCorrupt, "layer_types"},
      {"window", [](ModelSpec& spec) { spec.layer_types[1] = LayerType::kSlidingAttention; }, Fault::kCorrupt,
       "layer 1 has a sliding window"},
      {"window 0", [](ModelSpec& spec) { spec.sliding_window = 0; }, Fault::kCorrupt,
       "arch.sliding_window is 0"},
      {"hidden 0", [](ModelSpec& spec) { spec.hidden_size = 0; }, Fault::kCorrupt, "hidden_size"},
      {"scalar", [](ModelSpec& spec) { spec.query_pre_attn_scalar = 0; }, Fault::kCorrupt,
       "query_pre_attn_scalar"},
  };
  for (const Case& damage : cases) {
    TinyPackage tiny;
    damage.change(tiny.spec);
    const auto plan = plan_model(*tiny.take());
    ASSERT_FALSE(plan) << damage.name;
    EXPECT_EQ(plan.error().fault, damage.fault) << damage.name;
    EXPECT_THAT(plan.error().message, HasSubstr(damage.words)) << damage.name;
  }
}

TEST(Plan, NamesElementTypesThatItDoesNotRun) {
  TinyPackage tiny;
  tiny.store_as("lm_head.weight", "Q4_K", std::nullopt);
  const auto blocks = plan_model(*tiny.take());
  ASSERT_FALSE(blocks);
  EXPECT_EQ(blocks.error().fault, Fault::kUnsupported);
  EXPECT_THAT(blocks.error().message, HasSubstr("lm_head.weight"));
  EXPECT_THAT(blocks.error().message, HasSubstr("Q4_K"));
  EXPECT_THAT(blocks.error().message, HasSubstr("convert the model first"));
}

TEST(Plan, BiasesAndHeadNormsComeTogether) {
  TinyPackage tiny;
  for (const char* part : {"q", "v"})
    tiny.add(std::string("model.layers.0.self_attn.") + part + "_proj.bias",
             {static_cast<uint64_t>(*part == 'q' ? 64 : 32)});
  tiny.add("model.layers.1.self_attn.k_norm.weight", {16});
  const auto plan = plan_model(*tiny.take());
  ASSERT_FALSE(plan);
  EXPECT_THAT(
      plan.error().message,
      HasSubstr(
          "missing tensors: model.layers.0.self_attn.k_proj.bias, model.layers.1.self_attn.q_norm.weight"));
}

TEST(Plan, PassesOnAReadError) {
  auto package = std::make_shared<Package>(*TinyPackage().take());
  for (PackageTensor& tensor : package->tensors)
    if (tensor.name == "model.norm.weight")
      tensor.read = [](uint64_t, std::span<float>) -> Status { return fail(Fault::kIo, "disk gone"); };
  const auto plan = plan_model(*package);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kIo);
}

TEST(Model, RefusesAPackageThatIsNotRunnable) {
  auto package = std::make_shared<Package>(*TinyPackage().take());
  package->not_runnable = "a skill file: apply it to its base with `skill apply`";
  const auto model = Model::load(package);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().fault, Fault::kUnsupported);
  EXPECT_EQ(model.error().message, *package->not_runnable);
}

TEST(Model, CountsWhatATokenStreams) {
  const auto model = Model::load(TinyPackage().take());
  ASSERT_TRUE(model);
  // Two layers of (4096 + 2 · 2048 + 4096) + 3 · 6144 weights, a head of 5120, five norms of 64, one
  // embedding row.
  EXPECT_EQ((*model)->bytes_per_token(), 4u * (2 * (12288 + 18432) + 5120 + 5 * 64 + 64));
  EXPECT_EQ((*model)->mapped_bytes(), 4u * (2 * (12288 + 18432) + 5120 + 5120));
  EXPECT_EQ((*model)->decoded_bytes(), 4u * 5 * 64);
  EXPECT_EQ((*model)->kv_bytes_per_position_f16(), 2u * 2 * 2 * 16 * 2);
}

TEST(Findings, ListsLayersAsRanges) {
  EXPECT_EQ(list_names({"a.layers.0.x", "a.layers.1.x", "a.layers.2.x", "a.layers.7.x", "b", "a.layers.3.y"}),
            "a.layers.{0-2,7}.x, b, a.layers.3.y");
}

}  // namespace
}  // namespace amphora::model
