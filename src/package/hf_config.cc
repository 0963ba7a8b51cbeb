// Families of decoders: what their config.json says, and what it means where it is silent.
#include "package/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "package/hf_rope.h"
#include "package/limits.h"
#include "package/object_reader.h"

namespace amphora::package {
namespace {

/// Which layers see only a window.
enum class Windows : uint8_t {
  kNone,     ///< none
  kAll,      ///< every layer, if there is a sliding_window
  kUpper,    ///< from max_window_layers on, if use_sliding_window; layer_types decide where they are given
  kPattern,  ///< all but every sliding_window_pattern-th; layer_types decide where they are given
};

/// What the Gemma families have besides: scaled embeddings, a query scalar, soft caps.
struct GemmaDefaults {
  uint32_t window_pattern;  ///< every so many layers one sees everything
  double query_scalar;
  std::optional<double> attention_softcap, final_softcap;
};
constexpr GemmaDefaults kGemma2 = {2, 256, 50, 30};
constexpr GemmaDefaults kGemma3 = {6, 256, std::nullopt, std::nullopt};

/// The defaults of transformers' configuration classes; 0 where a configuration has to say it.
struct Family {
  std::string_view architecture;
  std::string_view arch_name;
  NormStyle norm_style;
  std::string_view activation_key;
  std::string_view activation;
  Windows windows;
  uint32_t sliding_window;  ///< 0: none unless the configuration gives one
  uint32_t vocab_size, hidden_size, intermediate_size, num_layers;
  uint32_t num_attention_heads;
  uint32_t num_kv_heads;  ///< 0: as many as attention heads
  uint32_t head_dim;      ///< 0: hidden_size / num_attention_heads
  uint32_t max_position_embeddings;
  double rms_norm_eps;
  bool tied;
  RopeDefaults rope;
  const GemmaDefaults* gemma;  ///< null: no Gemma
};

constexpr std::array kFamilies = {
    Family{"LlamaForCausalLM",
           "llama",
           NormStyle::kPlain,
           "hidden_act",
           "silu",
           Windows::kNone,
           0,
           0,
           0,
           0,
           0,
           0,
           0,
           0,
           2048,
           1e-6,
           false,
           {10000, {}},
           nullptr},
    Family{"MistralForCausalLM",
           "mistral",
           NormStyle::kPlain,
           "hidden_act",
           "silu",
           Windows::kAll,
           4096,
           0,
           0,
           0,
           0,
           0,
           8,
           0,
           131072,
           1e-6,
           false,
           {10000, {}},
           nullptr},
    Family{"Qwen2ForCausalLM",
           "qwen2",
           NormStyle::kPlain,
           "hidden_act",
           "silu",
           Windows::kUpper,
           4096,
           0,
           0,
           0,
           0,
           0,
           0,
           0,
           32768,
           1e-6,
           false,
           {10000, {}},
           nullptr},
    Family{"Qwen3ForCausalLM",
           "qwen3",
           NormStyle::kPlain,
           "hidden_act",
           "silu",
           Windows::kUpper,
           4096,
           0,
           0,
           0,
           0,
           0,
           0,
           128,
           32768,
           1e-6,
           false,
           {10000, {}},
           nullptr},
    Family{"Phi3ForCausalLM",
           "phi3",
           NormStyle::kPlain,
           "hidden_act",
           "silu",
           Windows::kAll,
           0,
           32064,
           3072,
           8192,
           32,
           32,
           0,
           0,
           4096,
           1e-5,
           false,
           {10000, {}},
           nullptr},
    Family{"Gemma2ForCausalLM",
           "gemma2",
           NormStyle::kOnePlus,
           "hidden_activation",
           "gelu_pytorch_tanh",
           Windows::kPattern,
           4096,
           256000,
           2304,
           9216,
           26,
           8,
           4,
           256,
           8192,
           1e-6,
           true,
           {10000, {}},
           &kGemma2},
    Family{"Gemma3ForCausalLM",
           "gemma3_text",
           NormStyle::kOnePlus,
           "hidden_activation",
           "gelu_pytorch_tanh",
           Windows::kPattern,
           4096,
           262208,
           2304,
           9216,
           26,
           8,
           4,
           256,
           131072,
           1e-6,
           true,
           {1e6, 10000},
           &kGemma3},
};
/// Its language model is the Gemma3ForCausalLM under `text_config`.
constexpr std::string_view kGemma3Multimodal = "Gemma3ForConditionalGeneration";
constexpr uint32_t kQwenMaxWindowLayers = 28;

std::string supported_architectures() {
  std::string names;
  for (const Family& family : kFamilies) names += fmt::format("{}, ", family.architecture);
  return names + std::string(kGemma3Multimodal);
}

/// Refuses what is quantised already: its tensors are not what their names say.
Status refuse_quantised(ObjectReader& config) {
  const json::Value* block = config.object().find_present("quantization_config");
  if (block == nullptr) return {};
  std::string method = "an unnamed method";
  if (block->is_object()) {
    const json::Value* named = block->find_present("quant_method");
    if (named != nullptr && named->is_string())
      method = named->text();
    else if (block->find_present("load_in_4bit") != nullptr || block->find_present("load_in_8bit") != nullptr)
      method = "bitsandbytes";
  }
  return fail_at(Fault::kUnsupported, "Quantised", config.place("quantization_config"), std::nullopt,
                 fmt::format("the source is already quantised by {}: get the original weights", method));
}

struct Chosen {
  const Family* family;
  const json::Value* config;  ///< the object that describes the language model
  std::string path;
};

Result<Chosen> choose_family(ObjectReader& root) {
  const std::vector<std::string> architectures = root.find_strings("architectures");
  const std::string* model_type = root.find_string("model_type");
  AMPHORA_TRY(root.status());
  std::string name;
  if (!architectures.empty()) {
    name = architectures.front();
  } else if (model_type != nullptr) {
    const auto* known = std::ranges::find(kFamilies, std::string_view(*model_type), &Family::arch_name);
    if (known != kFamilies.end()) return Chosen{known, &root.object(), "$"};
    name = *model_type;
  } else {
    return fail_at(Fault::kCorrupt, "Missing", "$.architectures", std::nullopt,
                   "neither architectures nor a model_type is there");
  }
  if (name == kGemma3Multimodal) {
    const json::Value* text = root.find_object("text_config");
    AMPHORA_TRY(root.status());
    if (text == nullptr)
      return fail_at(Fault::kCorrupt, "Missing", "$.text_config", std::nullopt,
                     fmt::format("{} without a text_config", name));
    return Chosen{&kFamilies.back(), text, root.place("text_config")};
  }
  const auto* known = std::ranges::find(kFamilies, std::string_view(name), &Family::architecture);
  if (known != kFamilies.end()) return Chosen{known, &root.object(), "$"};
  return fail_at(
      Fault::kUnsupported, "Architecture", "$.architectures", std::nullopt,
      fmt::format("the architecture {} is not supported (supported: {})", name, supported_architectures()));
}

/// A dimension that must lie in 1 … limit.
uint32_t read_dimension(ObjectReader& in, std::string_view key, uint32_t otherwise, uint32_t limit) {
  const uint32_t value = otherwise == 0 ? in.read_integer(key) : in.find_integer(key).value_or(otherwise);
  if (!in.ok()) return value;
  if (value == 0) in.reject(key, "0 is not possible");
  if (value > limit)
    in.reject(key, fmt::format("{} is more than the limit of {}", value, limit), Fault::kRefused);
  return value;
}

void read_dimensions(ObjectReader& in, const Family& family, ModelSpec& spec) {
  spec.hidden_size = read_dimension(in, "hidden_size", family.hidden_size, kMaxDimension);
  spec.intermediate_size = read_dimension(in, "intermediate_size", family.intermediate_size, kMaxDimension);
  spec.num_layers = read_dimension(in, "num_hidden_layers", family.num_layers, kMaxLayers);
  spec.num_attention_heads = read_dimension(in, "num_attention_heads", family.num_attention_heads, kMaxHeads);
  if (!in.ok()) return;
  const json::Value* written_kv_heads = in.object().find("num_key_value_heads");
  const bool kv_heads_null =
      written_kv_heads != nullptr && written_kv_heads->is_null();  // not the same as absent
  const uint32_t kv_heads =
      family.num_kv_heads == 0 || kv_heads_null ? spec.num_attention_heads : family.num_kv_heads;
  spec.num_kv_heads = read_dimension(in, "num_key_value_heads", kv_heads, kMaxHeads);
  if (in.ok() && spec.num_attention_heads % spec.num_kv_heads != 0)
    in.reject("num_key_value_heads", fmt::format("{} does not divide {} attention heads", spec.num_kv_heads,
                                                 spec.num_attention_heads));
  if (family.head_dim == 0 && in.object().find_present("head_dim") == nullptr &&
      spec.hidden_size % spec.num_attention_heads != 0)
    in.reject("num_attention_heads",
              fmt::format("{} does not divide hidden_size {}, and there is no head_dim",
                          spec.num_attention_heads, spec.hidden_size));
  const uint32_t head_dim =
      family.head_dim == 0 ? std::max(1u, spec.hidden_size / spec.num_attention_heads) : family.head_dim;
  spec.head_dim = read_dimension(in, "head_dim", head_dim, kMaxHeadDimension);
  if (spec.head_dim % 2 != 0) in.reject("head_dim", fmt::format("{} is odd", spec.head_dim));
  spec.vocab_size = read_dimension(in, "vocab_size", family.vocab_size, kMaxDimension);
  spec.max_position_embeddings =
      in.find_integer("max_position_embeddings").value_or(family.max_position_embeddings);
  if (spec.max_position_embeddings == 0) in.reject("max_position_embeddings", "0 is not possible");
  spec.rms_norm_eps = in.find_number("rms_norm_eps").value_or(family.rms_norm_eps);
  if (!(spec.rms_norm_eps >= 0)) in.reject("rms_norm_eps", fmt::format("{} is negative", spec.rms_norm_eps));
}

void read_activation(ObjectReader& in, const Family& family, ModelSpec& spec) {
  const std::string* written = in.find_string(family.activation_key);
  const std::string_view name = written == nullptr ? family.activation : std::string_view(*written);
  if (name == "silu" || name == "swish")
    spec.hidden_act = Activation::kSilu;
  else if (name == "gelu_pytorch_tanh" || name == "gelu_new")
    spec.hidden_act = Activation::kGeluTanh;
  else
    in.reject(family.activation_key, fmt::format("this program has no activation '{}'", name),
              Fault::kUnsupported);
}

/// The layer types that follow from the family's rule alone.
std::vector<LayerType> types_by_rule(ObjectReader& in, const Family& family, const ModelSpec& spec) {
  std::vector<LayerType> types(spec.num_layers, LayerType::kFullAttention);
  switch (family.windows) {
    case Windows::kNone: break;
    case Windows::kAll:
      if (spec.sliding_window) types.assign(spec.num_layers, LayerType::kSlidingAttention);
      break;
    case Windows::kUpper: {
      const uint32_t first = in.find_integer("max_window_layers").value_or(kQwenMaxWindowLayers);
      for (uint32_t layer = first; spec.sliding_window && layer < spec.num_layers; ++layer)
        types[layer] = LayerType::kSlidingAttention;
      break;
    }
    case Windows::kPattern: {
      const auto pattern = in.find_integer("sliding_window_pattern");
      const auto older = in.find_integer("_sliding_window_pattern");
      const uint32_t period = pattern ? *pattern : older.value_or(family.gemma->window_pattern);
      if (period == 0) {
        in.reject("sliding_window_pattern", "0 is no pattern");
        break;
      }
      for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
        if ((layer + 1) % period != 0) types[layer] = LayerType::kSlidingAttention;
      break;
    }
  }
  return types;
}

/// The window as it takes effect: Qwen's counts only with use_sliding_window.
std::optional<uint32_t> read_window(ObjectReader& in, const Family& family) {
  if (family.windows == Windows::kNone) return std::nullopt;
  if (family.windows == Windows::kUpper && !in.find_bool("use_sliding_window").value_or(false))
    return std::nullopt;
  const json::Value* written = in.object().find("sliding_window");
  const bool none = written != nullptr && written->is_null();  // null is a statement here, absence is not
  if (none) return std::nullopt;
  if (written == nullptr && family.sliding_window == 0) return std::nullopt;
  const uint32_t window = in.find_integer("sliding_window").value_or(family.sliding_window);
  if (window == 0) in.reject("sliding_window", "a window of 0 positions");
  return window;
}

void read_layers(ObjectReader& in, const Family& family, ModelSpec& spec) {
  spec.sliding_window = read_window(in, family);
  if (!in.ok()) return;
  spec.layer_types = types_by_rule(in, family, spec);
  if (in.object().find_present("layer_types") != nullptr) {
    std::vector<LayerType> types;
    for (const std::string& name : in.find_strings("layer_types")) {
      if (name == "full_attention")
        types.push_back(LayerType::kFullAttention);
      else if (name == "sliding_attention")
        types.push_back(LayerType::kSlidingAttention);
      else
        in.reject("layer_types", fmt::format("layers of type '{}' are not supported", name),
                  Fault::kUnsupported);
    }
    if (types.size() != spec.num_layers)
      in.reject("layer_types", fmt::format("has {} elements for {} layers", types.size(), spec.num_layers));
    const bool decides = family.windows == Windows::kUpper || family.windows == Windows::kPattern;
    if (!decides && types != spec.layer_types)
      in.reject("layer_types", fmt::format("{} does not have these layers", family.architecture),
                Fault::kUnsupported);
    spec.layer_types = std::move(types);
  }
  const bool any_local =
      std::ranges::find(spec.layer_types, LayerType::kSlidingAttention) != spec.layer_types.end();
  if (any_local && !spec.sliding_window) in.reject("sliding_window", "sliding layers without a window");
  if (!any_local) spec.sliding_window.reset();
}

/// A cap that a null switches off.
std::optional<double> read_softcap(ObjectReader& in, std::string_view key, std::optional<double> otherwise) {
  return in.object().find(key) == nullptr ? otherwise : in.find_number(key);
}

void read_gemma(ObjectReader& in, const GemmaDefaults& defaults, ModelSpec& spec) {
  spec.embed_multiplier = std::sqrt(static_cast<double>(spec.hidden_size));
  spec.query_pre_attn_scalar = in.find_number("query_pre_attn_scalar").value_or(defaults.query_scalar);
  if (!(*spec.query_pre_attn_scalar > 0)) in.reject("query_pre_attn_scalar", "is not above 0");
  spec.final_logit_softcapping = read_softcap(in, "final_logit_softcapping", defaults.final_softcap);
  spec.attn_logit_softcapping = read_softcap(in, "attn_logit_softcapping", defaults.attention_softcap);
  for (const auto& [key, cap] : {std::pair{"final_logit_softcapping", spec.final_logit_softcapping},
                                 std::pair{"attn_logit_softcapping", spec.attn_logit_softcapping}})
    if (cap && !(*cap > 0)) in.reject(key, "is not above 0");
  if (in.find_bool("use_bidirectional_attention").value_or(false))
    in.reject("use_bidirectional_attention", "attention to later positions is not supported",
              Fault::kUnsupported);
}

std::optional<uint32_t> read_token_id(ObjectReader& in, std::string_view key) {
  const json::Value* value = in.object().find_present(key);
  if (value != nullptr && value->as_integer() == -1) return std::nullopt;  // "none", as older files write it
  return in.find_integer(key);
}

}  // namespace

Result<TokenizerConfig> decode_token_ids(const json::Value& object, const std::string& path) {
  ObjectReader in(object, path);
  TokenizerConfig ids;
  const json::Value* eos = object.find_present("eos_token_id");
  if (eos != nullptr && eos->is_array())
    ids.eos_token_ids = in.find_integers("eos_token_id");
  else if (const auto id = read_token_id(in, "eos_token_id"))
    ids.eos_token_ids = {*id};
  ids.bos_token_id = read_token_id(in, "bos_token_id");
  ids.pad_token_id = read_token_id(in, "pad_token_id");
  AMPHORA_TRY(in.status());
  return ids;
}

Result<HfConfig> decode_hf_config(std::string_view text) {
  AMPHORA_ASSIGN(json::Value root, json::parse(text));
  if (!root.is_object()) return fail_at(Fault::kCorrupt, "Parse", "$", 0, "not an object");
  ObjectReader root_in(root, "$");
  AMPHORA_ASSIGN(const Chosen chosen, choose_family(root_in));
  const Family& family = *chosen.family;
  ObjectReader in(*chosen.config, chosen.path);
  AMPHORA_TRY(refuse_quantised(root_in));
  AMPHORA_TRY(refuse_quantised(in));

  HfConfig config;
  ModelSpec& spec = config.spec;
  spec.arch_name = family.arch_name;
  spec.norm_style = family.norm_style;
  read_dimensions(in, family, spec);
  AMPHORA_TRY(in.status());
  read_activation(in, family, spec);
  read_layers(in, family, spec);
  if (family.gemma != nullptr) read_gemma(in, *family.gemma, spec);
  auto tied = in.find_bool("tie_word_embeddings");
  if (!tied && chosen.config != &root) tied = root_in.find_bool("tie_word_embeddings");
  AMPHORA_TRY(in.status());
  AMPHORA_TRY(root_in.status());
  config.says_tied = tied.has_value();
  spec.tie_word_embeddings = tied.value_or(family.tied);
  AMPHORA_TRY(decode_rope(*chosen.config, chosen.path, family.rope, spec));

  config.has_other_parts = chosen.config != &root;
  AMPHORA_ASSIGN(config.token_ids, decode_token_ids(root, "$"));
  if (config.has_other_parts) {
    AMPHORA_ASSIGN(const TokenizerConfig inner, decode_token_ids(*chosen.config, chosen.path));
    TokenizerConfig& ids = config.token_ids;
    if (ids.eos_token_ids.empty()) ids.eos_token_ids = inner.eos_token_ids;
    if (!ids.bos_token_id) ids.bos_token_id = inner.bos_token_id;
    if (!ids.pad_token_id) ids.pad_token_id = inner.pad_token_id;
  }
  config.root = std::move(root);
  return config;
}

}  // namespace amphora::package
