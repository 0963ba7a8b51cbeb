// ModelSpec to and from the header's `arch` object.
#include "package/arch_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "package/arch_operators.h"
#include "package/name_table.h"
#include "package/object_reader.h"

namespace amphora::package {
namespace {

constexpr std::array kLayerTypes = {
    NamedValue<LayerType>{"FullAttention", LayerType::kFullAttention},
    NamedValue<LayerType>{"SlidingAttention", LayerType::kSlidingAttention},
    NamedValue<LayerType>{"LinearAttention", LayerType::kLinearAttention},
    NamedValue<LayerType>{"ShortConv", LayerType::kShortConv},
    NamedValue<LayerType>{"Kda", LayerType::kKda},
};
constexpr std::array kNormStyles = {
    NamedValue<NormStyle>{"qwen", NormStyle::kPlain},
    NamedValue<NormStyle>{"gemma", NormStyle::kOnePlus},
};
constexpr std::array kActivations = {
    NamedValue<Activation>{"silu", Activation::kSilu},
    NamedValue<Activation>{"gelu_tanh", Activation::kGeluTanh},
};

/// Keys of the specification that change what a model computes and that ModelSpec has no field for.
constexpr std::array<std::string_view, 7> kOther = {
    "activation_situ_beta",
    "activation_situ_linear_beta",
    "global_head_dim",
    "num_global_kv_heads",
    "global_partial_rotary_factor",
    "head_clusters",
    "g3n",
};

/// Counts of arch itself that only some operators have.
struct OperatorCount {
  std::string_view key;
  std::optional<uint32_t> ModelSpec::* field;
};
constexpr std::array kOperatorCounts = {
    OperatorCount{"linear_conv_kernel_dim", &ModelSpec::linear_conv_kernel_dim},
    OperatorCount{"linear_num_key_heads", &ModelSpec::linear_num_key_heads},
    OperatorCount{"linear_num_value_heads", &ModelSpec::linear_num_value_heads},
    OperatorCount{"linear_key_head_dim", &ModelSpec::linear_key_head_dim},
    OperatorCount{"linear_value_head_dim", &ModelSpec::linear_value_head_dim},
};

std::vector<LayerType> read_layer_types(ObjectReader& arch, uint32_t num_layers) {
  std::vector<LayerType> types;
  if (arch.object().find_present("layer_types") == nullptr) {
    arch.read_string("layer_types");  // records that it is missing
    return types;
  }
  for (const std::string& name : arch.find_strings("layer_types")) {
    const LayerType* type = find_value(kLayerTypes, name);
    if (type == nullptr) {
      arch.reject("layer_types", fmt::format("element {} is the unknown type '{}'", types.size(), name));
      return types;
    }
    types.push_back(*type);
  }
  if (types.size() != num_layers)
    arch.reject("layer_types", fmt::format("has {} elements for {} layers", types.size(), num_layers));
  return types;
}

Result<YarnSpec> decode_yarn(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  YarnSpec yarn;
  yarn.factor = in.read_number("factor");
  yarn.original_max_position_embeddings = in.read_integer("original_max_position_embeddings");
  yarn.beta_fast = in.find_number("beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = in.find_number("beta_slow").value_or(yarn.beta_slow);
  yarn.attention_factor = in.find_number("attention_factor").value_or(yarn.attention_factor);
  yarn.mscale_all_dim = in.find_number("mscale_all_dim");
  AMPHORA_TRY(in.status());
  return yarn;
}

Result<LongRopeSpec> decode_longrope(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  LongRopeSpec longrope;
  longrope.short_factors = in.find_floats("short");
  longrope.long_factors = in.find_floats("long");
  longrope.original_max_position_embeddings = in.find_integer("original_max_position_embeddings").value_or(0);
  longrope.attention_factor = in.find_number("attention_factor").value_or(longrope.attention_factor);
  AMPHORA_TRY(in.status());
  return longrope;
}

json::Value encode_yarn(const YarnSpec& yarn) {
  json::Value out = json::Value::object();
  out.set("factor", json::Value::number(yarn.factor));
  out.set("original_max_position_embeddings",
          json::Value::unsigned_integer(yarn.original_max_position_embeddings));
  out.set("beta_fast", json::Value::number(yarn.beta_fast));
  out.set("beta_slow", json::Value::number(yarn.beta_slow));
  out.set("attention_factor", json::Value::number(yarn.attention_factor));
  if (yarn.mscale_all_dim) out.set("mscale_all_dim", json::Value::number(*yarn.mscale_all_dim));
  return out;
}

json::Value encode_floats(const std::vector<float>& floats) {
  std::vector<json::Value> items;
  items.reserve(floats.size());
  for (const float value : floats) items.push_back(json::Value::number(value));
  return json::Value::array(std::move(items));
}

json::Value encode_longrope(const LongRopeSpec& longrope) {
  json::Value out = json::Value::object();
  out.set("short", encode_floats(longrope.short_factors));
  out.set("long", encode_floats(longrope.long_factors));
  out.set("original_max_position_embeddings",
          json::Value::unsigned_integer(longrope.original_max_position_embeddings));
  out.set("attention_factor", json::Value::number(longrope.attention_factor));
  return out;
}

}  // namespace

Result<ModelSpec> decode_arch(const json::Value& arch) {
  if (!arch.is_object())
    return fail_at(Fault::kCorrupt, "Parse", "$.arch", std::nullopt, "arch is not an object");
  ObjectReader in(arch, "$.arch");
  ModelSpec spec;
  spec.arch_name = in.read_string("arch_name");
  spec.hidden_size = in.read_integer("hidden_size");
  spec.intermediate_size = in.read_integer("intermediate_size");
  spec.num_layers = in.read_integer("num_layers");
  spec.num_attention_heads = in.read_integer("num_attention_heads");
  spec.num_kv_heads = in.read_integer("num_kv_heads");
  spec.head_dim = in.read_integer("head_dim");
  spec.vocab_size = in.read_integer("vocab_size");
  spec.layer_types = read_layer_types(in, spec.num_layers);
  spec.rms_norm_eps = in.read_number("rms_norm_eps");
  spec.max_position_embeddings = in.read_integer("max_position_embeddings");

  if (const std::string* name = in.find_string("norm_style")) {
    if (const NormStyle* style = find_value(kNormStyles, *name))
      spec.norm_style = *style;
    else
      in.reject("norm_style", fmt::format("unknown style '{}'", *name));
  }
  spec.rope_theta = in.find_number("rope_theta").value_or(spec.rope_theta);
  spec.tie_word_embeddings = in.find_bool("tie_word_embeddings").value_or(spec.tie_word_embeddings);
  spec.partial_rotary_factor = in.find_number("partial_rotary_factor").value_or(spec.partial_rotary_factor);
  if (const std::string* name = in.find_string("hidden_act")) {
    if (const Activation* activation = find_value(kActivations, *name))
      spec.hidden_act = *activation;
    else
      in.reject("hidden_act", fmt::format("this program has no activation '{}'", *name), Fault::kUnsupported);
  }
  spec.embed_multiplier = in.find_number("embed_multiplier").value_or(spec.embed_multiplier);
  spec.query_pre_attn_scalar = in.find_number("query_pre_attn_scalar");
  spec.sliding_window = in.find_integer("sliding_window");
  spec.sliding_window_pattern = in.find_integer("sliding_window_pattern");
  if (spec.sliding_window_pattern == 0u) in.reject("sliding_window_pattern", "0 is no pattern");
  spec.rope_local_base_freq = in.find_number("rope_local_base_freq");
  spec.local_partial_rotary_factor = in.find_number("local_partial_rotary_factor");
  spec.final_logit_softcapping = in.find_number("final_logit_softcapping");
  spec.attn_logit_softcapping = in.find_number("attn_logit_softcapping");
  spec.logit_multiplier = in.find_number("logit_multiplier").value_or(spec.logit_multiplier);
  if (const json::Value* yarn = in.find_object("yarn")) {
    AMPHORA_ASSIGN(spec.yarn, decode_yarn(*yarn, in.place("yarn")));
  }
  if (const json::Value* longrope = in.find_object("longrope")) {
    AMPHORA_ASSIGN(spec.longrope, decode_longrope(*longrope, in.place("longrope")));
  }
  spec.rope_freq_factors = in.find_floats("rope_freq_factors");
  for (const float factor : spec.rope_freq_factors)
    if (!(factor > 0)) in.reject("rope_freq_factors", "a factor is not above 0");
  spec.attention_heads_per_layer = in.find_integers("attention_heads_per_layer");
  if (!spec.attention_heads_per_layer.empty() && spec.attention_heads_per_layer.size() != spec.num_layers)
    in.reject(
        "attention_heads_per_layer",
        fmt::format("has {} elements for {} layers", spec.attention_heads_per_layer.size(), spec.num_layers));
  spec.attn_v_norm = in.find_bool("attn_v_norm").value_or(spec.attn_v_norm);
  spec.num_loops = in.find_integer("num_loops").value_or(spec.num_loops);
  if (spec.num_loops == 0) in.reject("num_loops", "0 loops run nothing");
  spec.loop_final_norm = in.find_bool("loop_final_norm").value_or(spec.loop_final_norm);
  for (const OperatorCount& count : kOperatorCounts) spec.*count.field = in.find_integer(count.key);
  spec.kda_gate_lower_bound = in.find_number("kda_gate_lower_bound");
  AMPHORA_TRY(decode_operators(in, spec));
  AMPHORA_TRY(in.status());

  for (const json::Member& member : arch.members()) {
    if (std::ranges::find(kOther, member.key) != kOther.end() && !member.value.is_null())
      spec.other.push_back(member);
  }
  return spec;
}

json::Value encode_arch(const ModelSpec& spec) {
  json::Value out = json::Value::object();
  const auto integer = [&](std::string_view key, uint32_t value) {
    out.set(key, json::Value::unsigned_integer(value));
  };
  const auto number = [&](std::string_view key, double value) { out.set(key, json::Value::number(value)); };
  const auto optional_number = [&](std::string_view key, const std::optional<double>& value) {
    if (value) number(key, *value);
  };
  const auto unless_neutral = [&](std::string_view key, double value, double neutral) {
    if (value != neutral) number(key, value);
  };

  out.set("arch_name", json::Value::string(spec.arch_name));
  integer("hidden_size", spec.hidden_size);
  integer("intermediate_size", spec.intermediate_size);
  integer("num_layers", spec.num_layers);
  integer("num_attention_heads", spec.num_attention_heads);
  integer("num_kv_heads", spec.num_kv_heads);
  integer("head_dim", spec.head_dim);
  integer("vocab_size", spec.vocab_size);
  std::vector<json::Value> types;
  for (const LayerType type : spec.layer_types) types.push_back(name_value(kLayerTypes, type));
  out.set("layer_types", json::Value::array(std::move(types)));
  number("rms_norm_eps", spec.rms_norm_eps);
  if (spec.norm_style) out.set("norm_style", name_value(kNormStyles, *spec.norm_style));
  number("rope_theta", spec.rope_theta);
  out.set("tie_word_embeddings", json::Value::boolean(spec.tie_word_embeddings));
  number("partial_rotary_factor", spec.partial_rotary_factor);
  if (spec.yarn) out.set("yarn", encode_yarn(*spec.yarn));
  if (spec.longrope) out.set("longrope", encode_longrope(*spec.longrope));
  if (!spec.rope_freq_factors.empty()) out.set("rope_freq_factors", encode_floats(spec.rope_freq_factors));
  if (!spec.attention_heads_per_layer.empty()) {
    std::vector<json::Value> heads;
    for (const uint32_t count : spec.attention_heads_per_layer)
      heads.push_back(json::Value::unsigned_integer(count));
    out.set("attention_heads_per_layer", json::Value::array(std::move(heads)));
  }
  if (spec.hidden_act != Activation::kSilu) out.set("hidden_act", name_value(kActivations, spec.hidden_act));
  unless_neutral("embed_multiplier", spec.embed_multiplier, 1);
  optional_number("query_pre_attn_scalar", spec.query_pre_attn_scalar);
  if (spec.sliding_window) integer("sliding_window", *spec.sliding_window);
  if (spec.sliding_window_pattern) integer("sliding_window_pattern", *spec.sliding_window_pattern);
  optional_number("rope_local_base_freq", spec.rope_local_base_freq);
  optional_number("local_partial_rotary_factor", spec.local_partial_rotary_factor);
  optional_number("final_logit_softcapping", spec.final_logit_softcapping);
  optional_number("attn_logit_softcapping", spec.attn_logit_softcapping);
  unless_neutral("logit_multiplier", spec.logit_multiplier, 1);
  integer("max_position_embeddings", spec.max_position_embeddings);
  if (spec.attn_v_norm) out.set("attn_v_norm", json::Value::boolean(true));
  if (spec.num_loops != 1) integer("num_loops", spec.num_loops);
  if (spec.loop_final_norm) out.set("loop_final_norm", json::Value::boolean(true));
  for (const OperatorCount& count : kOperatorCounts)
    if (spec.*count.field) integer(count.key, *(spec.*count.field));
  optional_number("kda_gate_lower_bound", spec.kda_gate_lower_bound);
  encode_operators(spec, out);
  for (const json::Member& member : spec.other) out.set(member.key, member.value);
  return out;
}

}  // namespace amphora::package
