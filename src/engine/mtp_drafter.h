// Guesses the next tokens with the model's own predictor (multi-token prediction).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sequence.h"

namespace amphora {

/// The predictor sees, for every position t of the sequence, the model's hidden state there and the id at
/// t + 1. Rows are run once their next id is certain; the row of the last position waits for it.
class MtpDrafter {
 public:
  /// `sequence` must outlive the drafter and its plan have a predictor.
  explicit MtpDrafter(Sequence& sequence) : sequence_(sequence) {}

  /// Takes the hidden states of a block that has just run.
  void collect(const Sequence::Block& block);
  /// Forgets the positions from `position` on.
  void cut(size_t position);
  /// Runs the rows whose next id the sequence holds. Only while all its ids are certain.
  void feed();
  /// At most `count` guesses at what follows `next`, the id after the sequence's last.
  std::vector<uint32_t> draft(uint32_t next, size_t count);
  /// Logits [vocabulary] of the last guess.
  std::span<const float> last_logits() const { return logits_; }

 private:
  size_t width() const;
  /// Runs `next_ids.size()` waiting rows from `first_` on.
  void run_waiting(std::span<const uint32_t> next_ids);

  Sequence& sequence_;
  size_t first_ = 0;            ///< position of the first waiting row
  std::vector<float> waiting_;  ///< hidden states [rows, hidden]
  std::vector<float> outputs_, logits_;
};

}  // namespace amphora
