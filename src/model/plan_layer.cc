// Feed-forward parts and norms of a layer: see plan_layer.h.
#include "model/plan_layer.h"

#include <algorithm>
#include <cmath>

namespace amphora::model {
namespace {

Result<FeedForwardPlan> plan_feed_forward(Planner& planner, const std::string& prefix, size_t width) {
  const size_t hidden = planner.plan.hidden;
  FeedForwardPlan ffn;
  AMPHORA_ASSIGN(ffn.gate, planner.tensors.linear(prefix + "gate_proj", width, hidden));
  AMPHORA_ASSIGN(ffn.up, planner.tensors.linear(prefix + "up_proj", width, hidden));
  AMPHORA_ASSIGN(ffn.down, planner.tensors.linear(prefix + "down_proj", hidden, width));
  return ffn;
}

/// Neurons of a feed-forward part: those that its gate has, at most `most`.
size_t width_of(Planner& planner, const std::string& prefix, size_t most, const char* key) {
  const uint64_t width = planner.tensors.rows_of(prefix + "gate_proj.weight");
  if (width > most)
    planner.findings.contradiction(prefix + "gate_proj.weight has " + std::to_string(width) + " rows, arch." +
                                   key + " is " + std::to_string(most));
  return width == 0 ? most : width;
}

/// Whether the choice of groups makes sense; DeepSeek-V3 scores a group by its two best experts.
bool groups_fit(const MoeSpec& moe, size_t experts) {
  const uint32_t groups = moe.n_group.value_or(1), chosen = moe.topk_group.value_or(groups);
  if (groups == 1 && chosen == 1) return true;
  return groups != 0 && chosen != 0 && chosen <= groups && experts % groups == 0 && experts / groups >= 2;
}

Result<FfnPlan> plan_experts(Planner& planner, const std::string& prefix) {
  TensorSource& tensors = planner.tensors;
  ExpertsPlan mixture;
  if (!planner.spec.moe) {
    planner.findings.contradiction(prefix + "gate.weight is a router, but arch.moe is absent");
    return mixture;
  }
  const MoeSpec& moe = *planner.spec.moe;
  size_t experts = 0;
  const auto expert_prefix = [&](size_t expert) {
    return prefix + "experts." + std::to_string(expert) + ".";
  };
  while (tensors.has(expert_prefix(experts) + "gate_proj.weight")) ++experts;
  if (experts == 0) planner.findings.missing(expert_prefix(0) + "gate_proj.weight");
  if (experts > moe.num_experts)
    planner.findings.contradiction(prefix + "experts are " + std::to_string(experts) +
                                   ", arch.moe.num_experts is " + std::to_string(moe.num_experts));
  AMPHORA_ASSIGN(mixture.router, tensors.linear(prefix + "gate", experts, planner.plan.hidden));
  AMPHORA_ASSIGN(mixture.choice_bias, tensors.vector_if_present(prefix + "expert_bias", experts));
  mixture.experts.reserve(experts);
  for (size_t expert = 0; expert < experts; ++expert) {
    AMPHORA_ASSIGN(auto ffn, plan_feed_forward(planner, expert_prefix(expert), moe.moe_intermediate_size));
    mixture.experts.push_back(std::move(ffn));
  }
  const std::string shared = prefix + "shared_expert.";
  if (tensors.has(shared + "gate_proj.weight")) {
    const size_t width = moe.shared_expert_intermediate_size.value_or(
        static_cast<uint32_t>(tensors.rows_of(shared + "gate_proj.weight")));
    AMPHORA_ASSIGN(mixture.shared, plan_feed_forward(planner, shared, width));
  }
  if (mixture.shared && tensors.has(prefix + "shared_expert_gate.weight")) {
    AMPHORA_ASSIGN(mixture.shared_gate,
                   tensors.linear(prefix + "shared_expert_gate", 1, planner.plan.hidden));
  }

  mixture.top_k = std::min<size_t>(moe.top_k, experts);
  mixture.sigmoid = moe.router_sigmoid;
  mixture.normalised = moe.norm_topk_prob;
  mixture.scaling = static_cast<float>(moe.routed_scaling_factor);
  mixture.groups = moe.n_group.value_or(1);
  mixture.chosen_groups = moe.topk_group.value_or(static_cast<uint32_t>(mixture.groups));
  if (!groups_fit(moe, experts))
    planner.findings.contradiction("arch.moe.n_group and topk_group do not fit the " +
                                   std::to_string(experts) + " experts of " + prefix);
  if (tensors.has(prefix + "gate_proj.weight"))
    planner.findings.unsupported_operator("dense branch beside a mixture", prefix + "gate_proj.weight");
  return mixture;
}

}  // namespace

Result<FfnPlan> plan_ffn(Planner& planner, const LayerPlace& place) {
  const std::string prefix = place.prefix + "mlp.";
  if (planner.tensors.has(prefix + "gate.weight")) return plan_experts(planner, prefix);
  return plan_feed_forward(planner, prefix,
                           width_of(planner, prefix, planner.spec.intermediate_size, "intermediate_size"));
}

Result<LayerPlan> plan_layer(Planner& planner, const LayerPlace& place) {
  TensorSource& tensors = planner.tensors;
  const size_t hidden = planner.plan.hidden;
  const auto norm = [&](const char* name) { return tensors.vector(place.prefix + name, hidden); };
  const auto has = [&](const char* name) { return tensors.has(place.prefix + name); };
  constexpr const char* kInput = "input_layernorm.weight";
  constexpr const char* kPostAttention = "post_attention_layernorm.weight";
  constexpr const char* kBeforeFfn = "pre_feedforward_layernorm.weight";
  constexpr const char* kPostFfn = "post_feedforward_layernorm.weight";

  LayerPlan layer;
  if (has(kBeforeFfn)) {  // Gemma's sandwich: both branches have two norms
    AMPHORA_ASSIGN(layer.mixer_norm, norm(kInput));
    AMPHORA_ASSIGN(layer.mixer_output_norm, norm(kPostAttention));
    AMPHORA_ASSIGN(layer.ffn_norm, norm(kBeforeFfn));
    AMPHORA_ASSIGN(layer.ffn_output_norm, norm(kPostFfn));
  } else if (!has(kInput) && has(kPostFfn)) {  // OLMo 2: only the branches' outputs
    AMPHORA_ASSIGN(layer.mixer_output_norm, norm(kPostAttention));
    AMPHORA_ASSIGN(layer.ffn_output_norm, norm(kPostFfn));
  } else {
    AMPHORA_ASSIGN(layer.mixer_norm, norm(kInput));
    AMPHORA_ASSIGN(layer.ffn_norm, norm(kPostAttention));
  }
  AMPHORA_ASSIGN(layer.mixer, plan_mixer(planner, place));
  AMPHORA_ASSIGN(layer.ffn, plan_ffn(planner, place));
  return layer;
}

}  // namespace amphora::model
