// Guesses by the model's own predictor: see mtp_drafter.h.
#include "engine/mtp_drafter.h"

#include <algorithm>

namespace amphora {

size_t MtpDrafter::width() const { return sequence_.plan().hidden; }

void MtpDrafter::collect(const Sequence::Block& block) {
  const size_t position = sequence_.run_ids() - block.count;
  const size_t waiting_end = first_ + waiting_.size() / width();
  if (position != waiting_end) {  // hidden states before were never seen: begin anew here
    waiting_.clear();
    first_ = position;
  }
  const float* const hidden = sequence_.decoder().hidden() + block.offset * width();
  waiting_.insert(waiting_.end(), hidden, hidden + block.count * width());
}

void MtpDrafter::cut(size_t position) {
  if (position <= first_) {
    // The row before is gone, too: its next id is another now, and its hidden state is not kept.
    waiting_.clear();
    first_ = position;
  } else {
    waiting_.resize(std::min(waiting_.size(), (position - first_) * width()));
  }
}

void MtpDrafter::run_waiting(std::span<const uint32_t> next_ids) {
  outputs_.resize(model::kBlockTokens * width());
  size_t done = 0;
  while (done < next_ids.size()) {
    const auto block = next_ids.subspan(done, std::min(model::kBlockTokens, next_ids.size() - done));
    sequence_.decoder().draft(block, waiting_.data() + done * width(), first_ + done,
                              sequence_.long_sequence(), sequence_.state(), outputs_.data());
    done += block.size();
    if (done == next_ids.size() && block.size() > 1)
      std::copy_n(&outputs_[(block.size() - 1) * width()], width(), outputs_.begin());
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(done * width()));
  first_ += done;
}

void MtpDrafter::feed() {
  const std::span<const uint32_t> ids = sequence_.ids();
  if (waiting_.empty() || first_ + 1 >= ids.size()) return;
  const size_t rows = std::min(waiting_.size() / width(), ids.size() - first_ - 1);
  if (rows > 0) run_waiting(ids.subspan(first_ + 1, rows));
}

std::vector<uint32_t> MtpDrafter::draft(uint32_t next, size_t count) {
  std::vector<uint32_t> drafts;
  feed();
  const bool last_is_known = waiting_.size() == width() && first_ + 1 == sequence_.ids().size();
  if (count == 0 || !last_is_known) return drafts;
  logits_.resize(sequence_.plan().vocabulary);
  run_waiting({&next, 1});
  for (size_t position = first_;; ++position) {
    sequence_.decoder().draft_logits(outputs_.data(), logits_.data());
    const auto best = std::ranges::max_element(logits_) - logits_.begin();
    drafts.push_back(static_cast<uint32_t>(best));
    if (drafts.size() == count) break;
    // Behind the last known position the predictor's own state stands in for the model's; such rows are
    // overwritten when the true one is known.
    sequence_.decoder().draft({&drafts.back(), 1}, outputs_.data(), position, sequence_.long_sequence(),
                              sequence_.state(), outputs_.data());
  }
  return drafts;
}

}  // namespace amphora
