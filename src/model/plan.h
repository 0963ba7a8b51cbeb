// What a model computes, layer by layer, found out from the tensors that its package holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "amphora/package.h"
#include "kernels/kernels.h"
#include "model/rope.h"

namespace amphora::model {

/// y = W x, plus the bias if there is one.
struct Linear {
  kernels::Matrix weights;
  std::vector<float> bias;  ///< empty: none
};

struct LayerPlan {
  uint32_t heads = 0;
  bool local = false;  ///< sees `Plan::window` positions and turns with the local frequencies
  std::vector<float> attention_norm;
  Linear q, k, v, o;
  std::vector<float> q_norm, k_norm;         ///< per head, before the rotation; empty: none
  std::vector<float> attention_output_norm;  ///< of the branch, before it joins the residual; empty: none
  std::vector<float> ffn_norm;
  Linear gate, up, down;
  std::vector<float> ffn_output_norm;  ///< empty: none
};

struct Plan {
  size_t hidden = 0, vocabulary = 0, kv_heads = 0, head_dim = 0;
  size_t most_heads = 0, widest_ffn = 0;  ///< over the layers
  float norm_eps = 0;
  bool norm_one_plus = false;
  Activation activation = Activation::kSilu;
  float embedding_scale = 1, attention_scale = 1, attention_softcap = 0;
  float logit_scale = 1, logit_softcap = 0;
  size_t window = 0;
  RopePlan rope;
  kernels::Matrix embedding, head;  ///< `head` is `embedding` if they are tied
  std::vector<LayerPlan> layers;
  std::vector<float> final_norm;
};

/// See Model::load. The matrices are views of the package's mapping.
Result<std::unique_ptr<const Plan>> plan_model(const Package& package);

}  // namespace amphora::model
