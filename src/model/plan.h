// What a model computes, layer by layer, found out from the tensors that its package holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "amphora/package.h"
#include "kernels/kernels.h"
#include "model/rope.h"

namespace amphora::model {

/// y = W x, plus the bias if there is one.
struct Linear {
  kernels::Matrix weights;
  std::vector<float> bias;  ///< empty: none

  size_t rows() const { return weights.rows; }
};

/// One matrix, or two with nothing between them (a projection of low rank).
struct Projection {
  Linear first;
  std::optional<Linear> second;

  size_t rows() const { return second ? second->rows() : first.rows(); }
};

/// Causal grouped-query attention over keys and values of all positions, or of a window.
struct AttentionPlan {
  uint32_t heads = 0;
  bool local = false;  ///< sees `Plan::window` positions and turns with the local frequencies
  Linear q, k, v, o;
  /// Before the rotation: of each head (head_dim weights) or of a whole projection (OLMo 2); empty: none.
  std::vector<float> q_norm, k_norm;
  /// q gives per head [query; gate], and the head's output is multiplied by sigmoid(gate) (Qwen3-Next).
  bool gated_queries = false;
  /// The output is multiplied by softplus(gate): one value a head or one a channel (Laguna).
  std::optional<Linear> gate;
};

/// Multi-head latent attention (arXiv 2405.04434 §2.1). A head's query and key are [rope | nope].
struct LatentAttentionPlan {
  uint32_t heads = 0;
  size_t rope_dim = 0, nope_dim = 0, value_dim = 0;
  std::optional<Linear> q_a;  ///< absent: `q` takes the hidden state itself
  std::vector<float> q_a_norm;
  Linear q;     ///< [heads · (rope + nope)]
  Linear kv_a;  ///< [latent | rope]
  std::vector<float> kv_a_norm;
  Linear kv_b;  ///< per head [nope | value]
  Linear o;
  float scale = 1;
  bool rotated = true;

  size_t key_dim() const { return rope_dim + nope_dim; }
  size_t latent_dim() const { return kv_a_norm.size(); }
};

/// The gated delta rule over a short convolution: Gated DeltaNet (arXiv 2412.06464) and Kimi delta attention
/// (arXiv 2510.26692).
struct DeltaPlan {
  size_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  std::vector<Linear> qkv;         ///< one matrix or three: [q heads | k heads | v heads]
  std::vector<float> convolution;  ///< [channels, taps], the token itself last
  size_t taps = 0;
  Projection decay;  ///< [value_heads · decay_channels]
  size_t decay_channels = 1;
  std::vector<float> rates;       ///< [value_heads], exp(A_log)
  std::vector<float> decay_bias;  ///< [value_heads · decay_channels]
  std::optional<float> decay_lower_bound;
  Linear beta;      ///< [value_heads]
  Projection gate;  ///< [value_heads · value_dim]
  bool sigmoid_gate = false;
  std::vector<float> norm;  ///< [value_dim], of each value head before the gate, always x̂·w
  Linear out;

  size_t channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

/// Gated short convolution (LFM2): (B, C, x) = in; out(C · conv(B · x)).
struct ShortConvolutionPlan {
  Linear in;
  std::vector<float> convolution;  ///< [hidden, taps]
  size_t taps = 0;
  Linear out;
};

using MixerPlan = std::variant<AttentionPlan, LatentAttentionPlan, DeltaPlan, ShortConvolutionPlan>;

/// down(act(gate x) · up x).
struct FeedForwardPlan {
  Linear gate, up, down;
};

/// A mixture of experts (docs/formats/cmf.md §12, moe).
struct ExpertsPlan {
  Linear router;
  std::vector<float> choice_bias;  ///< added to the probabilities for the choice only; empty: none
  std::vector<FeedForwardPlan> experts;
  std::optional<FeedForwardPlan> shared;
  std::optional<Linear> shared_gate;  ///< one row: the shared expert's output times its sigmoid
  size_t top_k = 0;                   ///< at most as many as there are experts
  bool sigmoid = false, normalised = false;
  float scaling = 1;
  size_t groups = 1, chosen_groups = 1;
};

using FfnPlan = std::variant<FeedForwardPlan, ExpertsPlan>;

struct LayerPlan {
  std::vector<float> mixer_norm;  ///< before the branch; empty: none
  MixerPlan mixer;
  std::vector<float> mixer_output_norm;  ///< of the branch, before it joins the residual; empty: none
  std::vector<float> ffn_norm;
  FfnPlan ffn;
  std::vector<float> ffn_output_norm;
};

/// Predicts the token after the next (docs/formats/cmf.md §12, mtp): one layer over
/// join [norm(embedding of token t + 1) | norm(hidden state of token t)].
struct MtpPlan {
  std::vector<float> embedding_norm, hidden_norm;
  Linear join;
  LayerPlan layer;
  std::vector<float> norm;
  bool hidden_normed = true;  ///< the hidden state is taken after the model's final norm
};

struct Plan {
  size_t hidden = 0, vocabulary = 0, kv_heads = 0, head_dim = 0;
  float norm_eps = 0;
  bool norm_one_plus = false;
  Activation activation = Activation::kSilu;
  float embedding_scale = 1, attention_scale = 1, attention_softcap = 0;
  float logit_scale = 1, logit_softcap = 0;
  size_t window = 0;
  std::vector<float> v_norm;  ///< ones, if the value heads are normed; else empty
  RopePlan rope;
  kernels::Matrix embedding, head;  ///< `head` is `embedding` if they are tied
  std::vector<LayerPlan> layers;
  size_t loops = 1;              ///< passes through the layers
  bool loop_final_norm = false;  ///< the final norm after every pass
  std::vector<float> final_norm;
  std::optional<MtpPlan> mtp;

  /// A layer in one pass: visit v runs layer v mod layers.size() and has a state of its own.
  size_t visits() const { return layers.size() * loops; }
  const LayerPlan& visited(size_t visit) const { return layers[visit % layers.size()]; }
};

/// See Model::load. The matrices are views of the package's mapping.
Result<std::unique_ptr<const Plan>> plan_model(const Package& package);

}  // namespace amphora::model
