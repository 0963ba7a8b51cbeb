// Which token mixer a layer has, and its tensors: see plan_layer.h.
#include <cmath>

#include "model/plan_layer.h"

namespace amphora::model {
namespace {

/// Tensors that come together: one alone means that another got lost.
void want_all(Planner& planner, const std::string& prefix, std::initializer_list<const char*> names) {
  bool any = false;
  for (const char* name : names) any |= planner.tensors.has(prefix + name);
  if (!any) return;
  for (const char* name : names)
    if (!planner.tensors.has(prefix + name)) planner.findings.missing(prefix + name);
}

/// Weights of a norm of single heads or of the whole projection.
Result<std::vector<float>> plan_head_norm(Planner& planner, const std::string& name, size_t heads) {
  const size_t dim = planner.plan.head_dim;
  const uint64_t rows = planner.tensors.rows_of(name);
  return planner.tensors.vector(name, rows == heads * dim ? heads * dim : dim);
}

Result<MixerPlan> plan_attention(Planner& planner, const LayerPlace& place) {
  const std::string prefix = place.prefix + "self_attn.";
  const Plan& plan = planner.plan;
  TensorSource& tensors = planner.tensors;
  AttentionPlan attention;
  attention.heads = place.heads;
  attention.local = place.local;
  const size_t query_rows = place.heads * plan.head_dim, kv_rows = plan.kv_heads * plan.head_dim;
  attention.gated_queries = tensors.rows_of(prefix + "q_proj.weight") == 2 * query_rows;
  AMPHORA_ASSIGN(
      attention.q,
      tensors.linear(prefix + "q_proj", attention.gated_queries ? 2 * query_rows : query_rows, plan.hidden));
  AMPHORA_ASSIGN(attention.k, tensors.linear(prefix + "k_proj", kv_rows, plan.hidden));
  AMPHORA_ASSIGN(attention.v, tensors.linear(prefix + "v_proj", kv_rows, plan.hidden));
  AMPHORA_ASSIGN(attention.o, tensors.linear(prefix + "o_proj", plan.hidden, query_rows));
  want_all(planner, prefix, {"q_proj.bias", "k_proj.bias", "v_proj.bias"});
  want_all(planner, prefix, {"q_norm.weight", "k_norm.weight"});
  if (tensors.has(prefix + "q_norm.weight") && tensors.has(prefix + "k_norm.weight")) {
    AMPHORA_ASSIGN(attention.q_norm, plan_head_norm(planner, prefix + "q_norm.weight", place.heads));
    AMPHORA_ASSIGN(attention.k_norm, plan_head_norm(planner, prefix + "k_norm.weight", plan.kv_heads));
  }
  if (const std::string gate = prefix + "g_proj"; tensors.has(gate + ".weight")) {
    const bool per_head = tensors.rows_of(gate + ".weight") == place.heads;
    AMPHORA_ASSIGN(attention.gate, tensors.linear(gate, per_head ? place.heads : query_rows, plan.hidden));
  }
  return attention;
}

/// 0.1 · coefficient · ln(factor) + 1 (YaRN's temperature, as DeepSeek's reference applies it to the scores).
double yarn_temperature(double factor, double coefficient) {
  return factor > 1 ? 0.1 * coefficient * std::log(factor) + 1 : 1;
}

Result<MixerPlan> plan_latent_attention(Planner& planner, const LayerPlace& place) {
  const ModelSpec& spec = planner.spec;
  const std::string prefix = place.prefix + "self_attn.";
  TensorSource& tensors = planner.tensors;
  LatentAttentionPlan latent;
  latent.heads = place.heads;
  if (!spec.mla) {
    planner.findings.contradiction(place.prefix + "self_attn has latent projections, but arch.mla is absent");
    return latent;
  }
  const MlaSpec& mla = *spec.mla;
  latent.rope_dim = mla.qk_rope_head_dim;
  latent.nope_dim = mla.qk_nope_head_dim;
  latent.value_dim = mla.v_head_dim;
  latent.rotated = !mla.nope;
  latent.scale = 1 / std::sqrt(static_cast<float>(spec.query_pre_attn_scalar.value_or(latent.key_dim())));
  if (spec.yarn && spec.yarn->mscale_all_dim) {
    const double temperature = yarn_temperature(spec.yarn->factor, *spec.yarn->mscale_all_dim);
    latent.scale *= static_cast<float>(temperature * temperature);
  }

  const size_t hidden = planner.plan.hidden, heads = place.heads;
  const size_t query_rows = heads * latent.key_dim();
  if (tensors.has(prefix + "q_proj.weight")) {
    AMPHORA_ASSIGN(latent.q, tensors.linear(prefix + "q_proj", query_rows, hidden));
  } else {
    const size_t rank =
        mla.q_lora_rank.value_or(static_cast<uint32_t>(tensors.rows_of(prefix + "q_a_proj.weight")));
    AMPHORA_ASSIGN(latent.q_a, tensors.linear(prefix + "q_a_proj", rank, hidden));
    AMPHORA_ASSIGN(latent.q_a_norm, tensors.vector(prefix + "q_a_layernorm.weight", rank));
    AMPHORA_ASSIGN(latent.q, tensors.linear(prefix + "q_b_proj", query_rows, rank));
  }
  AMPHORA_ASSIGN(latent.kv_a, tensors.linear(prefix + "kv_a_proj_with_mqa",
                                             size_t{mla.kv_lora_rank} + latent.rope_dim, hidden));
  AMPHORA_ASSIGN(latent.kv_a_norm, tensors.vector(prefix + "kv_a_layernorm.weight", mla.kv_lora_rank));
  AMPHORA_ASSIGN(latent.kv_b, tensors.linear(prefix + "kv_b_proj",
                                             heads * (latent.nope_dim + latent.value_dim), mla.kv_lora_rank));
  AMPHORA_ASSIGN(latent.o, tensors.linear(prefix + "o_proj", hidden, heads * latent.value_dim));
  return latent;
}

/// exp of every element: A_log to rates.
std::vector<float> exponentials(std::vector<float> values) {
  for (float& value : values) value = static_cast<float>(std::exp(static_cast<double>(value)));
  return values;
}

/// Taps of a short convolution: as `arch` says, else as many as the tensor has.
size_t taps_of(Planner& planner, const std::string& name, std::optional<uint32_t> said) {
  const uint64_t taps = said ? *said : planner.tensors.columns_of(name);
  if (taps == 0 && planner.tensors.has(name)) planner.findings.contradiction(name + " has no taps");
  return taps;
}

Result<MixerPlan> plan_gated_delta_net(Planner& planner, const LayerPlace& place) {
  const ModelSpec& spec = planner.spec;
  const std::string prefix = place.prefix + "linear_attn.";
  TensorSource& tensors = planner.tensors;
  DeltaPlan delta;
  if (!spec.linear_core || !spec.linear_num_key_heads || !spec.linear_key_head_dim) {
    planner.findings.contradiction(
        "arch.linear_core, linear_num_key_heads or linear_key_head_dim is absent, but there is " + prefix +
        "in_proj_qkv.weight");
    return delta;
  }
  delta.key_heads = *spec.linear_num_key_heads;
  delta.key_dim = *spec.linear_key_head_dim;
  delta.value_heads = spec.linear_core->num_heads;
  delta.value_dim = spec.linear_core->value_head_dim;
  if (delta.key_heads == 0 || delta.key_dim == 0 || delta.value_heads == 0 || delta.value_dim == 0 ||
      delta.value_heads % delta.key_heads != 0) {
    planner.findings.contradiction(std::to_string(delta.value_heads) + " value heads cannot share " +
                                   std::to_string(delta.key_heads) + " key heads in " + prefix);
    return delta;
  }
  const size_t hidden = planner.plan.hidden, values = delta.value_heads * delta.value_dim;
  delta.qkv.resize(1);
  AMPHORA_ASSIGN(delta.qkv[0], tensors.linear(prefix + "in_proj_qkv", delta.channels(), hidden));
  delta.taps = taps_of(planner, prefix + "conv1d.weight", spec.linear_conv_kernel_dim);
  AMPHORA_ASSIGN(delta.convolution, tensors.values(prefix + "conv1d.weight", delta.channels() * delta.taps));
  AMPHORA_ASSIGN(delta.decay.first, tensors.linear(prefix + "in_proj_a", delta.value_heads, hidden));
  AMPHORA_ASSIGN(auto logs, tensors.values(prefix + "A_log", delta.value_heads));
  delta.rates = exponentials(std::move(logs));
  AMPHORA_ASSIGN(delta.decay_bias, tensors.values(prefix + "dt_bias", delta.value_heads));
  AMPHORA_ASSIGN(delta.beta, tensors.linear(prefix + "in_proj_b", delta.value_heads, hidden));
  AMPHORA_ASSIGN(delta.gate.first, tensors.linear(prefix + "in_proj_z", values, hidden));
  AMPHORA_ASSIGN(delta.norm, tensors.vector(prefix + "norm.weight", delta.value_dim));
  AMPHORA_ASSIGN(delta.out, tensors.linear(prefix + "out_proj", hidden, values));
  return delta;
}

/// `name` itself, or `name_a` and `name_b` for one of low rank ("g_proj", "g_a_proj").
Result<Projection> plan_projection(Planner& planner, const std::string& prefix, const char* letter,
                                   size_t rows) {
  const std::string whole = prefix + letter + "_proj", first = prefix + letter + "_a_proj";
  const size_t hidden = planner.plan.hidden;
  Projection projection;
  if (planner.tensors.has(whole + ".weight")) {
    AMPHORA_ASSIGN(projection.first, planner.tensors.linear(whole, rows, hidden));
    return projection;
  }
  const size_t rank = planner.tensors.rows_of(first + ".weight");
  AMPHORA_ASSIGN(projection.first, planner.tensors.linear(first, rank, hidden));
  AMPHORA_ASSIGN(projection.second, planner.tensors.linear(prefix + letter + "_b_proj", rows, rank));
  return projection;
}

Result<MixerPlan> plan_kimi_delta(Planner& planner, const LayerPlace& place) {
  const ModelSpec& spec = planner.spec;
  const std::string prefix = place.prefix + "kda_attn.";
  TensorSource& tensors = planner.tensors;
  DeltaPlan delta;
  delta.sigmoid_gate = true;
  delta.key_heads = delta.value_heads = spec.linear_num_key_heads.value_or(0);
  delta.key_dim = spec.linear_key_head_dim.value_or(0);
  delta.value_dim = spec.linear_value_head_dim.value_or(static_cast<uint32_t>(delta.key_dim));
  if (delta.key_heads == 0 || delta.key_dim == 0 || delta.value_dim == 0) {
    planner.findings.contradiction(
        "arch.linear_num_key_heads or linear_key_head_dim is absent, but there is " + prefix +
        "q_proj.weight");
    return delta;
  }
  const size_t hidden = planner.plan.hidden;
  const size_t keys = delta.key_heads * delta.key_dim, values = delta.value_heads * delta.value_dim;
  delta.taps = taps_of(planner, prefix + "q_conv1d.weight", spec.linear_conv_kernel_dim);
  delta.qkv.resize(3);
  const std::pair<const char*, size_t> parts[] = {{"q", keys}, {"k", keys}, {"v", values}};
  for (size_t i = 0; i < 3; ++i) {
    const auto& [letter, rows] = parts[i];
    AMPHORA_ASSIGN(delta.qkv[i], tensors.linear(prefix + letter + "_proj", rows, hidden));
    AMPHORA_ASSIGN(const auto taps, tensors.values(prefix + letter + "_conv1d.weight", rows * delta.taps));
    delta.convolution.insert(delta.convolution.end(), taps.begin(), taps.end());
  }
  delta.decay_channels = delta.key_dim;
  AMPHORA_ASSIGN(delta.decay, plan_projection(planner, prefix, "f", keys));
  AMPHORA_ASSIGN(auto logs, tensors.values(prefix + "A_log", delta.value_heads));
  delta.rates = exponentials(std::move(logs));
  AMPHORA_ASSIGN(delta.decay_bias, tensors.values(prefix + "dt_bias", keys));
  if (spec.kda_gate_lower_bound) delta.decay_lower_bound = static_cast<float>(*spec.kda_gate_lower_bound);
  AMPHORA_ASSIGN(delta.beta, tensors.linear(prefix + "b_proj", delta.value_heads, hidden));
  AMPHORA_ASSIGN(delta.gate, plan_projection(planner, prefix, "g", values));
  AMPHORA_ASSIGN(delta.norm, tensors.vector(prefix + "o_norm.weight", delta.value_dim));
  AMPHORA_ASSIGN(delta.out, tensors.linear(prefix + "o_proj", hidden, values));
  return delta;
}

Result<MixerPlan> plan_short_convolution(Planner& planner, const LayerPlace& place) {
  const std::string prefix = place.prefix + "short_conv.";
  const size_t hidden = planner.plan.hidden;
  ShortConvolutionPlan convolution;
  AMPHORA_ASSIGN(convolution.in, planner.tensors.linear(prefix + "in_proj", 3 * hidden, hidden));
  convolution.taps = taps_of(planner, prefix + "conv.weight", std::nullopt);
  AMPHORA_ASSIGN(convolution.convolution,
                 planner.tensors.values(prefix + "conv.weight", hidden * convolution.taps));
  AMPHORA_ASSIGN(convolution.out, planner.tensors.linear(prefix + "out_proj", hidden, hidden));
  return convolution;
}

}  // namespace

Result<MixerPlan> plan_mixer(Planner& planner, const LayerPlace& place) {
  const auto has = [&](const char* name) { return planner.tensors.has(place.prefix + name); };
  // Named as unsupported when it is found to be unused; the usual tensors are not missed beside it.
  if (has("vmf_attn.out_proj.weight")) return AttentionPlan{};
  if (has("linear_attn.in_proj_qkv.weight")) return plan_gated_delta_net(planner, place);
  if (has("kda_attn.q_proj.weight")) return plan_kimi_delta(planner, place);
  if (has("short_conv.in_proj.weight")) return plan_short_convolution(planner, place);
  if (has("self_attn.kv_a_proj_with_mqa.weight")) return plan_latent_attention(planner, place);
  if (planner.spec.mla && has("self_attn.k_proj.weight"))
    planner.findings.unsupported(place.prefix + "self_attn is plain attention in a model with arch.mla");
  return plan_attention(planner, place);
}

}  // namespace amphora::model
