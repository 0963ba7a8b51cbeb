// Attention over cached keys and values, plain and latent: see operators.h.
#include <algorithm>
#include <array>

#include "model/operators.h"

namespace amphora::model {
namespace {

bool is_live(const VisitMask* mask, size_t head) {
  return mask == nullptr || mask->heads.empty() || mask->heads[head] != 0;
}

/// Rows of the live heads, `rows_each` a head; a head of `shared` query heads lives if one of them does.
/// Empty: all live.
std::vector<kernels::RowRange> live_rows(const VisitMask* mask, size_t heads, size_t shared,
                                         size_t rows_each) {
  std::vector<kernels::RowRange> ranges;
  if (mask == nullptr || mask->heads.empty()) return ranges;
  for (size_t head = 0; head < heads; ++head) {
    bool live = false;
    for (size_t i = 0; i < shared; ++i) live |= is_live(mask, head * shared + i);
    if (!live) continue;
    const uint64_t first = head * rows_each;
    if (!ranges.empty() && ranges.back().last == first)
      ranges.back().last = first + rows_each;
    else
      ranges.push_back({first, first + rows_each});
  }
  return ranges;
}

bool all_heads_dead(const VisitMask* mask) {
  return mask != nullptr && !mask->heads.empty() &&
         std::ranges::count(mask->heads, 0) == static_cast<ptrdiff_t>(mask->heads.size());
}

void rotate(const Workspace& work, const Rotation& rotation, float* heads, size_t tokens, size_t count,
            size_t head_dim) {
  kernels::rope(work.executor(), heads, tokens, count, head_dim, rotation.half, rotation.cosines.data(),
                rotation.sines.data());
}

/// Per head [query; gate] to queries in place and gates apart.
void split_gates(float* queries, float* gates, size_t heads, size_t head_dim) {
  for (size_t head = 0; head < heads; ++head) {
    const float* const from = queries + 2 * head * head_dim;
    std::copy_n(from + head_dim, head_dim, gates + head * head_dim);
    std::copy_n(from, head_dim, queries + head * head_dim);
  }
}

/// A norm of each head, or of each token's whole projection, as the weights are wide.
void normalise_heads(Workspace& work, const std::vector<float>& weights, float* projection, size_t tokens,
                     size_t columns) {
  if (!weights.empty()) work.normalise(projection, weights, tokens * columns / weights.size(), projection);
}

void gate_output(Workspace& work, const Linear& gate, const float* input, size_t tokens, size_t heads,
                 float* output, size_t columns) {
  float* const factors = work.room(Room::kFactors, tokens * gate.rows());
  work.multiply(gate, input, tokens, factors);
  kernels::softplus(work.executor(), factors, tokens * gate.rows());
  if (gate.rows() == heads)
    kernels::scale_rows(work.executor(), output, factors, tokens * heads, columns / heads);
  else
    kernels::multiply(work.executor(), output, factors, tokens * columns);
}

}  // namespace

void Rotation::fill(const RopeFrequencies& frequencies, size_t first_position, size_t tokens) {
  half = frequencies.inverse.size();
  if (cosines.size() < tokens * half) {
    cosines.resize(tokens * half);
    sines.resize(tokens * half);
  }
  fill_rope(frequencies, first_position, tokens, cosines.data(), sines.data());
}

void run_attention(Workspace& work, const AttentionPlan& plan, const BlockContext& block,
                   const VisitState& state, const VisitMask* mask, const float* input, float* out) {
  const Plan& model = work.plan();
  const size_t tokens = block.tokens, dim = model.head_dim, heads = plan.heads, kv_heads = model.kv_heads;
  const size_t query_columns = heads * dim, kv_columns = kv_heads * dim;
  if (all_heads_dead(mask)) {
    std::fill_n(out, tokens * model.hidden, 0.0f);
    return;
  }
  const size_t query_rows = plan.q.rows();
  float* const queries = work.room(Room::kQueries, tokens * query_rows);
  float* const keys = work.room(Room::kKeys, tokens * kv_columns);
  float* const values = work.room(Room::kValues, tokens * kv_columns);
  const auto live_queries = live_rows(mask, heads, 1, query_rows / heads);
  const auto live_keys = live_rows(mask, kv_heads, heads / kv_heads, dim);
  const std::array targets{Target{&plan.q, queries, 0, live_queries}, Target{&plan.k, keys, 0, live_keys},
                           Target{&plan.v, values, 0, live_keys}};
  work.multiply(targets, input, tokens);

  float* gates = nullptr;
  if (plan.gated_queries) {
    gates = work.room(Room::kGate, tokens * query_columns);
    // Queries move down to where they lie without gates, so tokens go in ascending order.
    for (size_t token = 0; token < tokens; ++token) {
      float* const from = queries + token * query_rows;
      split_gates(from, gates + token * query_columns, heads, dim);
      std::copy_n(from, query_columns, queries + token * query_columns);
    }
  }
  normalise_heads(work, plan.q_norm, queries, tokens, query_columns);
  normalise_heads(work, plan.k_norm, keys, tokens, kv_columns);
  normalise_heads(work, model.v_norm, values, tokens, kv_columns);
  const Rotation& rotation = plan.local ? *block.local : *block.global;
  rotate(work, rotation, queries, tokens, heads, dim);
  rotate(work, rotation, keys, tokens, kv_heads, dim);
  kernels::kv_store(work.executor(), state.kv, block.first_position, tokens, keys, values);

  kernels::AttentionArguments arguments;
  arguments.queries = queries;
  arguments.tokens = tokens;
  arguments.heads = heads;
  arguments.kv = state.kv;
  arguments.first_position = block.first_position;
  arguments.window = plan.local ? model.window : 0;
  arguments.scale = model.attention_scale;
  arguments.softcap = model.attention_softcap;
  arguments.live_heads = mask == nullptr || mask->heads.empty() ? nullptr : mask->heads.data();
  arguments.out = work.room(Room::kMixed, tokens * query_columns);
  kernels::attention(work.executor(), arguments);

  if (gates != nullptr)
    kernels::sigmoid_multiply(work.executor(), arguments.out, gates, tokens * query_columns);
  if (plan.gate) gate_output(work, *plan.gate, input, tokens, heads, arguments.out, query_columns);
  work.multiply(plan.o, arguments.out, tokens, out);
}

void run_latent_attention(Workspace& work, const LatentAttentionPlan& plan, const BlockContext& block,
                          const VisitState& state, const VisitMask* mask, const float* input, float* out) {
  const size_t tokens = block.tokens, heads = plan.heads, key_dim = plan.key_dim(),
               latent_dim = plan.latent_dim();
  if (all_heads_dead(mask)) {
    std::fill_n(out, tokens * work.plan().hidden, 0.0f);
    return;
  }
  float* const queries = work.room(Room::kQueries, tokens * heads * key_dim);
  const float* query_input = input;
  if (plan.q_a) {
    float* const compressed = work.room(Room::kProjected, tokens * plan.q_a->rows());
    work.multiply(*plan.q_a, input, tokens, compressed);
    work.normalise(compressed, plan.q_a_norm, tokens, compressed);
    query_input = compressed;
  }
  const auto live_queries = live_rows(mask, heads, 1, key_dim);
  const Target query_target{&plan.q, queries, 0, live_queries};
  work.multiply({&query_target, 1}, query_input, tokens);

  const size_t latent_columns = latent_dim + plan.rope_dim;
  float* const compressed = work.room(Room::kLatent, tokens * latent_columns);
  work.multiply(plan.kv_a, input, tokens, compressed);
  float* const latent = work.room(Room::kGate, tokens * latent_dim);
  float* const turned = work.room(Room::kFactors, tokens * plan.rope_dim);  // one rotated part for all heads
  for (size_t token = 0; token < tokens; ++token) {
    const float* const from = compressed + token * latent_columns;
    std::copy_n(from, latent_dim, latent + token * latent_dim);
    std::copy_n(from + latent_dim, plan.rope_dim, turned + token * plan.rope_dim);
  }
  work.normalise(latent, plan.kv_a_norm, tokens, latent);
  if (plan.rotated) {
    rotate(work, *block.global, queries, tokens, heads, key_dim);
    rotate(work, *block.global, turned, tokens, 1, plan.rope_dim);
  }

  const size_t expanded_dim = plan.nope_dim + plan.value_dim;
  float* const expanded = work.room(Room::kUp, tokens * heads * expanded_dim);
  const auto live_expanded = live_rows(mask, heads, 1, expanded_dim);
  const Target expanded_target{&plan.kv_b, expanded, 0, live_expanded};
  work.multiply({&expanded_target, 1}, latent, tokens);
  float* const keys = work.room(Room::kKeys, tokens * heads * key_dim);
  float* const values = work.room(Room::kValues, tokens * heads * plan.value_dim);
  for (size_t token = 0; token < tokens; ++token)
    for (size_t head = 0; head < heads; ++head) {
      const size_t row = token * heads + head;
      const float* const from = expanded + row * expanded_dim;
      float* const key = keys + row * key_dim;
      std::copy_n(turned + token * plan.rope_dim, plan.rope_dim, key);
      std::copy_n(from, plan.nope_dim, key + plan.rope_dim);
      std::copy_n(from + plan.nope_dim, plan.value_dim, values + row * plan.value_dim);
    }
  kernels::kv_store(work.executor(), state.kv, block.first_position, tokens, keys, values);

  kernels::AttentionArguments arguments;
  arguments.queries = queries;
  arguments.tokens = tokens;
  arguments.heads = heads;
  arguments.kv = state.kv;
  arguments.first_position = block.first_position;
  arguments.scale = plan.scale;
  arguments.live_heads = mask == nullptr || mask->heads.empty() ? nullptr : mask->heads.data();
  arguments.out = work.room(Room::kMixed, tokens * heads * plan.value_dim);
  kernels::attention(work.executor(), arguments);
  work.multiply(plan.o, arguments.out, tokens, out);
}

}  // namespace amphora::model
