// What a model remembers of one sequence: keys and values of attention, and the recurrent state of the other
// mixers, for every visit of a layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "amphora/result.h"
#include "kernels/kernels.h"
#include "model/plan.h"

namespace amphora::model {

/// Tokens that run together at most: enough to pay for unpacking the weights, few enough to stay in cache.
inline constexpr size_t kBlockTokens = 128;

/// The state of one visit; which of it there is depends on the mixer.
struct VisitState {
  kernels::KvView kv;
  float* history = nullptr;  ///< inputs of the short convolution before the block, [taps - 1, channels]
  float* matrix = nullptr;   ///< of the delta rule, [value_heads, key_dim, value_dim]
};

/// Address space for keys and values is reserved for the full context at once; memory is taken page by page
/// as positions fill. Layers with a window keep only the last positions: the window, a block, and
/// kSpareWindowPositions that may be taken back.
class SequenceState {
 public:
  static constexpr uint64_t kSpareWindowPositions = 128;

  /// kUsage if the system does not give that much address space.
  static Result<SequenceState> create(const Plan& plan, kernels::KvType type, uint64_t capacity);
  SequenceState(SequenceState&& other) noexcept;
  SequenceState& operator=(SequenceState&&) = delete;
  ~SequenceState();

  const VisitState& visit(size_t index) const { return visits_[index]; }
  /// Of the predictor of the token after the next, if the plan has one.
  const VisitState& mtp() const { return visits_.back(); }

  /// The first position up to which a sequence of `length` can be cut so that all that attention then needs
  /// is still kept.
  uint64_t first_cut(uint64_t length) const;
  /// The recurrent state as a copy of it is kept; empty for a model of attention alone.
  std::span<float> recurrent() { return recurrent_; }
  std::span<const float> recurrent() const { return recurrent_; }

  uint64_t reserved_bytes() const { return reserved_bytes_; }
  /// Keys and values of `length` positions, and the recurrent state.
  uint64_t used_bytes(uint64_t length) const;

  /// The bytes of a visit's keys (values, if `values`) that a sequence of `length` positions fills: per head,
  /// in the order of slots.
  std::vector<std::span<std::byte>> kv_parts(size_t index, bool values, uint64_t length) const;
  size_t visits() const { return visits_.size(); }

 private:
  SequenceState(std::byte* memory, uint64_t bytes) : memory_(memory), reserved_bytes_(bytes) {}

  std::byte* memory_;
  uint64_t reserved_bytes_;
  uint64_t window_ = 0, ring_ = 0;  ///< 0: no layer keeps less than all positions
  std::vector<VisitState> visits_;
  std::vector<float> recurrent_;
};

}  // namespace amphora::model
