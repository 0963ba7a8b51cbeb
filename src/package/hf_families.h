// The families of Hugging Face decoders that are read, and what each means where its config.json is silent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "amphora/package.h"
#include "package/hf_rope.h"

namespace amphora::package {

/// Which layers are of which type where a configuration has no layer_types.
enum class LayerRule : uint8_t {
  kFull,              ///< every layer sees everything
  kWindowed,          ///< a window in every layer, if there is a sliding_window
  kWindowedIfUsed,    ///< a window in every layer, if use_sliding_window
  kUpperWindowed,     ///< from max_window_layers on, if use_sliding_window
  kLowerOddWindowed,  ///< every second of the first max_window_layers, the first included, if
                      ///< use_sliding_window
  kWindowPattern,     ///< a window in all but every sliding_window_pattern-th
  kLinearInterval,    ///< linear attention in all but every full_attention_interval-th
};

/// What the Gemma families have besides: scaled embeddings, a query scalar, soft caps.
struct GemmaDefaults {
  uint32_t window_pattern;  ///< every so many layers one sees everything
  double query_scalar;
  std::optional<double> attention_softcap, final_softcap;
};

/// A mixture of experts: how its keys are called, and their defaults.
struct ExpertDefaults {
  std::string_view count_key;    ///< of the number of experts …
  std::string_view count_alias;  ///< … or so, in files of other versions; empty: no other
  uint32_t num_experts = 0;
  uint32_t top_k = 0;              ///< 0: a configuration has to say it
  uint32_t intermediate_size = 0;  ///< of an expert; 0: the model's intermediate_size
  bool norm_topk_prob = false;
  bool norm_is_fixed = false;                    ///< norm_topk_prob is as above whatever a configuration says
  uint32_t shared_expert_intermediate_size = 0;  ///< 0: no shared expert of a size of its own
  uint32_t n_shared_experts = 0;                 ///< of the size of an expert each; 0: no such
  bool sigmoid = false;
  double routed_scaling_factor = 1;
  uint32_t n_group = 1, topk_group = 1;
  std::string_view scoring = {};      ///< the only scoring_func that is meant; empty: there is no such key
  std::string_view topk_method = {};  ///< the only topk_method that is meant; empty: there is no such key
};

/// Multi-head latent attention.
struct LatentDefaults {
  uint32_t q_lora_rank, kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim, v_head_dim;
  bool
      may_be_half_split;  ///< rope_interleave says whether rotated pairs are neighbours; else they always are
};

/// Where a family keeps its multi-token predictor (docs/formats/cmf.md §12, mtp).
enum class PredictorPlace : uint8_t {
  kNone,
  kOwn,     ///< under names of its own: mtp.* (Qwen)
  kBehind,  ///< as further layers behind the last: model.layers.{num_hidden_layers}.* (DeepSeek, GLM)
};

/// The defaults of transformers' configuration classes; 0 where a configuration has to say it.
struct Family {
  std::string_view architecture;
  std::string_view arch_name;                ///< model_type
  std::string_view outer_architecture = {};  ///< of the model whose text_config describes it; empty: none
  NormStyle norm_style = NormStyle::kPlain;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
  LayerRule layers = LayerRule::kFull;
  uint32_t sliding_window = 0;  ///< 0: none unless the configuration gives one
  uint32_t vocab_size = 0, hidden_size = 0;
  uint32_t intermediate_size = 0;  ///< 0: also that of an expert, if there are experts
  uint32_t num_layers = 0;
  uint32_t num_attention_heads = 0;
  uint32_t num_kv_heads = 0;  ///< 0: as many as attention heads
  uint32_t head_dim = 0;      ///< 0: hidden_size / num_attention_heads
  uint32_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  bool tied = false;
  RopeDefaults rope = {};
  const GemmaDefaults* gemma = nullptr;     ///< null: no Gemma
  const ExpertDefaults* experts = nullptr;  ///< null: no experts
  const LatentDefaults* latent = nullptr;   ///< null: no latent attention
  bool delta_net = false;                   ///< its LinearAttention layers are gated DeltaNets
  bool multipliers = false;                 ///< Granite's four
  bool rope_can_be_off = false;             ///< no_rope_layers says in which layers nothing is rotated
  PredictorPlace predictor = PredictorPlace::kNone;
};

/// All of them, in the order in which messages list them.
std::span<const Family> families();

/// Every name that `architectures` may hold, for messages.
std::string supported_architectures();

}  // namespace amphora::package
