// Keys, values and recurrent state of one sequence: see sequence_state.h.
#include "model/sequence_state.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/checked.h"

namespace amphora::model {
namespace {

constexpr uint64_t kPage = 4096;
/// Of a recurrent state at most, 8 GiB: a hundred times what the largest published models have.
constexpr uint64_t kMostRecurrentFloats = uint64_t{1} << 31;

/// What a mixer remembers.
struct Needs {
  size_t kv_heads = 0, key_dim = 0, value_dim = 0;
  bool local = false;
  uint64_t history = 0, matrix = 0;  ///< floats
};

Needs needs_of(const Plan& plan, const MixerPlan& mixer) {
  struct Visitor {
    const Plan& plan;
    Needs operator()(const AttentionPlan& attention) const {
      return {plan.kv_heads, plan.head_dim, plan.head_dim, attention.local, 0, 0};
    }
    Needs operator()(const LatentAttentionPlan& latent) const {
      return {latent.heads, latent.key_dim(), latent.value_dim, false, 0, 0};
    }
    Needs operator()(const DeltaPlan& delta) const {
      constexpr uint64_t kTooMany = ~uint64_t{0};
      const std::array<uint64_t, 3> matrix = {delta.value_heads, delta.key_dim, delta.value_dim};
      Needs needs;
      needs.history = checked_mul(delta.taps - 1, delta.channels()).value_or(kTooMany);
      needs.matrix = checked_product(matrix).value_or(kTooMany);
      return needs;
    }
    Needs operator()(const ShortConvolutionPlan& convolution) const {
      return {0, 0, 0, false, (convolution.taps - 1) * plan.hidden, 0};
    }
  };
  return std::visit(Visitor{plan}, mixer);
}

std::vector<Needs> needs_of_visits(const Plan& plan) {
  std::vector<Needs> needs;
  for (size_t visit = 0; visit < plan.visits(); ++visit)
    needs.push_back(needs_of(plan, plan.visited(visit).mixer));
  if (plan.mtp) needs.push_back(needs_of(plan, plan.mtp->layer.mixer));
  return needs;
}

/// Positions that a layer with a window keeps: what a block's first token sees and the block itself, and some
/// that can be taken back.
uint64_t ring_positions(uint64_t window) {
  const uint64_t wanted = window + kBlockTokens + SequenceState::kSpareWindowPositions;
  return (wanted + kernels::kRingStep - 1) / kernels::kRingStep * kernels::kRingStep;
}

}  // namespace

Result<SequenceState> SequenceState::create(const Plan& plan, kernels::KvType type, uint64_t capacity) {
  const std::vector<Needs> needs = needs_of_visits(plan);
  const uint64_t ring = plan.window == 0 ? 0 : ring_positions(plan.window);
  const auto positions_of = [&](const Needs& need) {
    return need.local && ring < capacity ? ring : capacity;
  };
  /// Bytes of keys or values, whole pages.
  const auto bytes_of = [&](const Needs& need, size_t dim) -> std::optional<uint64_t> {
    const auto bytes =
        checked_mul(need.kv_heads * kernels::kv_bytes_per_position(type, dim), positions_of(need));
    return bytes ? checked_align(*bytes, kPage) : std::nullopt;
  };

  std::optional<uint64_t> total = kPage;  // a model without attention has an address, too
  uint64_t recurrent = 0;
  for (const Needs& need : needs) {
    for (const uint64_t floats : {need.history, need.matrix}) {
      if (floats > kMostRecurrentFloats - recurrent)
        return fail(Fault::kRefused, "the recurrent state of this model would take more than 8 GiB");
      recurrent += floats;
    }
    for (const size_t dim : {need.key_dim, need.value_dim}) {
      const auto part = bytes_of(need, dim);
      total = part && total ? checked_add(*total, *part) : std::nullopt;
    }
  }
  void* memory = MAP_FAILED;
  if (total)
    memory =
        ::mmap(nullptr, *total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail(Fault::kUsage, "a context of " + std::to_string(capacity) +
                                   " positions does not fit into memory: ask for a shorter one");
  // A huge page would be filled by the first position of each head.
  ::madvise(memory, *total, MADV_NOHUGEPAGE);

  SequenceState state(static_cast<std::byte*>(memory), *total);
  state.recurrent_.resize(recurrent);
  std::byte* at = state.memory_;
  float* floats = state.recurrent_.data();
  for (const Needs& need : needs) {
    VisitState visit;
    visit.kv.type = type;
    visit.kv.kv_heads = need.kv_heads;
    visit.kv.head_dim = need.key_dim;
    visit.kv.value_dim = need.value_dim;
    visit.kv.capacity = positions_of(need);
    visit.kv.keys = at;
    visit.kv.values = at + *bytes_of(need, need.key_dim);
    at = visit.kv.values + *bytes_of(need, need.value_dim);
    visit.history = need.history == 0 ? nullptr : floats;
    visit.matrix = need.matrix == 0 ? nullptr : floats + need.history;
    floats += need.history + need.matrix;
    state.visits_.push_back(visit);
    if (need.local && ring < capacity) {
      state.window_ = plan.window;
      state.ring_ = ring;
    }
  }
  return state;
}

SequenceState::SequenceState(SequenceState&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      reserved_bytes_(other.reserved_bytes_),
      window_(other.window_),
      ring_(other.ring_),
      visits_(std::move(other.visits_)),
      recurrent_(std::move(other.recurrent_)) {}

SequenceState::~SequenceState() {
  if (memory_) ::munmap(memory_, reserved_bytes_);
}

uint64_t SequenceState::first_cut(uint64_t length) const {
  if (ring_ == 0 || length <= ring_) return 0;
  // Kept are the positions from length - ring on; the next token at p sees those from p - window + 1 on.
  return length - ring_ + window_ - 1;
}

uint64_t SequenceState::used_bytes(uint64_t length) const {
  uint64_t bytes = recurrent_.size() * sizeof(float);
  for (const VisitState& visit : visits_) {
    const uint64_t position = kernels::kv_bytes_per_position(visit.kv.type, visit.kv.head_dim) +
                              kernels::kv_bytes_per_position(visit.kv.type, visit.kv.value_dim);
    bytes += std::min<uint64_t>(length, visit.kv.capacity) * visit.kv.kv_heads * position;
  }
  return bytes;
}

std::vector<std::span<std::byte>> SequenceState::kv_parts(size_t index, bool values, uint64_t length) const {
  const kernels::KvView& kv = visits_[index].kv;
  const size_t position = kernels::kv_bytes_per_position(kv.type, values ? kv.value_dim : kv.head_dim);
  const size_t filled = std::min<uint64_t>(length, kv.capacity) * position;
  std::byte* const first = values ? kv.values : kv.keys;
  std::vector<std::span<std::byte>> parts;
  for (size_t head = 0; head < kv.kv_heads; ++head)
    parts.emplace_back(first + head * kv.capacity * position, filled);
  return parts;
}

}  // namespace amphora::model
