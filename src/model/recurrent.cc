// Mixers with a recurrent state: the gated delta rule and the short convolution. See operators.h.
#include <algorithm>
#include <cmath>

#include "kernels/recurrence.h"
#include "model/operators.h"

namespace amphora::model {
namespace {

/// Added to the square sum of queries and keys before the root, as the reference does.
constexpr float kL2Epsilon = 1e-6f;

/// Columns [first, first + count) of rows of `columns`, closed up.
void gather_columns(const float* from, size_t columns, size_t first, size_t count, size_t rows, float* to) {
  for (size_t row = 0; row < rows; ++row) std::copy_n(from + row * columns + first, count, to + row * count);
}

}  // namespace

void run_delta(Workspace& work, const DeltaPlan& plan, const BlockContext& block, const VisitState& state,
               const float* input, float* out) {
  const kernels::Executor& executor = work.executor();
  const size_t tokens = block.tokens, channels = plan.channels();
  const size_t key_columns = plan.key_heads * plan.key_dim, value_columns = plan.value_heads * plan.value_dim;

  float* const projected = work.room(Room::kLatent, tokens * channels);
  std::vector<Target> targets;
  size_t column = 0;
  for (const Linear& linear : plan.qkv) {
    targets.push_back({&linear, projected + column, channels});
    column += linear.rows();
  }
  work.multiply(targets, input, tokens);
  float* const convolved = work.room(Room::kUp, tokens * channels);
  kernels::short_convolution(executor, projected, plan.convolution.data(), tokens, channels, plan.taps,
                             state.history, convolved);
  kernels::silu(executor, convolved, tokens * channels);

  kernels::DeltaRuleArguments arguments;
  float* const queries = work.room(Room::kQueries, tokens * key_columns);
  float* const keys = work.room(Room::kKeys, tokens * key_columns);
  float* const values = work.room(Room::kValues, tokens * value_columns);
  gather_columns(convolved, channels, 0, key_columns, tokens, queries);
  gather_columns(convolved, channels, key_columns, key_columns, tokens, keys);
  gather_columns(convolved, channels, 2 * key_columns, value_columns, tokens, values);
  kernels::l2_norm(executor, queries, tokens * plan.key_heads, plan.key_dim, kL2Epsilon,
                   1 / std::sqrt(static_cast<float>(plan.key_dim)));
  kernels::l2_norm(executor, keys, tokens * plan.key_heads, plan.key_dim, kL2Epsilon, 1);

  float* const decay = work.room(Room::kFactors, tokens * plan.decay.rows());
  work.project(plan.decay, input, tokens, decay);
  kernels::delta_decay(executor, decay, plan.rates.data(), plan.decay_bias.data(), tokens, plan.value_heads,
                       plan.decay_channels, plan.decay_lower_bound ? &*plan.decay_lower_bound : nullptr);
  float* const beta = work.room(Room::kRouter, tokens * plan.value_heads);
  work.multiply(plan.beta, input, tokens, beta);
  kernels::sigmoid(executor, beta, tokens * plan.value_heads);

  arguments.queries = queries;
  arguments.keys = keys;
  arguments.values = values;
  arguments.decay = decay;
  arguments.beta = beta;
  arguments.tokens = tokens;
  arguments.key_heads = plan.key_heads;
  arguments.value_heads = plan.value_heads;
  arguments.key_dim = plan.key_dim;
  arguments.value_dim = plan.value_dim;
  arguments.decay_channels = plan.decay_channels;
  arguments.state = state.matrix;
  arguments.out = work.room(Room::kMixed, tokens * value_columns);
  kernels::delta_rule(executor, arguments);

  kernels::rms_norm(executor, arguments.out, plan.norm.data(), tokens * plan.value_heads, plan.value_dim,
                    work.plan().norm_eps, /*one_plus=*/false, arguments.out);
  float* const gate = work.room(Room::kGate, tokens * value_columns);
  work.project(plan.gate, input, tokens, gate);
  if (plan.sigmoid_gate) {
    kernels::sigmoid_multiply(executor, arguments.out, gate, tokens * value_columns);
    work.multiply(plan.out, arguments.out, tokens, out);
  } else {
    kernels::silu_multiply(executor, gate, arguments.out, tokens * value_columns);
    work.multiply(plan.out, gate, tokens, out);
  }
}

void run_short_convolution(Workspace& work, const ShortConvolutionPlan& plan, const BlockContext& block,
                           const VisitState& state, const float* input, float* out) {
  const kernels::Executor& executor = work.executor();
  const size_t tokens = block.tokens, hidden = work.plan().hidden;
  float* const projected = work.room(Room::kLatent, tokens * 3 * hidden);
  work.multiply(plan.in, input, tokens, projected);
  float* const before = work.room(Room::kQueries, tokens * hidden);
  float* const after = work.room(Room::kKeys, tokens * hidden);
  float* const values = work.room(Room::kValues, tokens * hidden);
  gather_columns(projected, 3 * hidden, 0, hidden, tokens, before);
  gather_columns(projected, 3 * hidden, hidden, hidden, tokens, after);
  gather_columns(projected, 3 * hidden, 2 * hidden, hidden, tokens, values);
  kernels::multiply(executor, values, before, tokens * hidden);
  float* const convolved = work.room(Room::kMixed, tokens * hidden);
  kernels::short_convolution(executor, values, plan.convolution.data(), tokens, hidden, plan.taps,
                             state.history, convolved);
  kernels::multiply(executor, convolved, after, tokens * hidden);
  work.multiply(plan.out, convolved, tokens, out);
}

}  // namespace amphora::model
