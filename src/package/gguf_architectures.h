// The model architectures that are read from GGUF files: how they differ from one another.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amphora/package.h"

namespace amphora::package {

/// Where a layer's norms are, and what the file calls them.
enum class GgufNorms : uint8_t {
  kBefore,         ///< attn_norm and ffn_norm, before the two branches
  kPostAttention,  ///< the same, the second by its Hugging Face name: post_attention_norm
  kSandwich,       ///< before and after each branch: Gemma
  kAfter,          ///< only after them; the norms of q and k are those of all heads together: OLMo 2
};

/// What mixes the positions.
enum class GgufMixer : uint8_t {
  kAttention,
  kLatent,        ///< latent attention
  kGroupedDelta,  ///< layers of gated attention and of gated DeltaNet, whose value heads follow their key
                  ///< head
  kTiledDelta,    ///< the same, but a key head's value heads lie apart (grouped_heads in gguf_rows.h)
};

/// What the Gemma families have besides: GELU, scaled embeddings, constants that depend on the size.
struct GgufGemma {
  uint32_t layers_of_largest;  ///< of the model whose attention scale is by width per head
  std::optional<double> attention_softcap, final_softcap;  ///< where the file does not say
  std::optional<uint32_t> window;                          ///< where the file does not say
};

/// Mixtures of experts: whether they are expected, and what a file leaves out.
struct GgufMixture {
  bool required;
  bool normalised;  ///< the chosen probabilities are divided by their sum
  bool sigmoid;
};

struct GgufArchitecture {
  std::string_view name;       ///< general.architecture, and the prefix of its keys
  std::string_view arch_name;  ///< ModelSpec::arch_name: Hugging Face's model_type
  GgufNorms norms = GgufNorms::kBefore;
  GgufMixer mixer = GgufMixer::kAttention;
  bool paired_rows = false;   ///< rows of q and k are stored for rotation of neighbouring pairs
  bool one_in_norms = false;  ///< norms have the 1 of 1 + w baked in
  bool gate_in_up = false;    ///< ffn_up holds the rows of gate and up
  bool scales = false;        ///< embedding, residual and logit scales: Granite
  /// Every so many layers one sees all positions, if the file gives a window; 0: none does. Empty: windows
  /// are unknown here.
  std::optional<uint32_t> window_period = std::nullopt;
  /// Base of local layers, to which no scaling applies; 0: the global base. Empty: they turn as the others
  /// do.
  std::optional<double> local_rope_base = std::nullopt;
  const GgufMixture* mixture = nullptr;  ///< null: experts are unknown here
  const GgufGemma* gemma = nullptr;      ///< null: no Gemma
};

/// Whether some of the layers are gated DeltaNet, and the others' attention has an output gate in its
/// queries.
constexpr bool has_delta_layers(const GgufArchitecture& architecture) {
  return architecture.mixer == GgufMixer::kGroupedDelta || architecture.mixer == GgufMixer::kTiledDelta;
}

/// By general.architecture, or null.
const GgufArchitecture* find_gguf_architecture(std::string_view name);
/// Why an architecture that is well known is not read, or empty.
std::string_view reason_against(std::string_view name);
/// "llama, qwen2, …", for messages.
std::string supported_gguf_architectures();

}  // namespace amphora::package
