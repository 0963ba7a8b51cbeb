// Dimensions, layers, rope and constants of a model from its GGUF metadata.
#include "package/gguf_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "package/gguf_metadata.h"
#include "package/gguf_operators.h"
#include "package/gguf_rope.h"
#include "package/limits.h"

namespace amphora::package {
namespace {

/// Settings of other architectures that would change the results, with the value that changes nothing.
struct Setting {
  std::string_view key;
  double neutral;
};
constexpr std::array kUnsupportedSettings = {
    Setting{"attention.temperature_scale", 0}, Setting{"attention.clamp_kqv", 0},
    Setting{"attention.max_alibi_bias", 0},    Setting{"router_logit_softcapping", 0},
    Setting{"rope.scaling.alpha", 0},
};
/// Softmax routers are those of DeepSeek-V2; GGUF has one architecture for both.
constexpr std::string_view kOlderLatentName = "deepseek_v2";
constexpr std::array kScales = {"embedding_scale", "residual_scale", "logit_scale"};

Result<const GgufArchitecture*> choose_architecture(const gguf::Directory& directory) {
  MetadataReader general(directory, "general.");
  const auto name = general.find_string("architecture");
  AMPHORA_TRY(general.status());
  if (!name)
    return fail_at(Fault::kCorrupt, "Missing", "general.architecture", std::nullopt,
                   "there is no metadata key general.architecture");
  if (const GgufArchitecture* known = find_gguf_architecture(*name)) return known;
  std::string_view reason = reason_against(*name);
  if (reason.empty()) reason = "its tensor names and its layers are unknown here";
  return fail_at(Fault::kUnsupported, "Architecture", "general.architecture", std::nullopt,
                 fmt::format("the architecture {} is not supported: {} (supported: {})", name->substr(0, 40),
                             reason, supported_gguf_architectures()));
}

void read_head_dim(MetadataReader& in, ModelSpec& spec) {
  const auto key_length = in.find_integer("attention.key_length");
  const auto value_length = in.find_integer("attention.value_length");
  if (!key_length && spec.hidden_size % spec.num_attention_heads != 0)
    in.reject("attention.head_count",
              fmt::format("{} does not divide the width {}, and there is no attention.key_length",
                          spec.num_attention_heads, spec.hidden_size));
  spec.head_dim =
      in.in_range("attention.key_length", key_length.value_or(spec.hidden_size / spec.num_attention_heads),
                  kMaxHeadDimension);
  if (spec.head_dim % 2 != 0) in.reject("attention.key_length", fmt::format("{} is odd", spec.head_dim));
  if (value_length && *value_length != spec.head_dim)
    in.reject("attention.value_length",
              fmt::format("{} differs from the length of keys, {}", *value_length, spec.head_dim),
              Fault::kUnsupported);
}

void read_layers(MetadataReader& in, GgufModel& model) {
  const uint32_t blocks = in.in_range("block_count", in.read_integer("block_count"), kMaxLayers);
  model.predictor_layers = in.find_integer("nextn_predict_layers").value_or(0);
  if (in.ok() && model.predictor_layers >= blocks)
    in.reject("nextn_predict_layers", fmt::format("{} of {} blocks", model.predictor_layers, blocks));
  if (!in.ok()) return;
  model.spec.num_layers = blocks - model.predictor_layers;
  model.spec.layer_types.assign(model.spec.num_layers, LayerType::kFullAttention);
}

void read_heads(const gguf::Directory& directory, MetadataReader& in, GgufModel& model) {
  ModelSpec& spec = model.spec;
  spec.num_attention_heads =
      in.in_range("attention.head_count", in.read_uniform("attention.head_count"), kMaxHeads);
  if (model.architecture->mixer == GgufMixer::kLatent) {
    in.find_uniform("attention.head_count_kv");  // of the latent vectors: one, or as many as heads
    read_latent_attention(directory, in, model);
    return;
  }
  const auto kv_heads = in.find_uniform("attention.head_count_kv");
  spec.num_kv_heads =
      in.in_range("attention.head_count_kv", kv_heads.value_or(spec.num_attention_heads), kMaxHeads);
  if (!in.ok()) return;
  if (spec.num_attention_heads % spec.num_kv_heads != 0)
    in.reject("attention.head_count_kv", fmt::format("{} does not divide {} attention heads",
                                                     spec.num_kv_heads, spec.num_attention_heads));
  read_head_dim(in, spec);
}

void read_dimensions(const gguf::Directory& directory, MetadataReader& in, GgufModel& model) {
  ModelSpec& spec = model.spec;
  read_layers(in, model);
  spec.hidden_size = in.in_range("embedding_length", in.read_integer("embedding_length"), kMaxDimension);
  const auto width = in.find_uniform("feed_forward_length");
  read_heads(directory, in, model);
  spec.max_position_embeddings = in.read_integer("context_length");
  if (spec.max_position_embeddings == 0) in.reject("context_length", "0 is not possible");
  spec.rms_norm_eps = in.read_float("attention.layer_norm_rms_epsilon");
  if (spec.rms_norm_eps < 0)
    in.reject("attention.layer_norm_rms_epsilon", fmt::format("{} is negative", spec.rms_norm_eps));
  if (!in.ok()) return;
  read_experts(directory, in, model);
  if (spec.mla && spec.moe && !spec.moe->router_sigmoid) spec.arch_name = kOlderLatentName;
  // Where every layer is a mixture the width of a dense one may be left out.
  const bool stands_in = !width && spec.moe;
  spec.intermediate_size = in.in_range("feed_forward_length",
                                       stands_in ? spec.moe->moe_intermediate_size
                                       : width   ? *width
                                                 : in.read_integer("feed_forward_length"),
                                       kMaxDimension);
}

/// Which layers see only a window: all but every so many, unless the file says otherwise.
void read_windows(MetadataReader& in, GgufModel& model) {
  const GgufArchitecture& architecture = *model.architecture;
  ModelSpec& spec = model.spec;
  constexpr std::string_view kWindowKey = "attention.sliding_window";
  constexpr std::string_view kPatternKey = "attention.sliding_window_pattern";
  auto window = in.find_integer(kWindowKey);
  if (architecture.gemma != nullptr) {
    if (!window) window = architecture.gemma->window;
    if (!window) window = in.read_integer(kWindowKey);
    if (in.ok() && *window == 0) in.reject(kWindowKey, "a window of 0 positions");
  }
  const gguf::Value* pattern = in.find(kPatternKey);
  if (window.value_or(0) == 0) return;
  if (!architecture.window_period) {
    in.reject(kWindowKey, fmt::format("windows are not supported for {}", architecture.name),
              Fault::kUnsupported);
    return;
  }
  const bool by_layer = pattern != nullptr && pattern->as_array() != nullptr;
  const gguf::Array* flags =
      by_layer ? in.find_layer_flags(kPatternKey, spec.num_layers + model.predictor_layers) : nullptr;
  const auto said = by_layer ? std::nullopt : in.find_integer(kPatternKey);
  if (said == 0u) in.reject(kPatternKey, "0 is no pattern");
  if (!in.ok()) return;
  const uint32_t period = said.value_or(*architecture.window_period);
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
    const bool local =
        flags != nullptr ? flags->numbers[layer] != std::byte{0} : period == 0 || (layer + 1) % period != 0;
    if (!local) continue;
    spec.layer_types[layer] = LayerType::kSlidingAttention;
    spec.sliding_window = window;
  }
}

std::optional<double> read_cap(MetadataReader& in, std::string_view key, std::optional<double> otherwise) {
  const auto cap = in.find_float(key);
  if (cap && *cap < 0) in.reject(key, fmt::format("{} is negative", *cap));
  if (!cap) return otherwise;
  return *cap == 0 ? std::nullopt : cap;
}

void read_gemma(const GgufGemma& gemma, ModelSpec& spec) {
  spec.hidden_act = Activation::kGeluTanh;
  spec.embed_multiplier = std::sqrt(static_cast<double>(spec.hidden_size));
  spec.query_pre_attn_scalar = spec.num_layers == gemma.layers_of_largest
                                   ? static_cast<double>(spec.hidden_size) / spec.num_attention_heads
                                   : static_cast<double>(spec.head_dim);
}

/// A factor above 0; 0 says that there is none.
std::optional<double> find_scale(MetadataReader& in, std::string_view key) {
  const auto scale = in.find_float(key);
  if (scale && *scale < 0) in.reject(key, fmt::format("{} is negative", *scale));
  return scale == 0.0 ? std::nullopt : scale;
}

void read_scales(MetadataReader& in, GgufModel& model) {
  ModelSpec& spec = model.spec;
  if (const auto scale = find_scale(in, "attention.scale"))
    spec.query_pre_attn_scalar = 1 / (*scale * *scale);
  if (model.architecture->scales) {
    spec.embed_multiplier = find_scale(in, "embedding_scale").value_or(1);
    spec.logit_multiplier = 1 / find_scale(in, "logit_scale").value_or(1);
    model.residual_scale = static_cast<float>(find_scale(in, "residual_scale").value_or(1));
    if (!in.find_bool("rope.scaling.finetuned").value_or(true))
      in.reject("rope.scaling.finetuned", "layers that turn no positions are not supported",
                Fault::kUnsupported);
    return;
  }
  for (const std::string_view key : kScales)
    if (find_scale(in, key).value_or(1) != 1)
      in.reject(key, fmt::format("is not supported for {}", model.architecture->name), Fault::kUnsupported);
}

/// Settings that would change the results.
void refuse_unknown_operators(MetadataReader& in) {
  if (!in.find_bool("attention.causal").value_or(true))
    in.reject("attention.causal", "attention to later positions is not supported", Fault::kUnsupported);
  for (const auto& [key, neutral] : kUnsupportedSettings)
    if (const auto value = in.find_float(key); value && *value != neutral)
      in.reject(key, fmt::format("{} is not supported, only {} is", *value, neutral), Fault::kUnsupported);
}

/// The vocabulary has as many entries as the embedding has rows.
Status read_vocabulary_size(const gguf::Directory& directory, MetadataReader& in, ModelSpec& spec) {
  const gguf::Tensor* embedding = directory.find_tensor("token_embd.weight");
  if (embedding == nullptr)
    return fail_at(Fault::kCorrupt, "Missing", "token_embd.weight", std::nullopt,
                   "there is no tensor token_embd.weight");
  if (embedding->shape.size() != 2 || embedding->shape[0] > kMaxDimension)
    return fail_at(Fault::kCorrupt, "Shape", "token_embd.weight", embedding->record_offset,
                   fmt::format("token_embd.weight is not a matrix of at most {} rows", kMaxDimension));
  spec.vocab_size = static_cast<uint32_t>(embedding->shape[0]);
  const auto said = in.find_integer("vocab_size");
  if (said && *said != spec.vocab_size)
    in.reject("vocab_size",
              fmt::format("{} differs from the {} rows of token_embd.weight", *said, spec.vocab_size));
  const gguf::Value* tokens = directory.find("tokenizer.ggml.tokens");
  const gguf::Array* array = tokens != nullptr ? tokens->as_array() : nullptr;
  if (array != nullptr && array->count > spec.vocab_size)
    return fail_at(Fault::kCorrupt, "Metadata", "tokenizer.ggml.tokens", tokens->offset,
                   fmt::format("there are {} tokens, but token_embd.weight has only {} rows", array->count,
                               spec.vocab_size));
  return {};
}

}  // namespace

Result<GgufModel> decode_gguf_spec(const gguf::Directory& directory) {
  GgufModel model;
  AMPHORA_ASSIGN(model.architecture, choose_architecture(directory));
  const GgufArchitecture& architecture = *model.architecture;
  MetadataReader in(directory, std::string(architecture.name) + '.');
  ModelSpec& spec = model.spec;
  spec.arch_name = architecture.arch_name;
  spec.norm_style = architecture.one_in_norms ? NormStyle::kOnePlus : NormStyle::kPlain;
  read_dimensions(directory, in, model);
  refuse_unknown_operators(in);
  AMPHORA_TRY(in.status());
  if (architecture.gemma != nullptr) read_gemma(*architecture.gemma, spec);
  read_windows(in, model);
  if (has_delta_layers(architecture)) read_gated_delta_net(in, model);
  const GgufGemma no_gemma{};
  const GgufGemma& caps = architecture.gemma != nullptr ? *architecture.gemma : no_gemma;
  spec.attn_logit_softcapping = read_cap(in, "attn_logit_softcapping", caps.attention_softcap);
  spec.final_logit_softcapping = read_cap(in, "final_logit_softcapping", caps.final_softcap);
  read_scales(in, model);
  AMPHORA_TRY(in.status());
  AMPHORA_TRY(decode_gguf_rope(directory, architecture, in, spec));
  AMPHORA_TRY(read_vocabulary_size(directory, in, spec));
  AMPHORA_TRY(in.status());
  spec.tie_word_embeddings = directory.find_tensor("output.weight") == nullptr;
  for (const std::string& key : in.unread_keys())
    model.notes.push_back(fmt::format("the metadata key {} has no meaning here and is ignored", key));
  return model;
}

}  // namespace amphora::package
