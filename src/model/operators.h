// The operators of a layer: from a branch's input to its output, for a block of tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "model/plan.h"
#include "model/run_mask.h"
#include "model/sequence_state.h"
#include "model/workspace.h"

namespace amphora::model {

/// Cosines and sines of the positions of a block.
struct Rotation {
  size_t half = 0;
  std::vector<float> cosines, sines;  ///< [tokens, half]

  void fill(const RopeFrequencies& frequencies, size_t first_position, size_t tokens);
};

/// The tokens that run together.
struct BlockContext {
  size_t tokens = 0, first_position = 0;
  const Rotation* global = nullptr;
  const Rotation* local = nullptr;
};

/// `input` and `out` are [tokens, hidden] and different; the state is moved on by the block's tokens.
void run_attention(Workspace& work, const AttentionPlan& plan, const BlockContext& block,
                   const VisitState& state, const VisitMask* mask, const float* input, float* out);
void run_latent_attention(Workspace& work, const LatentAttentionPlan& plan, const BlockContext& block,
                          const VisitState& state, const VisitMask* mask, const float* input, float* out);
void run_delta(Workspace& work, const DeltaPlan& plan, const BlockContext& block, const VisitState& state,
               const float* input, float* out);
void run_short_convolution(Workspace& work, const ShortConvolutionPlan& plan, const BlockContext& block,
                           const VisitState& state, const float* input, float* out);

void run_feed_forward(Workspace& work, const FeedForwardPlan& plan, size_t tokens, const VisitMask* mask,
                      const float* input, float* out);
/// `counts` [experts] is raised by one for every choice of an expert; null: nobody counts.
void run_experts(Workspace& work, const ExpertsPlan& plan, size_t tokens, const VisitMask* mask,
                 uint64_t* counts, const float* input, float* out);

}  // namespace amphora::model
