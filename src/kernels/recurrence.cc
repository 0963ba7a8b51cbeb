// Recurrent layers: how channels, heads and columns of states are shared out over the threads.
#include "kernels/recurrence.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/activations.h"
#include "kernels/share_out.h"
#include "kernels/variant.h"

namespace amphora::kernels {
namespace {

/// Channels of a convolution that are taken through all tokens together: their weights and the rows that a
/// token reads stay in the first cache.
constexpr size_t kChannelsTogether = 256;

/// The inputs before and at the tokens as one sequence of rows, the history first.
class ConvolutionRows {
 public:
  ConvolutionRows(const float* x, const float* history, size_t channels, size_t taps)
      : x_(x), history_(history), channels_(channels), before_(taps - 1) {}
  const float* row(size_t index) const {
    return index < before_ ? history_ + index * channels_ : x_ + (index - before_) * channels_;
  }

 private:
  const float* x_;
  const float* history_;
  size_t channels_, before_;
};

/// Blocks of channels, each taken through all tokens; one object per thread's chunk, for its room.
class Convolution {
 public:
  Convolution(const LaneKernels& lanes, const ConvolutionRows& rows, size_t channels, size_t taps)
      : lanes_(lanes), rows_(rows), channels_(channels), seen_(taps), by_tap_(taps * kChannelsTogether) {}

  void run_channels(size_t first, size_t last, const float* weights, size_t tokens, float* out) {
    const size_t count = last - first, taps = seen_.size();
    for (size_t c = 0; c < count; ++c)
      for (size_t k = 0; k < taps; ++k) by_tap_[k * count + c] = weights[(first + c) * taps + k];
    for (size_t token = 0; token < tokens; ++token) {
      for (size_t k = 0; k < taps; ++k) seen_[k] = rows_.row(token + k) + first;
      lanes_.short_convolution(seen_.data(), by_tap_.data(), taps, count, out + token * channels_ + first);
    }
  }
  /// A row of the new history lies `tokens` rows further on, so it is read before it is written over.
  void move_history(size_t first, size_t last, size_t tokens, float* history) const {
    for (size_t i = 0; i + 1 < seen_.size(); ++i)
      std::copy_n(rows_.row(tokens + i) + first, last - first, history + i * channels_ + first);
  }

 private:
  const LaneKernels& lanes_;
  const ConvolutionRows& rows_;
  size_t channels_;
  std::vector<const float*> seen_;  // the rows that a token reads
  std::vector<float> by_tap_;       // weights [taps, channels of the block]
};

/// Parts that the columns of a state are cut into, so that few heads keep all threads busy.
size_t column_parts(const DeltaRuleArguments& a, size_t threads) {
  const size_t most = std::max<size_t>(1, a.value_dim / (2 * kDeltaColumns));
  return std::clamp<size_t>(4 * threads / a.value_heads, 1, most);
}

/// Columns [first, last) of one head.
DeltaColumns columns_of(const DeltaRuleArguments& a, size_t head, size_t first, size_t last, float* room) {
  const size_t key_head = head / (a.value_heads / a.key_heads), at = head * a.value_dim + first;
  return {.queries = a.queries + key_head * a.key_dim,
          .keys = a.keys + key_head * a.key_dim,
          .values = a.values + at,
          .decay = a.decay + head * a.decay_channels,
          .beta = a.beta + head,
          .key_step = a.key_heads * a.key_dim,
          .value_step = a.value_heads * a.value_dim,
          .decay_step = a.value_heads * a.decay_channels,
          .beta_step = a.value_heads,
          .decay_row_step = a.decay_channels == 1 ? size_t{0} : size_t{1},
          .tokens = a.tokens,
          .key_dim = a.key_dim,
          .columns = last - first,
          .state = a.state + head * a.key_dim * a.value_dim + first,
          .state_row_step = a.value_dim,
          .out = a.out + at,
          .room = room};
}

}  // namespace

void short_convolution(const Executor& executor, const float* x, const float* weights, size_t tokens,
                       size_t channels, size_t taps, float* history, float* out) {
  assert(taps > 0);
  const ConvolutionRows rows(x, history, channels, taps);
  const size_t blocks = (channels + kChannelsTogether - 1) / kChannelsTogether;
  share_out(executor, blocks, kChannelsTogether * taps * tokens, [&](size_t first, size_t last) {
    Convolution convolution(*executor.variant->lanes, rows, channels, taps);
    for (size_t block = first; block < last; ++block) {
      const size_t channel = block * kChannelsTogether, end = std::min(channels, channel + kChannelsTogether);
      convolution.run_channels(channel, end, weights, tokens, out);
      convolution.move_history(channel, end, tokens, history);
    }
  });
}

void delta_decay(const Executor& executor, float* x, const float* rates, const float* bias, size_t tokens,
                 size_t heads, size_t channels, const float* lower_bound) {
  const LaneKernels& lanes = *executor.variant->lanes;
  share_out(executor, tokens, heads * channels, [&](size_t first, size_t last) {
    for (size_t token = first; token < last; ++token) {
      float* const at = x + token * heads * channels;
      if (channels == 1) {
        lanes.delta_decay(at, rates, false, bias, heads, lower_bound);
        continue;
      }
      for (size_t head = 0; head < heads; ++head)
        lanes.delta_decay(at + head * channels, rates + head, true, bias + head * channels, channels,
                          lower_bound);
    }
  });
}

void delta_rule(const Executor& executor, const DeltaRuleArguments& arguments) {
  const DeltaRuleArguments& a = arguments;
  assert(a.decay_channels == 1 || a.decay_channels == a.key_dim);
  assert(a.key_heads != 0 && a.value_heads % a.key_heads == 0);
  if (a.tokens == 0 || a.key_dim == 0 || a.value_dim == 0) return;
  const size_t parts = column_parts(a, executor.pool->threads());
  const auto start_of = [&](size_t part) {
    return part == parts ? a.value_dim : a.value_dim / kDeltaColumns * part / parts * kDeltaColumns;
  };
  const size_t work = a.tokens * a.key_dim * a.value_dim / parts;
  share_out(executor, a.value_heads * parts, work, [&](size_t first, size_t last) {
    AlignedBuffer<float> room;
    room.resize(a.key_dim * kDeltaColumns);
    for (size_t i = first; i < last; ++i) {
      const size_t head = i / parts, part = i % parts;
      executor.variant->lanes->delta_rule(
          columns_of(a, head, start_of(part), start_of(part + 1), room.data()));
    }
  });
}

}  // namespace amphora::kernels
