// Dimensions, layers, rope and constants of a model from its GGUF metadata.
#include "package/gguf_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "package/gguf_metadata.h"
#include "package/gguf_rope.h"
#include "package/limits.h"

namespace amphora::package {
namespace {

// What llama.cpp and transformers know of Gemma 3 and its files do not say.
constexpr uint32_t kGemma3Pattern = 6;
constexpr uint32_t kGemma3Layers27B = 62;

Result<const GgufArchitecture*> choose_architecture(const gguf::Directory& directory) {
  MetadataReader general(directory, "general.");
  const auto name = general.find_string("architecture");
  AMPHORA_TRY(general.status());
  if (!name)
    return fail_at(Fault::kCorrupt, "Missing", "general.architecture", std::nullopt,
                   "there is no metadata key general.architecture");
  if (const GgufArchitecture* known = find_gguf_architecture(*name)) return known;
  return fail_at(
      Fault::kUnsupported, "Architecture", "general.architecture", std::nullopt,
      fmt::format("the architecture {} is not supported: its tensor names and its layers are unknown here "
                  "(supported: {})",
                  name->substr(0, 40), supported_gguf_architectures()));
}

/// A dimension in 1 … limit.
uint32_t in_range(MetadataReader& in, std::string_view key, uint32_t value, uint32_t limit) {
  if (!in.ok()) return value;
  if (value == 0) in.reject(key, "0 is not possible");
  if (value > limit)
    in.reject(key, fmt::format("{} is more than the limit of {}", value, limit), Fault::kRefused);
  return value;
}

/// A number that may also be given for each layer; layers that differ are not supported.
std::optional<uint32_t> find_uniform(MetadataReader& in, std::string_view key) {
  const gguf::Value* value = in.find(key);
  const gguf::Array* array = value != nullptr ? value->as_array() : nullptr;
  if (array == nullptr) return in.find_integer(key);
  if (!gguf::is_integer(array->element_type) || array->count == 0) {
    in.reject(key, "wanted an integer or an array of integers");
    return std::nullopt;
  }
  const auto first = array->integer_at(0);
  for (uint64_t i = 1; i < array->count; ++i)
    if (array->integer_at(i) != first) {
      in.reject(key, "layers of different sizes are not supported", Fault::kUnsupported);
      return std::nullopt;
    }
  if (!first || *first < 0 || *first > kMaxDimension) {
    in.reject(key, "the array's value is out of range");
    return std::nullopt;
  }
  return static_cast<uint32_t>(*first);
}

uint32_t read_uniform(MetadataReader& in, std::string_view key) {
  const auto value = find_uniform(in, key);
  return value ? *value : in.read_integer(key);
}

void read_head_dim(MetadataReader& in, ModelSpec& spec) {
  const auto key_length = in.find_integer("attention.key_length");
  const auto value_length = in.find_integer("attention.value_length");
  if (!key_length && spec.hidden_size % spec.num_attention_heads != 0)
    in.reject("attention.head_count",
              fmt::format("{} does not divide the width {}, and there is no attention.key_length",
                          spec.num_attention_heads, spec.hidden_size));
  spec.head_dim =
      in_range(in, "attention.key_length", key_length.value_or(spec.hidden_size / spec.num_attention_heads),
               kMaxHeadDimension);
  if (spec.head_dim % 2 != 0) in.reject("attention.key_length", fmt::format("{} is odd", spec.head_dim));
  if (value_length && *value_length != spec.head_dim)
    in.reject("attention.value_length",
              fmt::format("{} differs from the length of keys, {}", *value_length, spec.head_dim),
              Fault::kUnsupported);
}

void read_dimensions(MetadataReader& in, ModelSpec& spec) {
  spec.num_layers = in_range(in, "block_count", in.read_integer("block_count"), kMaxLayers);
  spec.hidden_size = in_range(in, "embedding_length", in.read_integer("embedding_length"), kMaxDimension);
  spec.intermediate_size =
      in_range(in, "feed_forward_length", read_uniform(in, "feed_forward_length"), kMaxDimension);
  spec.num_attention_heads =
      in_range(in, "attention.head_count", read_uniform(in, "attention.head_count"), kMaxHeads);
  const auto kv_heads = find_uniform(in, "attention.head_count_kv");
  spec.num_kv_heads =
      in_range(in, "attention.head_count_kv", kv_heads.value_or(spec.num_attention_heads), kMaxHeads);
  if (!in.ok()) return;
  if (spec.num_attention_heads % spec.num_kv_heads != 0)
    in.reject("attention.head_count_kv", fmt::format("{} does not divide {} attention heads",
                                                     spec.num_kv_heads, spec.num_attention_heads));
  read_head_dim(in, spec);
  spec.max_position_embeddings = in.read_integer("context_length");
  if (spec.max_position_embeddings == 0) in.reject("context_length", "0 is not possible");
  spec.rms_norm_eps = in.read_float("attention.layer_norm_rms_epsilon");
  if (spec.rms_norm_eps < 0)
    in.reject("attention.layer_norm_rms_epsilon", fmt::format("{} is negative", spec.rms_norm_eps));
}

/// Settings that would change the results.
void refuse_unknown_operators(MetadataReader& in) {
  const uint32_t experts = in.find_integer("expert_count").value_or(0);
  const uint32_t used = in.find_integer("expert_used_count").value_or(0);
  if (used > experts)
    in.reject("expert_used_count", fmt::format("{} is more than the {} experts there are", used, experts));
  if (experts != 0)
    in.reject("expert_count", fmt::format("{} experts: mixtures are not supported", experts),
              Fault::kUnsupported);
  if (!in.find_bool("attention.causal").value_or(true))
    in.reject("attention.causal", "attention to later positions is not supported", Fault::kUnsupported);
}

/// Which layers of Gemma 3 see only a window: all but every sixth, unless the file says otherwise.
void read_windows(MetadataReader& in, ModelSpec& spec) {
  spec.sliding_window = in.read_integer("attention.sliding_window");
  if (in.ok() && *spec.sliding_window == 0) in.reject("attention.sliding_window", "a window of 0 positions");
  constexpr std::string_view kPatternKey = "attention.sliding_window_pattern";
  const gguf::Value* pattern = in.find(kPatternKey);
  const gguf::Array* flags = pattern != nullptr ? pattern->as_array() : nullptr;
  const uint32_t period = flags != nullptr ? 1 : in.find_integer(kPatternKey).value_or(kGemma3Pattern);
  if (period == 0) in.reject(kPatternKey, "0 is no pattern");
  if (flags != nullptr && (flags->element_type != gguf::ValueType::kBool || flags->count != spec.num_layers))
    in.reject(kPatternKey,
              fmt::format("wanted an array of bool with {} elements, one for each layer", spec.num_layers));
  if (!in.ok()) return;
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
    const bool local = flags != nullptr ? flags->numbers[layer] != std::byte{0} : (layer + 1) % period != 0;
    spec.layer_types[layer] = local ? LayerType::kSlidingAttention : LayerType::kFullAttention;
  }
}

void read_gemma(MetadataReader& in, ModelSpec& spec) {
  spec.norm_style = NormStyle::kOnePlus;
  spec.hidden_act = Activation::kGeluTanh;
  spec.embed_multiplier = std::sqrt(static_cast<double>(spec.hidden_size));
  // The largest Gemma 3 scales by its width per head, the others by the size of a head.
  spec.query_pre_attn_scalar = spec.num_layers == kGemma3Layers27B
                                   ? static_cast<double>(spec.hidden_size) / spec.num_attention_heads
                                   : static_cast<double>(spec.head_dim);
  read_windows(in, spec);
}

std::optional<double> read_cap(MetadataReader& in, std::string_view key) {
  const auto cap = in.find_float(key);
  if (cap && *cap < 0) in.reject(key, fmt::format("{} is negative", *cap));
  return cap == 0.0 ? std::nullopt : cap;
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
  spec.norm_style = NormStyle::kPlain;
  read_dimensions(in, spec);
  refuse_unknown_operators(in);
  AMPHORA_TRY(in.status());
  spec.layer_types.assign(spec.num_layers, LayerType::kFullAttention);
  if (architecture.gemma) {
    read_gemma(in, spec);
  } else if (in.find_integer("attention.sliding_window").value_or(0) != 0) {
    in.reject("attention.sliding_window", fmt::format("windows are not supported for {}", architecture.name),
              Fault::kUnsupported);
  }
  spec.attn_logit_softcapping = read_cap(in, "attn_logit_softcapping");
  spec.final_logit_softcapping = read_cap(in, "final_logit_softcapping");
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
