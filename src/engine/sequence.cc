// Ids and state in step: see sequence.h.
#include "engine/sequence.h"

#include <algorithm>

namespace amphora {

void Sequence::run_block() {
  const size_t count = std::min(model::kBlockTokens, ids_.size() - run_);
  decoder_.run(std::span(ids_).subspan(run_, count), run_, long_sequence_, state_);
  run_ += count;
  // A ring has lost what its longest sequence pushed out, also when that has been cut since.
  first_cut_ = std::max<size_t>(first_cut_, state_.first_cut(run_));
}

void Sequence::catch_up() {
  while (run_ < ids_.size()) run_block();
}

void Sequence::choose_rope(size_t length) {
  const model::RopePlan& rope = plan_.rope;
  const bool wanted = rope.long_global && length > rope.long_threshold;
  if (wanted == long_sequence_) return;
  long_sequence_ = wanted;
  start_over();
}

void Sequence::start_over() {
  run_ = 0;
  first_cut_ = 0;
  std::ranges::fill(state_.recurrent(), 0.0f);
  for (Kept& kept : kept_) kept.used = false;
}

void Sequence::cut(size_t position) {
  if (position >= ids_.size()) return;
  ids_.resize(position);
  if (position >= run_) return;
  const bool window_lost = position < first_cut_;
  if (window_lost) return start_over();
  if (state_.recurrent().empty()) {
    run_ = position;
    return;
  }
  const Kept* best = nullptr;
  for (Kept& kept : kept_) {
    if (kept.position > position || kept.position < first_cut_) kept.used = false;
    if (kept.used && (best == nullptr || kept.position > best->position)) best = &kept;
  }
  if (best == nullptr) return start_over();
  std::ranges::copy(best->recurrent, state_.recurrent().begin());
  run_ = best->position;
}

void Sequence::keep(Checkpoint place) {
  if (state_.recurrent().empty() || run_ != ids_.size()) return;
  Kept& kept = kept_[static_cast<size_t>(place)];
  const std::span<const float> recurrent = state_.recurrent();
  kept.recurrent.assign(recurrent.begin(), recurrent.end());
  kept.position = run_;
  kept.used = true;
}

void Sequence::restore(std::vector<uint32_t> ids, bool long_sequence, size_t first_cut, Kept prompt) {
  ids_ = std::move(ids);
  run_ = ids_.size();
  first_cut_ = first_cut;
  long_sequence_ = long_sequence;
  for (Kept& kept : kept_) kept.used = false;
  kept_[static_cast<size_t>(Checkpoint::kPrompt)] = std::move(prompt);
}

}  // namespace amphora
