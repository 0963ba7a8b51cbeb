// The plan of a model: see plan.h. Presence of tensors decides; every tensor must find its place.
#include "model/plan.h"

#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "model/findings.h"
#include "quant/codec.h"

namespace amphora::model {
namespace {

// Operators that other models have, told by a part of their tensors' names.
struct ForeignOperator {
  std::string_view part;
  std::string_view name;
};
constexpr ForeignOperator kForeignOperators[] = {
    {"mlp.gate.", "mixture of experts"},
    {"mlp.experts.", "mixture of experts"},
    {"mlp.shared_expert", "mixture of experts"},
    {"mlp.expert_bias", "mixture of experts"},
    {"mlp.per_expert_scale", "mixture of experts"},
    {"block_sparse_moe.", "mixture of experts"},
    {"linear_attn.", "gated delta net"},
    {"short_conv.", "short convolution"},
    {"kda_attn.", "Kimi delta attention"},
    {"vmf_attn.", "vmf_phase attention"},
    {"self_attn.kv_a_", "multi-head latent attention"},
    {"self_attn.kv_b_", "multi-head latent attention"},
    {"self_attn.q_a_", "multi-head latent attention"},
    {"self_attn.q_b_", "multi-head latent attention"},
    {"self_attn.g_proj.", "attention output gate"},
    {"self_attn.sinks", "attention sinks"},
    {"layer_scalar", "layer scalar"},
    {"lm_head.clusters.", "hierarchical head"},
    {"altup", "Gemma 3n stack"},
    {"laurel", "Gemma 3n stack"},
    {"per_layer_", "Gemma 3n stack"},
    {"dit.", "image pipeline"},
    {"vae.", "image pipeline"},
};

// Keys of `arch` that describe operators which have tensors of their own: the tensors decide.
constexpr std::string_view kHarmlessKeys[] = {
    "mtp",
    "linear_core",
    "linear_conv_kernel_dim",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "kda_gate_lower_bound",
    "activation_situ_beta",
    "activation_situ_linear_beta",
};

bool is_ignorable(std::string_view name) {
  if (name.starts_with("skill.") || name.starts_with("model.mtp.")) return true;
  if (name.ends_with(".down_proj.t.weight") || name.ends_with(".rotary_emb.inv_freq")) return true;
  if (!name.ends_with(".weight")) return false;
  const size_t tube = name.rfind(".tube");
  if (tube == std::string_view::npos) return false;
  const std::string_view number = name.substr(tube + 5, name.size() - 7 - (tube + 5));
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view find_foreign_operator(std::string_view name) {
  for (const ForeignOperator& foreign : kForeignOperators) {
    const size_t at = name.find(foreign.part);
    if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.')) return foreign.name;
  }
  return {};
}

std::string text_of(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t dimension : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  return text + ']';
}

// Takes tensors by name; what is amiss goes to the findings, and an empty matrix or vector stands in for it.
class Tensors {
 public:
  Tensors(const Package& package, Findings& findings) : package_(package), findings_(findings) {
    for (const PackageTensor& tensor : package.tensors) by_name_.emplace(tensor.name, &tensor);
  }

  bool has(const std::string& name) const { return by_name_.contains(name); }

  /// Rows of a matrix, 0 if it is not there.
  uint64_t rows_of(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() || found->second->shape.empty() ? 0 : found->second->shape[0];
  }

  kernels::Matrix matrix(const std::string& name, uint64_t rows, uint64_t columns) {
    const PackageTensor* tensor = take(name, {rows, columns});
    if (!tensor) return {};
    if (!tensor->dtype) {
      if (foreign_types_.insert(tensor->stored_type).second)
        findings_.unsupported(name + " and others are stored as " + tensor->stored_type +
                              ", which is not run directly: convert the model first");
      return {};
    }
    if (!kernels::supports(*tensor->dtype)) {
      if (foreign_types_.insert(tensor->stored_type).second)
        findings_.unsupported(name + " and others have element type " +
                              std::string(quant::name_of(*tensor->dtype)) +
                              ", which is not run yet: convert the model to another type first");
      return {};
    }
    const quant::Codec* codec = quant::find_codec(*tensor->dtype);
    const auto bytes = codec && codec->payload_bytes ? codec->payload_bytes(tensor->shape) : std::nullopt;
    if (bytes && *bytes != tensor->stored.size()) {
      findings_.contradiction(name + " has " + std::to_string(tensor->stored.size()) +
                              " bytes, its shape wants " + std::to_string(*bytes));
      return {};
    }
    return {*tensor->dtype, rows, columns, tensor->stored};
  }

  Result<std::vector<float>> vector(const std::string& name, uint64_t count) {
    const PackageTensor* tensor = take(name, {count});
    if (!tensor) return std::vector<float>{};
    std::vector<float> values(count);
    AMPHORA_TRY(tensor->read(0, values));
    return values;
  }

  Result<std::vector<float>> vector_if_present(const std::string& name, uint64_t count) {
    if (!has(name)) return std::vector<float>{};
    return vector(name, count);
  }

  /// `name` without ".weight" or ".bias".
  Result<Linear> linear(const std::string& name, uint64_t rows, uint64_t columns) {
    Linear linear{matrix(name + ".weight", rows, columns), {}};
    AMPHORA_ASSIGN(linear.bias, vector_if_present(name + ".bias", rows));
    return linear;
  }

  void report_unused() {
    for (const PackageTensor& tensor : package_.tensors) {
      if (taken_.contains(&tensor) || is_ignorable(tensor.name)) continue;
      const std::string_view foreign = find_foreign_operator(tensor.name);
      if (foreign.empty())
        findings_.unused(tensor.name);
      else
        findings_.unsupported_operator(foreign, tensor.name);
    }
  }

 private:
  // A tensor counts as taken even if its shape is wrong: one fault, one finding.
  const PackageTensor* take(const std::string& name, const std::vector<uint64_t>& shape) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      findings_.missing(name);
      return nullptr;
    }
    taken_.insert(found->second);
    if (found->second->shape != shape) {
      findings_.contradiction(name + " has shape " + text_of(found->second->shape) + ", wanted " +
                              text_of(shape));
      return nullptr;
    }
    return found->second;
  }

  const Package& package_;
  Findings& findings_;
  std::unordered_map<std::string_view, const PackageTensor*> by_name_;
  std::unordered_set<const PackageTensor*> taken_;
  std::unordered_set<std::string> foreign_types_;
};

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
  return {};
}

// Values that switch a feature off, as writers put them.
bool is_neutral(const json::Value& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) ||
         (value.is_array() && value.items().empty());
}

void check_options(const ModelSpec& spec, Findings& findings) {
  if (!spec.norm_style) findings.unsupported("arch.norm_style is absent, so how to normalise is not known");
  if (spec.num_loops != 1)
    findings.unsupported("arch.num_loops = " + std::to_string(spec.num_loops) + " is not supported");
  for (const json::Member& member : spec.other) {
    bool harmless = is_neutral(member.value);
    for (const std::string_view key : kHarmlessKeys) harmless |= member.key == key;
    if (!harmless) findings.unsupported("arch." + member.key + " is not supported");
  }
}

Status plan_attention(Tensors& tensors, Findings& findings, const std::string& prefix, const Plan& plan,
                      LayerPlan& layer) {
  const std::string attention = prefix + "self_attn.";
  const size_t query_rows = layer.heads * plan.head_dim;
  const size_t kv_rows = plan.kv_heads * plan.head_dim;
  if (tensors.rows_of(attention + "q_proj.weight") == 2 * query_rows)
    findings.unsupported_operator("attention output gate", attention + "q_proj.weight");
  AMPHORA_ASSIGN(layer.q, tensors.linear(attention + "q_proj", query_rows, plan.hidden));
  AMPHORA_ASSIGN(layer.k, tensors.linear(attention + "k_proj", kv_rows, plan.hidden));
  AMPHORA_ASSIGN(layer.v, tensors.linear(attention + "v_proj", kv_rows, plan.hidden));
  AMPHORA_ASSIGN(layer.o, tensors.linear(attention + "o_proj", plan.hidden, query_rows));
  // Biases of q, k and v come together, and so do the norms of q and k: one alone means that another got
  // lost.
  if (tensors.has(attention + "q_proj.bias") || tensors.has(attention + "k_proj.bias") ||
      tensors.has(attention + "v_proj.bias")) {
    for (const char* name : {"q_proj.bias", "k_proj.bias", "v_proj.bias"})
      if (!tensors.has(attention + name)) findings.missing(attention + name);
  }
  if (tensors.has(attention + "q_norm.weight") || tensors.has(attention + "k_norm.weight")) {
    AMPHORA_ASSIGN(layer.q_norm, tensors.vector(attention + "q_norm.weight", plan.head_dim));
    AMPHORA_ASSIGN(layer.k_norm, tensors.vector(attention + "k_norm.weight", plan.head_dim));
  }
  return {};
}

Status plan_ffn(Tensors& tensors, Findings& findings, const std::string& prefix, const ModelSpec& spec,
                Plan& plan, LayerPlan& layer) {
  const std::string ffn = prefix + "mlp.";
  // A layer may have kept fewer neurons than the widest one.
  uint64_t width = tensors.rows_of(ffn + "gate_proj.weight");
  if (width > spec.intermediate_size) {
    findings.contradiction(ffn + "gate_proj.weight has " + std::to_string(width) +
                           " rows, arch.intermediate_size is " + std::to_string(spec.intermediate_size));
  }
  if (width == 0) width = spec.intermediate_size;
  plan.widest_ffn = std::max<size_t>(plan.widest_ffn, width);
  AMPHORA_ASSIGN(layer.gate, tensors.linear(ffn + "gate_proj", width, plan.hidden));
  AMPHORA_ASSIGN(layer.up, tensors.linear(ffn + "up_proj", width, plan.hidden));
  AMPHORA_ASSIGN(layer.down, tensors.linear(ffn + "down_proj", plan.hidden, width));
  return {};
}

// Whether a layer has an attention or FFN of another kind, so that the usual tensors are not missed.
struct ForeignParts {
  bool attention = false, ffn = false;
};

std::vector<ForeignParts> find_foreign_parts(const Package& package) {
  std::vector<ForeignParts> layers(package.spec.num_layers);
  std::unordered_map<std::string, uint32_t> index_of;
  for (uint32_t layer = 0; layer < package.spec.num_layers; ++layer)
    index_of.emplace("model.layers." + std::to_string(layer), layer);
  for (const PackageTensor& tensor : package.tensors) {
    const std::string_view foreign = find_foreign_operator(tensor.name);
    if (foreign.empty() || !tensor.name.starts_with("model.layers.")) continue;
    const auto layer =
        index_of.find(tensor.name.substr(0, tensor.name.find('.', std::string_view("model.layers.").size())));
    if (layer == index_of.end()) continue;
    if (foreign == "mixture of experts")
      layers[layer->second].ffn = true;
    else
      layers[layer->second].attention = true;
  }
  return layers;
}

Status plan_layer(Tensors& tensors, Findings& findings, const ModelSpec& spec, uint32_t index,
                  ForeignParts foreign, Plan& plan) {
  LayerPlan& layer = plan.layers[index];
  layer.heads = spec.attention_heads_per_layer.empty() ? spec.num_attention_heads
                                                       : spec.attention_heads_per_layer[index];
  layer.local = spec.is_local(index);
  if (layer.local && !spec.sliding_window)
    findings.contradiction("layer " + std::to_string(index) +
                           " has a sliding window, but arch.sliding_window is absent");
  plan.most_heads = std::max<size_t>(plan.most_heads, layer.heads);

  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  AMPHORA_ASSIGN(layer.attention_norm, tensors.vector(prefix + "input_layernorm.weight", plan.hidden));
  if (!foreign.attention) AMPHORA_TRY(plan_attention(tensors, findings, prefix, plan, layer));
  if (tensors.has(prefix +
                  "pre_feedforward_layernorm.weight")) {  // Gemma's sandwich: both branches have two norms
    AMPHORA_ASSIGN(layer.attention_output_norm,
                   tensors.vector(prefix + "post_attention_layernorm.weight", plan.hidden));
    AMPHORA_ASSIGN(layer.ffn_norm, tensors.vector(prefix + "pre_feedforward_layernorm.weight", plan.hidden));
    AMPHORA_ASSIGN(layer.ffn_output_norm,
                   tensors.vector(prefix + "post_feedforward_layernorm.weight", plan.hidden));
  } else {
    AMPHORA_ASSIGN(layer.ffn_norm, tensors.vector(prefix + "post_attention_layernorm.weight", plan.hidden));
  }
  if (!foreign.ffn) AMPHORA_TRY(plan_ffn(tensors, findings, prefix, spec, plan, layer));
  return {};
}

}  // namespace

Result<std::unique_ptr<const Plan>> plan_model(const Package& package) {
  const ModelSpec& spec = package.spec;
  AMPHORA_TRY(check_dimensions(package));
  Findings findings;
  check_options(spec, findings);

  auto plan = std::make_unique<Plan>();
  plan->hidden = spec.hidden_size;
  plan->vocabulary = spec.vocab_size;
  plan->kv_heads = spec.num_kv_heads;
  plan->head_dim = spec.head_dim;
  plan->norm_eps = static_cast<float>(spec.rms_norm_eps);
  plan->norm_one_plus = spec.norm_style == NormStyle::kOnePlus;
  plan->activation = spec.hidden_act;
  plan->embedding_scale = static_cast<float>(spec.embed_multiplier);
  plan->attention_scale = static_cast<float>(
      1 / std::sqrt(spec.query_pre_attn_scalar.value_or(static_cast<double>(spec.head_dim))));
  plan->attention_softcap = static_cast<float>(spec.attn_logit_softcapping.value_or(0));
  plan->logit_scale = static_cast<float>(spec.logit_multiplier);
  plan->logit_softcap = static_cast<float>(spec.final_logit_softcapping.value_or(0));
  plan->window = spec.sliding_window.value_or(0);
  AMPHORA_ASSIGN(plan->rope, plan_rope(spec));

  Tensors tensors(package, findings);
  plan->embedding = tensors.matrix("model.embed_tokens.weight", spec.vocab_size, spec.hidden_size);
  plan->head = spec.tie_word_embeddings && !tensors.has("lm_head.weight")
                   ? plan->embedding
                   : tensors.matrix("lm_head.weight", spec.vocab_size, spec.hidden_size);
  AMPHORA_ASSIGN(plan->final_norm, tensors.vector("model.norm.weight", spec.hidden_size));
  const std::vector<ForeignParts> foreign = find_foreign_parts(package);
  plan->layers.resize(spec.num_layers);
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
    AMPHORA_TRY(plan_layer(tensors, findings, spec, layer, foreign[layer], *plan));
  tensors.report_unused();

  if (!findings.empty()) return std::unexpected(findings.error());
  return plan;
}

}  // namespace amphora::model
