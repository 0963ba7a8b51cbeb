// Runs a plan: token ids in, hidden states and logits out. The order of a model's operations is here; the
// operators are in operators.h, the arithmetic in kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "model/input_observer.h"
#include "model/operators.h"
#include "model/plan.h"
#include "model/run_mask.h"
#include "model/sequence_state.h"
#include "model/workspace.h"

namespace amphora::model {

/// Owns the activations between operations; they grow to the largest block and are then used again. Does not
/// check its input: ids are below the vocabulary and the state has room.
class Decoder {
 public:
  Decoder(const Plan& plan, const kernels::Executor& executor) : plan_(plan), work_(plan, executor) {}

  /// Runs up to kBlockTokens ids at positions first_position …, which moves the state on.
  /// `long_sequence` chooses the frequencies of LongRoPE.
  void run(std::span<const uint32_t> ids, size_t first_position, bool long_sequence,
           const SequenceState& state);
  /// Logits [count, vocabulary] after tokens first … of the last block.
  void logits(size_t first, size_t count, float* out);
  /// The residual stream [tokens, hidden] after the last layer for the last block of run(); it lasts until
  /// the next call of run() or draft().
  const float* hidden() { return work_.room(Room::kResidual, 0); }

  /// The predictor of the token after the next over up to kBlockTokens rows: row i joins the embedding of
  /// next_ids[i] with the hidden state [count, hidden] at position first_position + i, as hidden() gives it,
  /// and gives a hidden state of its own in `outputs` [count, hidden], which may be `hidden`.
  void draft(std::span<const uint32_t> next_ids, const float* hidden, size_t first_position,
             bool long_sequence, const SequenceState& state, float* outputs);
  /// Logits [vocabulary] of one of the predictor's hidden states.
  void draft_logits(const float* output, float* logits);

  /// What is left out from now on; null: nothing. It must outlive its use and have the plan's visits.
  void leave_out(const RunMask* mask) { mask_ = mask; }
  /// Counts from now on how often each expert is chosen: per layer, the passes together.
  void count_experts();
  /// [layers][experts]; a layer that is no mixture has none.
  const std::vector<std::vector<uint64_t>>& expert_counts() const { return expert_counts_; }
  /// Shows `observer` every matrix's inputs from now on; null: nobody. It must outlive its use.
  void observe_inputs(InputObserver* observer) { work_.observe_inputs(observer); }

  uint64_t scratch_bytes() const;

 private:
  void turn(size_t first_position, size_t tokens, bool long_sequence);
  void embed(std::span<const uint32_t> ids, float* rows);
  void run_layer(const LayerPlan& layer, const VisitState& state, const VisitMask* mask, uint64_t* counts,
                 const BlockContext& block);
  /// The branch's output, normed if the layer says so, joins the residual stream.
  void join(float* branch, const std::vector<float>& norm, size_t tokens);
  void finish_logits(float* logits, size_t count);

  const Plan& plan_;
  Workspace work_;
  const RunMask* mask_ = nullptr;
  std::vector<std::vector<uint64_t>> expert_counts_;
  Rotation global_, local_;
};

}  // namespace amphora::model
