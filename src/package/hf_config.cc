// What config.json says of a decoder, read with the defaults of its family.
#include "package/hf_config.h"
#include "package/arch_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "package/hf_dimensions.h"
#include "package/hf_families.h"
#include "package/hf_fp8.h"
#include "package/hf_layers.h"
#include "package/hf_operators.h"
#include "package/hf_rope.h"
#include "package/limits.h"
#include "package/object_reader.h"

namespace amphora::package {
namespace {

struct Chosen {
  const Family* family;
  const json::Value* config;  ///< the object that describes the language model
  std::string path;
};

/// The family of the language model inside a larger one.
Result<Chosen> choose_inner(ObjectReader& root, const Family& family) {
  const json::Value* text = root.find_object("text_config");
  AMPHORA_TRY(root.status());
  if (text == nullptr)
    return fail_at(Fault::kCorrupt, "Missing", "$.text_config", std::nullopt,
                   fmt::format("{} without a text_config", family.outer_architecture));
  return Chosen{&family, text, root.place("text_config")};
}

Result<Chosen> choose_family(ObjectReader& root) {
  const std::vector<std::string> architectures = root.find_strings("architectures");
  const std::string* model_type = root.find_string("model_type");
  AMPHORA_TRY(root.status());
  if (architectures.empty() && model_type == nullptr)
    return fail_at(Fault::kCorrupt, "Missing", "$.architectures", std::nullopt,
                   "neither architectures nor a model_type is there");
  const std::string& name = architectures.empty() ? *model_type : architectures.front();
  for (const Family& family : families()) {
    if (name == (architectures.empty() ? family.arch_name : family.architecture))
      return Chosen{&family, &root.object(), "$"};
    if (!architectures.empty() && name == family.outer_architecture) return choose_inner(root, family);
  }
  return fail_at(
      Fault::kUnsupported, "Architecture", "$.architectures", std::nullopt,
      fmt::format("the architecture {} is not supported (supported: {})", name, supported_architectures()));
}

void read_heads(ObjectReader& in, const Family& family, ModelSpec& spec) {
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
}

void read_dimensions(ObjectReader& in, const Family& family, ModelSpec& spec) {
  spec.hidden_size = read_dimension(in, "hidden_size", family.hidden_size, kMaxDimension);
  const bool only_experts = family.experts != nullptr && family.intermediate_size == 0 &&
                            in.object().find_present("intermediate_size") == nullptr;
  if (!only_experts)
    spec.intermediate_size = read_dimension(in, "intermediate_size", family.intermediate_size, kMaxDimension);
  spec.num_layers = read_dimension(in, "num_hidden_layers", family.num_layers, kMaxLayers);
  spec.num_attention_heads = read_dimension(in, "num_attention_heads", family.num_attention_heads, kMaxHeads);
  if (!in.ok()) return;
  if (family.latent != nullptr)
    read_latent_attention(in, *family.latent, spec);
  else
    read_heads(in, family, spec);
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

/// Whether the two rotated dimensions of a pair are neighbours, not half a head apart.
bool read_rope_interleaved(ObjectReader& in, const LatentDefaults& latent) {
  return !latent.may_be_half_split || in.find_bool("rope_interleave").value_or(true);
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
  HfConfig config;
  AMPHORA_ASSIGN(config.fp8, read_quantisation(root_in));
  if (!config.fp8) {
    AMPHORA_ASSIGN(config.fp8, read_quantisation(in));
  }
  ModelSpec& spec = config.spec;
  spec.arch_name = family.arch_name;
  spec.norm_style = family.norm_style;
  read_dimensions(in, family, spec);
  AMPHORA_TRY(in.status());
  read_activation(in, family, spec);
  read_layers(in, family, spec);
  if (family.gemma != nullptr) read_gemma(in, *family.gemma, spec);
  if (family.experts != nullptr) read_experts(in, *family.experts, spec);
  if (family.delta_net) read_delta_net(in, spec);
  if (family.multipliers) config.residual_multiplier = read_multipliers(in, spec);
  if (family.rope_can_be_off) expect_rope_everywhere(in, spec);
  if (family.latent != nullptr) config.rope_interleaved = read_rope_interleaved(in, *family.latent);
  auto tied = in.find_bool("tie_word_embeddings");
  if (!tied && chosen.config != &root) tied = root_in.find_bool("tie_word_embeddings");
  AMPHORA_TRY(in.status());
  AMPHORA_TRY(root_in.status());
  config.says_tied = tied.has_value();
  spec.tie_word_embeddings = tied.value_or(family.tied);
  AMPHORA_TRY(decode_rope(*chosen.config, chosen.path, family.rope, spec));
  // No configuration of transformers has this record: whoever adds a predictor of canonical names
  // (model.mtp.*) says with it how it was trained.
  if (const json::Value* mtp = in.find_object("mtp")) {
    AMPHORA_ASSIGN(spec.mtp, decode_mtp(*mtp, in.place("mtp")));
  }

  config.predictor = family.predictor;
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
