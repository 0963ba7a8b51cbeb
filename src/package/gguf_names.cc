// One table of tensors; the architectures choose from it.
#include "package/gguf_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace amphora::package {
namespace {

/// A dimension by what it counts.
enum class Dimension : uint8_t { kNoColumns, kVocabulary, kHidden, kIntermediate, kHead, kQuery, kKey };

enum class Where : uint8_t { kEverywhere, kPlain, kGemma };  ///< which architectures have the tensor

struct Row {
  std::string_view gguf, canonical;
  Dimension rows, columns;  ///< kNoColumns: a vector
  Where where = Where::kEverywhere;
  bool required = true;
  GgufChange change =
      GgufChange::kNone;  ///< kUnpermute… and kSubtractOne only where the architecture does so
};

using enum Dimension;
using enum GgufChange;

constexpr std::array kGlobal = {
    Row{"token_embd.weight", "model.embed_tokens.weight", kVocabulary, kHidden},
    Row{"output_norm.weight", "model.norm.weight", kHidden, kNoColumns, Where::kEverywhere, true,
        kSubtractOne},
    Row{"output.weight", "lm_head.weight", kVocabulary, kHidden, Where::kEverywhere, false},
};

// Behind `blk.N.` and `model.layers.N.`. ffn_norm is the norm before the feed-forward network; Hugging Face
// calls it by its place after attention, except where Gemma has a norm on that very place too.
constexpr std::array kLayer = {
    Row{"attn_norm.weight", "input_layernorm.weight", kHidden, kNoColumns, Where::kEverywhere, true,
        kSubtractOne},
    Row{"attn_q.weight", "self_attn.q_proj.weight", kQuery, kHidden, Where::kEverywhere, true, kUnpermute},
    Row{"attn_k.weight", "self_attn.k_proj.weight", kKey, kHidden, Where::kEverywhere, true, kUnpermute},
    Row{"attn_v.weight", "self_attn.v_proj.weight", kKey, kHidden},
    Row{"attn_output.weight", "self_attn.o_proj.weight", kHidden, kQuery},
    Row{"attn_q.bias", "self_attn.q_proj.bias", kQuery, kNoColumns, Where::kPlain, false, kUnpermute},
    Row{"attn_k.bias", "self_attn.k_proj.bias", kKey, kNoColumns, Where::kPlain, false, kUnpermute},
    Row{"attn_v.bias", "self_attn.v_proj.bias", kKey, kNoColumns, Where::kPlain, false},
    Row{"attn_q_norm.weight", "self_attn.q_norm.weight", kHead, kNoColumns, Where::kEverywhere, false,
        kSubtractOne},
    Row{"attn_k_norm.weight", "self_attn.k_norm.weight", kHead, kNoColumns, Where::kEverywhere, false,
        kSubtractOne},
    Row{"ffn_norm.weight", "post_attention_layernorm.weight", kHidden, kNoColumns, Where::kPlain},
    Row{"post_attention_norm.weight", "post_attention_layernorm.weight", kHidden, kNoColumns, Where::kGemma,
        true, kSubtractOne},
    Row{"ffn_norm.weight", "pre_feedforward_layernorm.weight", kHidden, kNoColumns, Where::kGemma, true,
        kSubtractOne},
    Row{"post_ffw_norm.weight", "post_feedforward_layernorm.weight", kHidden, kNoColumns, Where::kGemma, true,
        kSubtractOne},
    Row{"ffn_gate.weight", "mlp.gate_proj.weight", kIntermediate, kHidden},
    Row{"ffn_up.weight", "mlp.up_proj.weight", kIntermediate, kHidden},
    Row{"ffn_down.weight", "mlp.down_proj.weight", kHidden, kIntermediate},
};

bool has(const GgufArchitecture& architecture, const Row& row) {
  return row.where == Where::kEverywhere || (row.where == Where::kGemma) == architecture.gemma;
}

uint64_t size_of(Dimension dimension, const ModelSpec& spec) {
  switch (dimension) {
    case kNoColumns: return 0;
    case kVocabulary: return spec.vocab_size;
    case kHidden: return spec.hidden_size;
    case kIntermediate: return spec.intermediate_size;
    case kHead: return spec.head_dim;
    case kQuery: return uint64_t{spec.num_attention_heads} * spec.head_dim;
    case kKey: return uint64_t{spec.num_kv_heads} * spec.head_dim;
  }
  return 0;
}

GgufName described(const Row& row, std::string_view prefix, const GgufArchitecture& architecture,
                   const ModelSpec& spec) {
  GgufName result;
  result.name = fmt::format("{}{}", prefix, row.canonical);
  result.shape = {size_of(row.rows, spec)};
  if (row.columns != kNoColumns) result.shape.push_back(size_of(row.columns, spec));
  const bool applies = row.change == kSubtractOne ? architecture.gemma : architecture.permuted_rope;
  result.change = applies ? row.change : GgufChange::kNone;
  return result;
}

struct LayerName {
  uint32_t layer;
  std::string_view rest;
};

/// "blk.7.attn_q.weight" → 7, "attn_q.weight". Numbers are written one way only.
std::optional<LayerName> split_layer(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  LayerName result{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), result.layer);
  const auto digits = static_cast<size_t>(end - name.data());
  if (error != std::errc() || digits == name.size() || name[digits] != '.') return std::nullopt;
  if (digits > 1 && name[0] == '0') return std::nullopt;
  result.rest = name.substr(digits + 1);
  return result;
}

}  // namespace

std::optional<GgufName> map_gguf_name(std::string_view name, const GgufArchitecture& architecture,
                                      const ModelSpec& spec) {
  for (const Row& row : kGlobal)
    if (row.gguf == name) return described(row, "", architecture, spec);
  const auto layer = split_layer(name);
  if (!layer || layer->layer >= spec.num_layers) return std::nullopt;
  for (const Row& row : kLayer)
    if (row.gguf == layer->rest && has(architecture, row))
      return described(row, fmt::format("model.layers.{}.", layer->layer), architecture, spec);
  return std::nullopt;
}

std::vector<std::string> required_gguf_names(const GgufArchitecture& architecture, const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const Row& row : kGlobal)
    if (row.required) names.emplace_back(row.gguf);
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
    for (const Row& row : kLayer)
      if (row.required && has(architecture, row)) names.push_back(fmt::format("blk.{}.{}", layer, row.gguf));
  return names;
}

}  // namespace amphora::package
