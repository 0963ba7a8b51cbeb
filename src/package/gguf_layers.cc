// Layers from embedding to head: norms, feed-forward parts, experts, predictors.
#include "package/gguf_layers.h"

#include <fmt/format.h>

#include <array>

#include "package/gguf_layer_claims.h"
#include "package/gguf_mixers.h"
#include "package/gguf_rope.h"

namespace amphora::package {
namespace {

void claim_norms(LayerClaims& layer) {
  const uint64_t hidden = layer.spec().hidden_size;
  const auto take = [&](std::string_view from, std::string_view name) {
    layer.take_norm(from, name, hidden);
  };
  // Hugging Face calls the norm before the feed-forward part by its place after attention, except where there
  // is a norm on that very place too.
  switch (layer.architecture().norms) {
    case GgufNorms::kBefore:
      take("attn_norm.weight", "input_layernorm.weight");
      take("ffn_norm.weight", "post_attention_layernorm.weight");
      break;
    case GgufNorms::kPostAttention:
      take("attn_norm.weight", "input_layernorm.weight");
      take("post_attention_norm.weight", "post_attention_layernorm.weight");
      break;
    case GgufNorms::kSandwich:
      take("attn_norm.weight", "input_layernorm.weight");
      take("post_attention_norm.weight", "post_attention_layernorm.weight");
      take("ffn_norm.weight", "pre_feedforward_layernorm.weight");
      take("post_ffw_norm.weight", "post_feedforward_layernorm.weight");
      break;
    case GgufNorms::kAfter:
      take("post_attention_norm.weight", "post_attention_layernorm.weight");
      take("post_ffw_norm.weight", "post_feedforward_layernorm.weight");
      break;
  }
}

void claim_dense_ffn(LayerClaims& layer) {
  const uint64_t hidden = layer.spec().hidden_size, width = layer.spec().intermediate_size;
  if (layer.architecture().gate_in_up) {
    layer.claims.take(layer.stored("ffn_up.weight"), {2 * width, hidden},
                      {layer.part("mlp.gate_proj.weight", {width, hidden}),
                       layer.part("mlp.up_proj.weight", {width, hidden}, RowOrder::from(width))});
  } else {
    layer.take("ffn_gate.weight", "mlp.gate_proj.weight", {width, hidden});
    layer.take("ffn_up.weight", "mlp.up_proj.weight", {width, hidden});
  }
  layer.take("ffn_down.weight", "mlp.down_proj.weight", {hidden, width}, RowOrder::from(0),
             layer.output_change());
}

std::string expert_name(uint64_t expert, std::string_view projection) {
  return fmt::format("mlp.experts.{}.{}_proj.weight", expert, projection);
}

/// One projection of all experts, `size` each: the views follow one another as the file's bytes do.
void claim_expert_projection(LayerClaims& layer, std::string_view projection, LayerClaims::Size size,
                             ValueChange change) {
  const uint64_t experts = layer.spec().moe->num_experts;
  const auto older_name = [&](uint64_t expert) {
    return fmt::format("ffn_{}.{}.weight", projection, expert);
  };
  if (layer.has(older_name(0))) {
    for (uint64_t expert = 0; expert < experts; ++expert) {
      layer.claims.take(layer.stored(older_name(expert)), size.shape(),
                        {layer.part(expert_name(expert, projection), size)}, change,
                        layer.stored(older_name(0)));
      if (!layer.has(older_name(expert))) return;  // the first that is missing has been noticed
    }
    return;
  }
  std::vector<StoredPart> parts;
  for (uint64_t expert = 0; expert < experts; ++expert)
    parts.push_back(layer.part(expert_name(expert, projection), size, RowOrder::from(expert * size.rows)));
  layer.claims.take(layer.stored(fmt::format("ffn_{}_exps.weight", projection)),
                    {experts, size.rows, size.columns}, std::move(parts), change);
}

/// Gate and up of each expert stored as one: all gates come out before all ups.
void claim_joint_expert_projections(LayerClaims& layer, uint64_t width, uint64_t hidden) {
  const uint64_t experts = layer.spec().moe->num_experts;
  std::vector<StoredPart> parts;
  for (const uint64_t half : {0, 1})
    for (uint64_t expert = 0; expert < experts; ++expert)
      parts.push_back(layer.part(expert_name(expert, half == 0 ? "gate" : "up"), {width, hidden},
                                 RowOrder::from((2 * expert + half) * width)));
  layer.claims.take(layer.stored("ffn_gate_up_exps.weight"), {experts, 2 * width, hidden}, std::move(parts));
}

void claim_shared_expert(LayerClaims& layer, uint64_t width, uint64_t hidden) {
  layer.take("ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight", {width, hidden});
  layer.take("ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight", {width, hidden});
  layer.take("ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight", {hidden, width},
             RowOrder::from(0), layer.output_change());
  if (layer.has("ffn_gate_inp_shexp.weight"))
    layer.take("ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight", {1, hidden});
}

void claim_mixture(LayerClaims& layer) {
  const MoeSpec& moe = *layer.spec().moe;
  const uint64_t hidden = layer.spec().hidden_size, width = moe.moe_intermediate_size;
  layer.take("ffn_gate_inp.weight", "mlp.gate.weight", {moe.num_experts, hidden});
  if (layer.has("exp_probs_b.bias")) layer.take("exp_probs_b.bias", "mlp.expert_bias", {moe.num_experts});
  if (layer.has("ffn_gate_up_exps.weight")) {
    claim_joint_expert_projections(layer, width, hidden);
  } else {
    claim_expert_projection(layer, "gate", {width, hidden}, {});
    claim_expert_projection(layer, "up", {width, hidden}, {});
  }
  claim_expert_projection(layer, "down", {hidden, width}, layer.output_change());
  if (moe.shared_expert_intermediate_size)
    claim_shared_expert(layer, *moe.shared_expert_intermediate_size, hidden);
}

bool is_mixture(const LayerClaims& layer, uint32_t index) {
  if (!layer.spec().moe) return false;
  return layer.model.dense_layers_known ? index >= layer.model.dense_layers : !layer.has("ffn_up.weight");
}

void claim_layer(LayerClaims& layer, uint32_t index, LayerType type) {
  claim_norms(layer);
  if (layer.architecture().mixer == GgufMixer::kLatent)
    claim_latent_attention(layer);
  else if (type == LayerType::kLinearAttention)
    claim_gated_delta_net(layer);
  else
    claim_attention(layer);
  if (is_mixture(layer, index))
    claim_mixture(layer);
  else
    claim_dense_ffn(layer);
}

/// What a predictor must have, with the canonical names of the norms and of the matrix that joins its inputs.
struct PredictorTensor {
  std::string_view stored, canonical;
};
constexpr std::array kPredictorNorms = {
    PredictorTensor{"nextn.enorm.weight", "enorm.weight"},
    PredictorTensor{"nextn.hnorm.weight", "hnorm.weight"},
    PredictorTensor{"nextn.shared_head_norm.weight", "norm.weight"},
};
constexpr std::string_view kPredictorJoin = "nextn.eh_proj.weight";
constexpr std::array<std::string_view, 2> kPredictorCopies = {"nextn.embed_tokens.weight",
                                                              "nextn.shared_head_head.weight"};

bool is_complete_predictor(const LayerClaims& block) {
  bool complete = block.has(kPredictorJoin);
  for (const PredictorTensor& norm : kPredictorNorms) complete &= block.has(norm.stored);
  return complete;
}

/// The block behind the layers that predicts one more token (arXiv 2412.19437 §2.2).
void claim_predictor(GgufModel& model, uint32_t index, TensorClaims& claims) {
  constexpr std::string_view kPrefix = "model.mtp.";
  const uint64_t hidden = model.spec.hidden_size;
  const std::string stored = fmt::format("blk.{}.", index);
  LayerClaims block(model, claims, stored, std::string(kPrefix));
  for (const PredictorTensor& norm : kPredictorNorms) block.take_norm(norm.stored, norm.canonical, hidden);
  block.take(kPredictorJoin, "eh_proj.weight", {hidden, 2 * hidden});
  for (const std::string_view copy : kPredictorCopies) {
    if (!block.has(copy)) continue;
    claims.drop(block.stored(copy));
    model.notes.push_back(
        fmt::format("{} is left out: the predictor shares the model's own", block.stored(copy)));
  }
  LayerClaims layer(model, claims, stored, fmt::format("{}layers.0.", kPrefix));
  claim_layer(layer, index, LayerType::kFullAttention);
  model.spec.mtp = MtpSpec{.num_layers = 1};
}

void claim_predictors(GgufModel& model, TensorClaims& claims) {
  const uint32_t first = model.spec.num_layers;
  const LayerClaims block(model, claims, fmt::format("blk.{}.", first), "");
  if (model.predictor_layers == 1 && is_complete_predictor(block)) {
    claim_predictor(model, first, claims);
    return;
  }
  size_t dropped = 0;
  for (uint32_t index = first; index < first + model.predictor_layers; ++index)
    dropped += claims.drop_all(fmt::format("blk.{}.", index));
  if (dropped != 0)
    model.notes.push_back(fmt::format(
        "{} tensors of {} predictors of further tokens are left out: {}", dropped, model.predictor_layers,
        model.predictor_layers == 1 ? "some are missing" : "only one has a place"));
}

}  // namespace

void claim_model(GgufModel& model, TensorClaims& claims) {
  const uint64_t hidden = model.spec.hidden_size, vocabulary = model.spec.vocab_size;
  LayerClaims whole(model, claims, "", "");
  whole.take("token_embd.weight", "model.embed_tokens.weight", {vocabulary, hidden});
  whole.take_norm("output_norm.weight", "model.norm.weight", hidden);
  if (whole.has("output.weight")) whole.take("output.weight", "lm_head.weight", {vocabulary, hidden});
  for (const std::string_view name : kRopeTensors) claims.drop(name);  // they are a part of the spec
  for (uint32_t index = 0; index < model.spec.num_layers; ++index) {
    LayerClaims layer(model, claims, fmt::format("blk.{}.", index), fmt::format("model.layers.{}.", index));
    claim_layer(layer, index, model.spec.layer_types[index]);
  }
  claim_predictors(model, claims);
}

}  // namespace amphora::package
