// Tests of the policy: which element type each tensor gets, by name, shape, target and rules.
#include "package/quant_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quant/codec.h"

namespace amphora {
namespace {

using ::testing::HasSubstr;

PackageTensor tensor(std::string name, std::vector<uint64_t> shape, std::string stored_type = "BF16",
                     std::optional<DType> dtype = std::nullopt) {
  PackageTensor result;
  result.name = std::move(name);
  result.shape = std::move(shape);
  result.stored_type = std::move(stored_type);
  result.dtype = dtype;
  return result;
}

Package model() {
  Package package;
  package.tensors = {
      tensor("model.embed_tokens.weight", {512, 64}),
      tensor("model.layers.0.input_layernorm.weight", {64}),
      tensor("model.layers.0.self_attn.q_proj.weight", {64, 64}),
      tensor("model.layers.0.self_attn.q_proj.bias", {64}),
      tensor("model.layers.0.mlp.down_proj.weight", {64, 90}),
      tensor("model.layers.0.mlp.gate_proj.weight", {90, 64}),
      tensor("model.layers.1.mlp.gate.weight", {8, 64}),
      tensor("model.layers.1.mlp.shared_expert_gate.weight", {1, 64}),
      tensor("model.layers.1.linear_attn.conv1d.weight", {256, 1, 4}),
      tensor("model.layers.1.linear_attn.in_proj_a.weight", {4, 64}),
      tensor("model.layers.1.linear_attn.in_proj_qkv.weight", {256, 64}),
      tensor("model.layers.1.tiny.weight", {1, 31}),
      tensor("lm_head.weight", {512, 64}),
  };
  return package;
}

QuantPlanOptions options(std::string_view target, const std::vector<std::string_view>& rules = {}) {
  QuantPlanOptions result;
  result.target = *parse_quant_target(target);
  for (const std::string_view rule : rules) result.rules.push_back(*parse_quant_rule(rule));
  return result;
}

std::vector<std::string> types(const Package& package, const QuantPlanOptions& plan_options) {
  const auto plan = plan_quantisation(package, plan_options);
  EXPECT_TRUE(plan) << plan.error().message;
  std::vector<std::string> names;
  if (plan)
    for (const PlannedTensor& planned : *plan)
      names.push_back(std::string(quant::name_of(planned.dtype)) + (planned.fallback ? " fallback" : ""));
  return names;
}

using Types = std::vector<std::string>;

TEST(QuantPlan, FollowsTheFormatsPolicy) {
  EXPECT_EQ(types(model(), options("f32")), Types(13, "f32"));
  EXPECT_EQ(types(model(), options("bf16")), Types(13, "bf16"));
  EXPECT_EQ(types(model(), options("f16")), Types(13, "f16"));
  EXPECT_EQ(types(model(), options("q8")), Types({"q8_row", "f16", "q8_row", "f16", "q8_row", "q8_row", "f16",
                                                  "f16", "f16", "f16", "q8_row", "f16", "q8_row"}));
  EXPECT_EQ(types(model(), options("q8_2f")), Types({"q8_2f", "f16", "q8_2f", "f16", "q8_2f", "q8_2f", "f16",
                                                     "f16", "f16", "f16", "q8_2f", "f16", "q8_2f"}));
  EXPECT_EQ(types(model(), options("q4t")),
            Types({"q8_row", "f16", "q4_tiled", "f16", "q8_2f fallback", "q4_tiled", "f16", "f16", "f16",
                   "f16", "q4_tiled", "f16", "q8_row"}));
  // q4_block runs over the flattened tensor: any matrix will do.
  EXPECT_EQ(types(model(), options("q4")), Types({"q8_row", "f16", "q4_block", "f16", "q4_block", "q4_block",
                                                  "f16", "f16", "f16", "f16", "q4_block", "f16", "q8_row"}));
}

TEST(QuantPlan, RulesDecideAndTheLastOneWins) {
  EXPECT_EQ(types(model(), options("q4t", {"embed|lm_head=q4t", "mlp\\.gate\\.weight$=q8", "norm=f32",
                                           "^model=keep", "q_proj=q8", "q_proj\\.weight=f32"})),
            Types({"bf16", "bf16", "f32", "f16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16",
                   "bf16", "q4_tiled"}));
  EXPECT_EQ(types(model(), options("q8", {"mlp\\.gate\\.weight$=q8"}))[6], "q8_row")
      << "a rule may ask for a router";
}

TEST(QuantPlan, KeepsFloatsAndCmfTypes) {
  Package package;
  package.tensors = {
      tensor("a", {64, 64}, "F32", DType::kF32),
      tensor("b", {64}, "F16", DType::kF16),
      tensor("c", {64, 64}, "BF16", DType::kBF16),
      tensor("d", {64, 64}, "q4_tiled", DType::kQ4Tiled),
      tensor("e", {64, 64}, "Q4_K"),
      tensor("f", {64, 64}, "F32"),
      tensor("g", {64, 64}, "Q8_0"),
      tensor("h", {64, 64}, "vbit_ro", DType::kVbitRo),
      tensor("te.config_json", {10}, "u8", DType::kU8),
  };
  EXPECT_EQ(types(package, options("keep")),
            Types({"f32", "f16", "bf16", "q4_tiled", "f16", "f32", "f16", "vbit_ro", "u8"}));
  const auto plan = *plan_quantisation(package, options("q4t"));
  EXPECT_TRUE(plan[3].verbatim) << "already of that type";
  EXPECT_FALSE(plan[0].verbatim);
  EXPECT_TRUE(plan[8].verbatim) << "text is never quantised";
}

TEST(QuantPlan, RefusesFallingBackIfToldTo) {
  QuantPlanOptions strict = options("q4t");
  strict.no_fallback = true;
  const auto plan = plan_quantisation(model(), strict);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kRefused);
  EXPECT_THAT(plan.error().message, HasSubstr("1 tensors cannot have the type asked for"));
  EXPECT_EQ(plan.error().place, "model.layers.0.mlp.down_proj.weight");
  strict = options("q8");
  strict.no_fallback = true;
  EXPECT_TRUE(plan_quantisation(model(), strict)) << "f16 for norms is policy, not a fallback";
}

TEST(QuantPlan, ReadsTargetsAndRules) {
  EXPECT_EQ(parse_quant_target("q8")->dtype, DType::kQ8Row);
  EXPECT_EQ(parse_quant_target("q8_row")->dtype, DType::kQ8Row);
  EXPECT_EQ(parse_quant_target("q4")->dtype, DType::kQ4Block);
  EXPECT_EQ(parse_quant_target("q4t")->dtype, DType::kQ4Tiled);
  EXPECT_EQ(parse_quant_target("keep")->dtype, std::nullopt);
  EXPECT_EQ(parse_quant_target("vbit")->dtype, DType::kVbit);
  EXPECT_EQ(parse_quant_target("vbit")->vbit_budget, std::nullopt);
  EXPECT_EQ(parse_quant_target("vbit:4.5")->vbit_budget, 4.5);
  EXPECT_EQ(parse_quant_target("vbit:3")->vbit_budget, 3);
  EXPECT_EQ(parse_quant_target("vbit_ro:8")->dtype, DType::kVbitRo);
  EXPECT_EQ(parse_quant_target("vbit_ro:8")->vbit_budget, 8);
  for (const char* wrong :
       {"vbit:", "vbit:2.99", "vbit:8.01", "vbit:nan", "vbit:inf", "vbit:-4", "vbit:4x", "vbit: 4",
        "vbit:0x4", "vbit:1e999", "vbit:4:4", "q8:4", "q1s:0.01", "keep:4", ":4"})
    EXPECT_EQ(parse_quant_target(wrong).error().fault, Fault::kUsage) << wrong;
  const auto rule = parse_quant_rule("down_proj=vbit:5");
  ASSERT_TRUE(rule) << rule.error().message;
  EXPECT_EQ(rule->target.vbit_budget, 5);
  EXPECT_EQ(parse_quant_target("q5").error().fault, Fault::kUsage);
  EXPECT_EQ(parse_quant_target("").error().fault, Fault::kUsage);
  EXPECT_EQ(parse_quant_target("u8").error().fault, Fault::kUsage);
  EXPECT_TRUE(parse_quant_rule("a=b=q8")->pattern.found_in("xa=bx"));
  for (const char* wrong : {"q8", "=q8", "x=", "x=q5", "(=q8"})
    EXPECT_EQ(parse_quant_rule(wrong).error().fault, Fault::kUsage) << wrong;
}

TEST(QuantPlan, CoversEveryTypeThatCanBeWritten) {
  for (const char* target : {"q1", "q1s", "q1t", "vbit", "vbit_ro", "q4tp", "q2tp"}) {
    const std::string name(quant::find_codec(target)->name);
    EXPECT_EQ(types(model(), options(target)), Types({"q8_row", "f16", name, "f16", "q8_2f fallback", name,
                                                      "f16", "f16", "f16", "f16", name, "f16", "q8_row"}));
  }
}

TEST(QuantPlan, JudgesASkillsTensorByTheNameThatItReplaces) {
  Package package;
  package.header = *json::parse(R"({"skills":[{"id":"s","layers":[]}]})");
  package.tensors = {
      tensor("skill.s.model.embed_tokens.weight", {512, 64}),
      tensor("skill.s.lm_head.weight", {512, 64}),
      tensor("skill.s.model.layers.1.mlp.gate.weight", {8, 64}),
      tensor("skill.s.model.layers.0.self_attn.q_proj.weight", {64, 64}),
      tensor("skill.unknown.lm_head.weight", {512, 64}),
  };
  EXPECT_EQ(types(package, options("q4t")), Types({"q8_row", "q8_row", "f16", "q4_tiled", "q4_tiled"}));
  EXPECT_EQ(types(package, options("q4t", {"^skill\\.s\\.lm_head=q4"}))[1], "q4_block");
}

TEST(QuantPlan, PromisesTheBitsOfTheTypeThatWasAskedFor) {
  EXPECT_DOUBLE_EQ(nominal_bits(DType::kF16), 16);
  EXPECT_DOUBLE_EQ(nominal_bits(DType::kQ8Row), 8 + 16.0 / 4096);
  EXPECT_DOUBLE_EQ(nominal_bits(DType::kQ4Tiled), 4.5);
  // A byte per row and a scale per group of 32.
  EXPECT_DOUBLE_EQ(nominal_bits(DType::kVbit), 4.25 + 0.5 + 8.0 / 4096);
  EXPECT_DOUBLE_EQ(nominal_bits(DType::kVbit, 6), 6 + 0.5 + 8.0 / 4096);
  Package package = model();
  package.tensors.push_back(tensor("copied", {64, 64}, "q4_tiled", DType::kQ4Tiled));
  std::vector<std::byte> payload(2304);
  package.tensors.back().stored = payload;
  const auto plan = *plan_quantisation(package, options("q4t"));
  EXPECT_DOUBLE_EQ(plan[0].nominal_bits, 8 + 16.0 / 4096) << "q8_row, by policy";
  EXPECT_DOUBLE_EQ(plan[2].nominal_bits, 4.5);
  EXPECT_TRUE(plan[4].fallback);
  EXPECT_DOUBLE_EQ(plan[4].nominal_bits, 4.5) << "what it falls short of";
  EXPECT_DOUBLE_EQ(plan.back().nominal_bits, 8.0 * 2304 / 4096);
}

TEST(QuantPlan, RefusesATypeThatCannotBeWritten) {
  Package package;
  package.tensors = {tensor("scalar", {}, "F32", DType::kF32)};
  EXPECT_EQ(types(package, options("q8")), Types({"f16"}));
  package.tensors = {tensor("huge", {uint64_t{1} << 31, uint64_t{1} << 31})};
  const auto plan = plan_quantisation(package, options("f32"));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kRefused);
}

}  // namespace
}  // namespace amphora
