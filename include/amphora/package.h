// A package: what every container of a model looks like to the rest of the program.
//
// Readers (Hugging Face directory, GGUF, CMF) produce one, writers consume one. Nothing of a tensor's data is
// read until someone asks for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora {

enum class LayerType : uint8_t { kFullAttention, kSlidingAttention, kLinearAttention, kShortConv, kKda };
enum class NormStyle : uint8_t { kPlain, kOnePlus };  ///< x̂·w ("qwen") · x̂·(1+w) ("gemma")
enum class Activation : uint8_t { kSilu, kGeluTanh };

/// YaRN rope scaling (arXiv 2309.00071) of the global layers.
struct YarnSpec {
  double factor = 1;
  uint32_t original_max_position_embeddings = 0;
  double beta_fast = 32, beta_slow = 1;
  double attention_factor = 1;  ///< multiplies cos and sin
  std::optional<double> mscale_all_dim;
};

struct LongRopeSpec {
  std::vector<float> short_factors, long_factors;
  uint32_t original_max_position_embeddings = 0;
  double attention_factor = 1;
};

/// Routing of a mixture of experts (docs/formats/cmf.md §12). Which layers are mixtures, and how many experts
/// each has, the tensors say.
struct MoeSpec {
  uint32_t num_experts = 0, top_k = 0, moe_intermediate_size = 0;
  bool norm_topk_prob = false;  ///< the chosen probabilities are divided by their sum
  std::optional<uint32_t> shared_expert_intermediate_size;
  bool router_sigmoid = false;       ///< probabilities are sigmoids of the logits, else their softmax
  double routed_scaling_factor = 1;  ///< multiplies the weights
  bool router_resonance = false;
  /// Experts lie in n_group groups of neighbours, of which the topk_group best are chosen from (DeepSeek-V3).
  std::optional<uint32_t> n_group, topk_group;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 §2.1). Query rows are stored per head as
/// [rope | nope], half-split.
struct MlaSpec {
  uint32_t kv_lora_rank = 0, qk_rope_head_dim = 0, qk_nope_head_dim = 0, v_head_dim = 0;
  std::optional<uint32_t> q_lora_rank;
  bool nope = false;  ///< nothing is rotated
};

/// A predictor of further tokens (multi-token prediction, arXiv 2412.19437 §2.2).
struct MtpSpec {
  uint32_t num_layers = 0;
  bool share_lm_head = true, share_embed = true;
  bool hidden_normed = true;  ///< its hidden state is taken after the model's final norm, else before it
};

enum class LinearCore : uint8_t { kGatedDeltaNet, kVmfPhase };

/// What LinearAttention layers compute.
struct LinearCoreSpec {
  LinearCore kind = LinearCore::kGatedDeltaNet;
  uint32_t num_heads = 0, value_head_dim = 0;
  std::optional<uint32_t> nphase;
};

/// The `arch` block of a CMF header (docs/formats/cmf.md §2, §12): dimensions and constants of a decoder.
/// Which operators a layer has is decided by the tensors that exist, never from here. A value that is absent
/// is neutral.
struct ModelSpec {
  std::string arch_name;
  uint32_t hidden_size = 0, intermediate_size = 0, num_layers = 0;
  uint32_t num_attention_heads = 0, num_kv_heads = 0, head_dim = 0, vocab_size = 0;
  std::vector<LayerType> layer_types;  ///< one per layer
  double rms_norm_eps = 0;
  uint32_t max_position_embeddings = 0;

  std::optional<NormStyle> norm_style;  ///< required to run
  double rope_theta = 10000;
  bool tie_word_embeddings = false;
  double partial_rotary_factor = 1;
  Activation hidden_act = Activation::kSilu;
  double embed_multiplier = 1;
  std::optional<double> query_pre_attn_scalar;  ///< attention scale is 1/sqrt(it); absent: head_dim
  std::optional<uint32_t> sliding_window;       ///< positions that a local layer sees, its own included
  std::optional<uint32_t>
      sliding_window_pattern;                  ///< layer i is local if (i + 1) % pattern != 0 (older files)
  std::optional<double> rope_local_base_freq;  ///< rope base of local layers; absent: rope_theta
  std::optional<double> local_partial_rotary_factor;
  std::optional<double> final_logit_softcapping, attn_logit_softcapping;
  double logit_multiplier = 1;
  std::optional<YarnSpec> yarn;
  std::optional<LongRopeSpec> longrope;
  std::vector<float> rope_freq_factors;  ///< empty or rotary_dim/2: inv_freq[i] /= f[i] on global layers
  std::vector<uint32_t> attention_heads_per_layer;  ///< empty or one per layer
  bool attn_v_norm = false;                         ///< RMS norm of the value heads, without weights
  uint32_t num_loops = 1;        ///< passes through the layers, each with keys and values of its own
  bool loop_final_norm = false;  ///< the final norm after every pass
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::optional<MtpSpec> mtp;
  std::optional<LinearCoreSpec> linear_core;  ///< required if a layer is LinearAttention
  std::optional<uint32_t> linear_conv_kernel_dim, linear_num_key_heads, linear_num_value_heads;
  std::optional<uint32_t> linear_key_head_dim, linear_value_head_dim;
  std::optional<double> kda_gate_lower_bound;
  /// Keys of `arch` that are known to the specification but that the fields above do not carry (g3n,
  /// head_clusters …) with their values: a loader that cannot honour one refuses the model by its name.
  std::vector<json::Member> other;

  bool is_local(uint32_t layer) const;  ///< whether the layer sees only sliding_window positions
};

/// One tensor: where its bytes are and how to read them.
struct PackageTensor {
  std::string name;             ///< canonical name: that of the Hugging Face model
  std::vector<uint64_t> shape;  ///< outermost first
  std::string stored_type;      ///< the type in its container, for people: "BF16", "Q4_K", "q8_row"
  /// Set if `stored` is exactly the payload of this CMF type (after any reordering of rows, which makes a
  /// tensor lose it): the runtime uses it as it is, a conversion with `keep` copies it.
  std::optional<DType> dtype;
  Bytes stored;                ///< mapped bytes of the payload if `dtype` is set
  Bytes mapped;                ///< the mapped bytes, whatever their type, for page advice; may be empty
  uint64_t stored_bytes = 0;   ///< size in its container
  uint64_t stored_offset = 0;  ///< place in its file
  std::filesystem::path file;  ///< which file
  /// Decodes elements [first, first + out.size()), row-major, to f32; can be called from several threads at
  /// once.
  std::function<Status(uint64_t first, std::span<float> out)> read;

  uint64_t elements() const {
    uint64_t product = 1;
    for (const uint64_t dimension : shape) product *= dimension;  // the reader has checked that this fits
    return product;
  }
};

/// Chat bundle and generation defaults (docs/formats/cmf.md §6).
struct TokenizerConfig {
  std::optional<std::string> chat_template;
  std::vector<uint32_t> eos_token_ids;
  std::optional<uint32_t> bos_token_id, pad_token_id;
};

enum class PackageFormat : uint8_t { kHuggingFace, kGguf, kCmf };

struct Package {
  PackageFormat format = PackageFormat::kCmf;
  std::filesystem::path path;
  ModelSpec spec;
  std::vector<PackageTensor> tensors;  ///< in the container's order
  std::string_view tokenizer_json;     ///< bytes of a tokenizer.json, empty if there is none
  TokenizerConfig tokenizer;
  json::Value provenance;  ///< object or null
  json::Value header;      ///< a CMF source's header, whose unknown keys a rewrite keeps; else null
  /// Set if no model can run from this package: the sentence says why and what to do ("a skill file: …").
  std::optional<std::string> not_runnable;
  /// Which model this is: hash64 of a CMF file's directory as its envelope records it; of a set, hash64 of
  /// its files' hashes in shard order, each a little-endian u64. Absent for other containers and if a file
  /// records none.
  std::optional<uint64_t> directory_hash;
  /// Sections of a CMF source, verbatim; empty if absent (docs/formats/cmf.md §5, §7).
  Bytes masks, index;
  bool loop_masks = false;         ///< the FFN rows of the masks are per visit
  std::vector<std::string> notes;  ///< what a person should know: files ignored, heads deduplicated …
  std::vector<std::shared_ptr<const void>> owners;  ///< keep the mappings and `tokenizer_json` alive

  const PackageTensor* find(std::string_view name) const;
};

/// Opens whatever lies at `path`: a Hugging Face directory, a `.gguf` or a `.cmf` (told by content, not by
/// name).
Result<std::shared_ptr<const Package>> open_package(const std::filesystem::path& path);

}  // namespace amphora
