// Runs a plan: see decoder.h.
#include "model/decoder.h"

#include <algorithm>
#include <cmath>

namespace amphora::model {

uint64_t Decoder::scratch_bytes() const {
  const size_t floats = global_.cosines.capacity() + global_.sines.capacity() + local_.cosines.capacity() +
                        local_.sines.capacity();
  return work_.bytes() + floats * sizeof(float);
}

void Decoder::count_experts() {
  expert_counts_.clear();
  for (const LayerPlan& layer : plan_.layers) {
    const auto* mixture = std::get_if<ExpertsPlan>(&layer.ffn);
    expert_counts_.emplace_back(mixture == nullptr ? 0 : mixture->experts.size());
  }
}

void Decoder::turn(size_t first_position, size_t tokens, bool long_sequence) {
  const RopePlan& rope = plan_.rope;
  global_.fill(long_sequence && rope.long_global ? *rope.long_global : rope.global, first_position, tokens);
  if (plan_.window != 0)
    local_.fill(long_sequence && rope.long_local ? *rope.long_local : rope.local, first_position, tokens);
}

void Decoder::embed(std::span<const uint32_t> ids, float* rows) {
  for (size_t t = 0; t < ids.size(); ++t) {
    float* row = rows + t * plan_.hidden;
    kernels::decode_row(plan_.embedding, ids[t], row);
    if (plan_.embedding_scale != 1)
      for (size_t i = 0; i < plan_.hidden; ++i) row[i] *= plan_.embedding_scale;
  }
}

void Decoder::join(float* branch, const std::vector<float>& norm, size_t tokens) {
  if (!norm.empty()) work_.normalise(branch, norm, tokens, branch);
  kernels::add(work_.executor(), work_.room(Room::kResidual, 0), branch, tokens * plan_.hidden);
}

void Decoder::run_layer(const LayerPlan& layer, const VisitState& state, const VisitMask* mask,
                        uint64_t* counts, const BlockContext& block) {
  const size_t tokens = block.tokens;
  float* const residual = work_.room(Room::kResidual, tokens * plan_.hidden);
  float* const normed = work_.room(Room::kInput, tokens * plan_.hidden);
  float* const branch = work_.room(Room::kBranch, tokens * plan_.hidden);
  const auto input_of = [&](const std::vector<float>& norm) -> const float* {
    if (norm.empty()) return residual;
    work_.normalise(residual, norm, tokens, normed);
    return normed;
  };

  const float* input = input_of(layer.mixer_norm);
  struct Mixers {
    Workspace& work;
    const BlockContext& block;
    const VisitState& state;
    const VisitMask* mask;
    const float* input;
    float* out;
    void operator()(const AttentionPlan& plan) const {
      run_attention(work, plan, block, state, mask, input, out);
    }
    void operator()(const LatentAttentionPlan& plan) const {
      run_latent_attention(work, plan, block, state, mask, input, out);
    }
    void operator()(const DeltaPlan& plan) const { run_delta(work, plan, block, state, input, out); }
    void operator()(const ShortConvolutionPlan& plan) const {
      run_short_convolution(work, plan, block, state, input, out);
    }
  };
  std::visit(Mixers{work_, block, state, mask, input, branch}, layer.mixer);
  join(branch, layer.mixer_output_norm, tokens);

  input = input_of(layer.ffn_norm);
  if (const auto* dense = std::get_if<FeedForwardPlan>(&layer.ffn))
    run_feed_forward(work_, *dense, tokens, mask, input, branch);
  else
    run_experts(work_, std::get<ExpertsPlan>(layer.ffn), tokens, mask, counts, input, branch);
  join(branch, layer.ffn_output_norm, tokens);
}

void Decoder::run(std::span<const uint32_t> ids, size_t first_position, bool long_sequence,
                  const SequenceState& state) {
  const size_t tokens = ids.size(), layers = plan_.layers.size();
  turn(first_position, tokens, long_sequence);
  float* const residual = work_.room(Room::kResidual, tokens * plan_.hidden);
  embed(ids, residual);
  const BlockContext block{tokens, first_position, &global_, &local_};
  for (size_t visit = 0; visit < plan_.visits(); ++visit) {
    const VisitMask* mask = mask_ == nullptr ? nullptr : &mask_->visits[visit];
    if (mask != nullptr && mask->skipped) continue;
    uint64_t* const counts = expert_counts_.empty() ? nullptr : expert_counts_[visit % layers].data();
    run_layer(plan_.visited(visit), state.visit(visit), mask, counts, block);
    // The norm between passes belongs to the visit of the last layer: a mask that skips the one skips both.
    // The norm after the last pass is that of logits().
    const bool pass_ends = (visit + 1) % layers == 0 && visit + 1 < plan_.visits();
    if (pass_ends && plan_.loop_final_norm) work_.normalise(residual, plan_.final_norm, tokens, residual);
  }
}

void Decoder::draft(std::span<const uint32_t> next_ids, const float* hidden, size_t first_position,
                    bool long_sequence, const SequenceState& state, float* outputs) {
  const MtpPlan& mtp = *plan_.mtp;
  const size_t tokens = next_ids.size(), width = plan_.hidden;
  turn(first_position, tokens, long_sequence);
  float* const embedded = work_.room(Room::kInput, tokens * width);
  float* const states = work_.room(Room::kBranch, tokens * width);
  float* const joined = work_.room(Room::kLatent, 2 * tokens * width);
  embed(next_ids, embedded);
  work_.normalise(embedded, mtp.embedding_norm, tokens, embedded);
  std::copy_n(hidden, tokens * width, states);
  if (mtp.hidden_normed) work_.normalise(states, plan_.final_norm, tokens, states);
  work_.normalise(states, mtp.hidden_norm, tokens, states);
  for (size_t t = 0; t < tokens; ++t) {
    std::copy_n(embedded + t * width, width, joined + 2 * t * width);
    std::copy_n(states + t * width, width, joined + (2 * t + 1) * width);
  }
  float* const residual = work_.room(Room::kResidual, tokens * width);
  work_.multiply(mtp.join, joined, tokens, residual);
  run_layer(mtp.layer, state.mtp(), nullptr, nullptr, {tokens, first_position, &global_, &local_});
  std::copy_n(residual, tokens * width, outputs);
}

void Decoder::draft_logits(const float* output, float* logits) {
  float* const normed = work_.room(Room::kInput, plan_.hidden);
  work_.normalise(output, plan_.mtp->norm, 1, normed);
  work_.multiply(plan_.head, normed, 1, logits);
  finish_logits(logits, 1);
}

void Decoder::logits(size_t first, size_t count, float* out) {
  float* const normed = work_.room(Room::kInput, count * plan_.hidden);
  work_.normalise(hidden() + first * plan_.hidden, plan_.final_norm, count, normed);
  work_.multiply(plan_.head, normed, count, out);
  finish_logits(out, count);
}

void Decoder::finish_logits(float* logits, size_t count) {
  const size_t total = count * plan_.vocabulary;
  if (plan_.logit_scale != 1) kernels::scale(work_.executor(), logits, plan_.logit_scale, total);
  if (plan_.logit_softcap != 0) kernels::softcap(work_.executor(), logits, plan_.logit_softcap, total);
}

}  // namespace amphora::model
