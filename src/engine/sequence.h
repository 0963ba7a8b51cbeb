// One sequence of ids and what a model remembers of it, kept in step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "amphora/result.h"
#include "model/decoder.h"
#include "model/plan.h"
#include "model/sequence_state.h"

namespace amphora {

/// Does not check ids or their number. Cutting is cheap: what a cut has made unusable is run again by the
/// next append(), and the results are the same bits as without the cut.
class Sequence {
 public:
  Sequence(const model::Plan& plan, const kernels::Executor& executor, model::SequenceState state)
      : plan_(plan), decoder_(plan, executor), state_(std::move(state)) {}

  const model::Plan& plan() const { return plan_; }
  std::span<const uint32_t> ids() const { return ids_; }
  /// How many of the ids the state holds; all of them but after a cut or within append().
  size_t run_ids() const { return run_; }
  model::Decoder& decoder() { return decoder_; }
  const model::Decoder& decoder() const { return decoder_; }
  const model::SequenceState& state() const { return state_; }
  std::span<float> recurrent() { return state_.recurrent(); }
  bool long_sequence() const { return long_sequence_; }
  /// The shortest length to which the ids can be cut without losing what layers with a window need.
  size_t first_cut() const { return first_cut_; }

  /// What a block gave: `count` of the added ids from index `first` on, whose hidden states and logits are
  /// those of the decoder's last block from token `offset` on.
  struct Block {
    size_t first, count, offset;
  };
  /// Runs ids block by block and calls `after_block` with each Block; an error from it ends the run behind
  /// that block.
  template <class AfterBlock>
  Status append(std::span<const uint32_t> added, AfterBlock after_block) {
    choose_rope(ids_.size() + added.size());
    const size_t held = ids_.size();
    ids_.insert(ids_.end(), added.begin(), added.end());
    while (run_ < ids_.size()) {
      const size_t first = run_;
      run_block();
      if (run_ <= held) continue;
      const size_t from = std::max(first, held);
      if (Status status = after_block(Block{from - held, run_ - from, from - first}); !status) {
        ids_.resize(run_);
        return status;
      }
    }
    return {};
  }

  /// Forgets everything from `position` on; a position beyond the current one changes nothing.
  void cut(size_t position);

  /// Places from which a recurrent state can be taken up again after a cut.
  enum class Checkpoint : uint8_t { kPrompt, kDraft, kCount };
  /// Keeps a copy of the state as it is now; without a recurrent state there is nothing to keep.
  void keep(Checkpoint place);

  struct Kept {
    bool used = false;
    size_t position = 0;
    std::vector<float> recurrent;
  };
  const Kept& kept(Checkpoint place) const { return kept_[static_cast<size_t>(place)]; }

  /// Holds a saved sequence from now on (state_file.h), whose keys, values and recurrent state the caller
  /// puts into state() and recurrent().
  void restore(std::vector<uint32_t> ids, bool long_sequence, size_t first_cut, Kept prompt);
  /// Runs what a cut has made unusable.
  void catch_up();

 private:
  /// Runs the next ids that the state does not hold.
  void run_block();
  /// LongRoPE turns every position of a sequence with one set of frequencies, chosen by its length: when that
  /// choice changes, everything is run again.
  void choose_rope(size_t length);
  void start_over();

  const model::Plan& plan_;
  model::Decoder decoder_;
  model::SequenceState state_;
  std::vector<uint32_t> ids_;
  size_t run_ = 0;  ///< how many of the ids the state holds
  size_t first_cut_ = 0;
  bool long_sequence_ = false;
  std::array<Kept, static_cast<size_t>(Checkpoint::kCount)> kept_;
};

}  // namespace amphora
