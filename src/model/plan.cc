// The plan of a model: see plan.h. Presence of tensors decides; every tensor must find its place.
#include "model/plan.h"

#include <cmath>
#include <string>

#include "model/findings.h"
#include "model/plan_layer.h"
#include "model/tensor_source.h"

namespace amphora::model {
namespace {

/// Passes through layers at most: each has a state of its own.
constexpr uint32_t kMostVisits = 1 << 16;
/// Dimensions of one head at most.
constexpr uint32_t kMostHeadDimension = 1 << 16;

// Keys of `arch` that change nothing unless another key asks for them.
constexpr std::string_view kHarmlessKeys[] = {"activation_situ_beta", "activation_situ_linear_beta"};

Status check_latent(const MlaSpec& mla) {
  const auto sane = [](uint32_t dimension) { return dimension > 0 && dimension <= kMostHeadDimension; };
  if (!sane(mla.kv_lora_rank) || !sane(mla.qk_rope_head_dim) || !sane(mla.qk_nope_head_dim) ||
      !sane(mla.v_head_dim) || (mla.q_lora_rank && !sane(*mla.q_lora_rank)) || mla.qk_rope_head_dim % 2 != 0)
    return fail(Fault::kCorrupt, "this model cannot run: a dimension in arch.mla is out of range");
  return {};
}

// What the plan relies on before it looks at tensors. Sizes are tied to tensors later, by their shapes.
Status check_dimensions(const Package& package) {
  const ModelSpec& spec = package.spec;
  const auto corrupt = [](std::string words) {
    return fail(Fault::kCorrupt, "this model cannot run: " + words);
  };
  if (spec.num_layers == 0 || spec.num_layers > package.tensors.size())
    return corrupt("arch.num_layers is " + std::to_string(spec.num_layers) + ", but there are " +
                   std::to_string(package.tensors.size()) + " tensors");
  if (spec.hidden_size == 0 || spec.head_dim == 0 || spec.vocab_size == 0 ||
      spec.max_position_embeddings == 0)
    return corrupt("hidden_size, head_dim, vocab_size or max_position_embeddings in arch is 0");
  if (spec.layer_types.size() != spec.num_layers)
    return corrupt("arch.layer_types has " + std::to_string(spec.layer_types.size()) + " entries for " +
                   std::to_string(spec.num_layers) + " layers");
  if (!spec.attention_heads_per_layer.empty() && spec.attention_heads_per_layer.size() != spec.num_layers)
    return corrupt("arch.attention_heads_per_layer does not have one entry per layer");
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
    const uint32_t heads = spec.attention_heads_per_layer.empty() ? spec.num_attention_heads
                                                                  : spec.attention_heads_per_layer[layer];
    if (spec.num_kv_heads == 0 || heads == 0 || heads % spec.num_kv_heads != 0)
      return corrupt(std::to_string(heads) + " attention heads cannot share " +
                     std::to_string(spec.num_kv_heads) + " key-value heads");
  }
  if (!std::isfinite(spec.rms_norm_eps) || spec.rms_norm_eps < 0)
    return corrupt("arch.rms_norm_eps is negative");
  if (spec.query_pre_attn_scalar && !(*spec.query_pre_attn_scalar > 0))
    return corrupt("arch.query_pre_attn_scalar is not positive");
  if (spec.sliding_window == 0u) return corrupt("arch.sliding_window is 0");
  if (spec.num_loops == 0 || spec.num_loops > kMostVisits / spec.num_layers)
    return corrupt("arch.num_loops is " + std::to_string(spec.num_loops) + " for " +
                   std::to_string(spec.num_layers) + " layers");
  if (spec.mla) AMPHORA_TRY(check_latent(*spec.mla));
  if (spec.moe && (spec.moe->num_experts == 0 || spec.moe->top_k == 0))
    return corrupt("arch.moe has no experts or chooses none");
  if (spec.linear_conv_kernel_dim == 0u) return corrupt("arch.linear_conv_kernel_dim is 0");
  return {};
}

// Values that switch a feature off, as writers put them.
bool is_neutral(const json::Value& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) ||
         (value.is_array() && value.items().empty());
}

void check_options(const ModelSpec& spec, Findings& findings) {
  if (!spec.norm_style) findings.unsupported("arch.norm_style is absent, so how to normalise is not known");
  if (spec.moe && spec.moe->router_resonance)
    findings.unsupported("arch.moe.router_resonance is not supported");
  if (spec.linear_core && spec.linear_core->kind == LinearCore::kVmfPhase)
    findings.unsupported("arch.linear_core of kind vmf_phase is not supported");
  for (const json::Member& member : spec.other) {
    bool harmless = is_neutral(member.value);
    for (const std::string_view key : kHarmlessKeys) harmless |= member.key == key;
    if (!harmless) findings.unsupported("arch." + member.key + " is not supported");
  }
}

void set_constants(const ModelSpec& spec, Plan& plan) {
  plan.hidden = spec.hidden_size;
  plan.vocabulary = spec.vocab_size;
  plan.kv_heads = spec.num_kv_heads;
  plan.head_dim = spec.head_dim;
  plan.norm_eps = static_cast<float>(spec.rms_norm_eps);
  plan.norm_one_plus = spec.norm_style == NormStyle::kOnePlus;
  plan.activation = spec.hidden_act;
  plan.embedding_scale = static_cast<float>(spec.embed_multiplier);
  plan.attention_scale = static_cast<float>(
      1 / std::sqrt(spec.query_pre_attn_scalar.value_or(static_cast<double>(spec.head_dim))));
  plan.attention_softcap = static_cast<float>(spec.attn_logit_softcapping.value_or(0));
  plan.logit_scale = static_cast<float>(spec.logit_multiplier);
  plan.logit_softcap = static_cast<float>(spec.final_logit_softcapping.value_or(0));
  plan.window = spec.sliding_window.value_or(0);
  if (spec.attn_v_norm) plan.v_norm.assign(plan.head_dim, plan.norm_one_plus ? 0.0f : 1.0f);
  plan.loops = spec.num_loops;
  plan.loop_final_norm = spec.loop_final_norm;
}

LayerPlace place_of(const ModelSpec& spec, uint32_t layer, Findings& findings) {
  LayerPlace place;
  place.prefix = "model.layers." + std::to_string(layer) + ".";
  place.heads = spec.attention_heads_per_layer.empty() ? spec.num_attention_heads
                                                       : spec.attention_heads_per_layer[layer];
  place.local = spec.is_local(layer);
  if (place.local && !spec.sliding_window)
    findings.contradiction("layer " + std::to_string(layer) +
                           " has a sliding window, but arch.sliding_window is absent");
  return place;
}

/// The predictor of the token after the next: its tensors make it, arch.mtp only describes it.
Status plan_mtp(Planner& planner, Plan& plan) {
  constexpr std::string_view kPrefix = "model.mtp.";
  const std::string prefix(kPrefix);
  TensorSource& tensors = planner.tensors;
  if (!tensors.has(prefix + "eh_proj.weight")) return {};
  MtpPlan mtp;
  AMPHORA_ASSIGN(mtp.join, tensors.linear(prefix + "eh_proj", plan.hidden, 2 * plan.hidden));
  AMPHORA_ASSIGN(mtp.embedding_norm, tensors.vector(prefix + "enorm.weight", plan.hidden));
  AMPHORA_ASSIGN(mtp.hidden_norm, tensors.vector(prefix + "hnorm.weight", plan.hidden));
  AMPHORA_ASSIGN(mtp.norm, tensors.vector(prefix + "norm.weight", plan.hidden));
  LayerPlace place;
  place.prefix = prefix + "layers.0.";
  place.heads = planner.spec.num_attention_heads;
  AMPHORA_ASSIGN(mtp.layer, plan_layer(planner, place));
  if (planner.spec.mtp) {
    mtp.hidden_normed = planner.spec.mtp->hidden_normed;
    if (planner.spec.mtp->num_layers > 1)
      planner.findings.unsupported("arch.mtp.num_layers is " + std::to_string(planner.spec.mtp->num_layers) +
                                   ", only 1 is supported");
    if (!planner.spec.mtp->share_lm_head || !planner.spec.mtp->share_embed)
      planner.findings.unsupported("arch.mtp with a head or an embedding of its own is not supported");
  }
  plan.mtp = std::move(mtp);
  return {};
}

}  // namespace

Result<std::unique_ptr<const Plan>> plan_model(const Package& package) {
  const ModelSpec& spec = package.spec;
  AMPHORA_TRY(check_dimensions(package));
  Findings findings;
  check_options(spec, findings);

  auto plan = std::make_unique<Plan>();
  set_constants(spec, *plan);
  AMPHORA_ASSIGN(plan->rope, plan_rope(spec));

  TensorSource tensors(package, findings);
  plan->embedding = tensors.matrix("model.embed_tokens.weight", spec.vocab_size, spec.hidden_size);
  plan->head = spec.tie_word_embeddings && !tensors.has("lm_head.weight")
                   ? plan->embedding
                   : tensors.matrix("lm_head.weight", spec.vocab_size, spec.hidden_size);
  AMPHORA_ASSIGN(plan->final_norm, tensors.vector("model.norm.weight", spec.hidden_size));
  Planner planner{spec, *plan, tensors, findings};
  plan->layers.reserve(spec.num_layers);
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
    AMPHORA_ASSIGN(auto planned, plan_layer(planner, place_of(spec, layer, findings)));
    plan->layers.push_back(std::move(planned));
  }
  AMPHORA_TRY(plan_mtp(planner, *plan));
  tensors.report_unused();

  if (!findings.empty()) return std::unexpected(findings.error());
  return plan;
}

}  // namespace amphora::model
