// ModelSpec to and from the header's `arch` object.
#include "package/arch_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "package/object_reader.h"

namespace amphora::package {
namespace {

template <class T>
using NameTable = std::pair<std::string_view, T>;

constexpr std::array kLayerTypes = {
    NameTable<LayerType>{"FullAttention", LayerType::kFullAttention},
    NameTable<LayerType>{"SlidingAttention", LayerType::kSlidingAttention},
    NameTable<LayerType>{"LinearAttention", LayerType::kLinearAttention},
    NameTable<LayerType>{"ShortConv", LayerType::kShortConv},
    NameTable<LayerType>{"Kda", LayerType::kKda},
};
constexpr std::array kNormStyles = {
    NameTable<NormStyle>{"qwen", NormStyle::kPlain},
    NameTable<NormStyle>{"gemma", NormStyle::kOnePlus},
};
constexpr std::array kActivations = {
    NameTable<Activation>{"silu", Activation::kSilu},
    NameTable<Activation>{"gelu_tanh", Activation::kGeluTanh},
};

template <class Table>
auto find_value(const Table& table, std::string_view name) -> const typename Table::value_type::second_type* {
  for (const auto& entry : table)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

template <class Table, class T>
json::Value name_value(const Table& table, T value) {
  for (const auto& entry : table)
    if (entry.second == value) return json::Value::string(std::string(entry.first));
  return {};  // every enumerator has its line
}

/// Keys of the specification that change what a model computes and that ModelSpec has no field for.
constexpr std::array<std::string_view, 19> kOther = {
    "linear_conv_kernel_dim",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_core",
    "mtp",
    "moe",
    "mla",
    "activation_situ_beta",
    "activation_situ_linear_beta",
    "global_head_dim",
    "num_global_kv_heads",
    "global_partial_rotary_factor",
    "attn_v_norm",
    "head_clusters",
    "g3n",
    "kda_gate_lower_bound",
    "loop_final_norm",
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
  spec.num_loops = in.find_integer("num_loops").value_or(spec.num_loops);
  if (spec.num_loops == 0) in.reject("num_loops", "0 loops run nothing");
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
  if (spec.num_loops != 1) integer("num_loops", spec.num_loops);
  for (const json::Member& member : spec.other) out.set(member.key, member.value);
  return out;
}

}  // namespace amphora::package
