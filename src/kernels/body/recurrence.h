// Short convolution, decay and delta rule of recurrent layers. Included after a lanes_*.h.
#pragma once

#include <cstddef>

#include "kernels/body/elementwise.h"
#include "kernels/unroll.h"

namespace amphora::kernels::AMPHORA_VARIANT {

AMPHORA_TARGET inline void short_convolution(const float* const* rows, const float* weights, size_t taps,
                                             size_t count, float* out) {
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    Lanes total = broadcast(0.0f);
    for (size_t k = 0; k < taps; ++k) total = fma(load(weights + k * count + at), load(rows[k] + at), total);
    store(out + at, total);
  }
  if (const size_t rest = count - at; rest != 0) {
    Lanes total = broadcast(0.0f);
    for (size_t k = 0; k < taps; ++k)
      total = fma(load_first(weights + k * count + at, rest), load_first(rows[k] + at, rest), total);
    store_first(out + at, total, rest);
  }
}

AMPHORA_INLINE Lanes decay_of(Lanes x, Lanes rate) {
  return exp_of(sub(broadcast(0.0f), mul(rate, softplus_of(x))));
}
AMPHORA_INLINE Lanes bounded_decay_of(Lanes x, Lanes rate, Lanes lower_bound) {
  return exp_of(mul(lower_bound, sigmoid_of(mul(rate, x))));
}

AMPHORA_TARGET inline void delta_decay(float* x, const float* rates, bool one_rate, const float* bias,
                                       size_t count, const float* lower_bound) {
  for (size_t at = 0; at < count; at += kLanes) {
    const size_t here = count - at < kLanes ? count - at : kLanes;
    const Lanes biased = add(load_first(x + at, here), load_first(bias + at, here));
    const Lanes rate = one_rate ? broadcast(*rates) : load_first(rates + at, here);
    const Lanes decay =
        lower_bound ? bounded_decay_of(biased, rate, broadcast(*lower_bound)) : decay_of(biased, rate);
    store_first(x + at, decay, here);
  }
}

/// Up to kVectors · kLanes columns of rows that are `step` floats apart.
struct ColumnBlock {
  float* rows;
  size_t step, columns;
};

template <size_t kVectors>
AMPHORA_INLINE void load_columns(const float* from, size_t columns, Lanes* to) {
  if (columns < kLanes) {  // only ever with one vector
    to[0] = load_first(from, columns);
    return;
  }
  AMPHORA_UNROLL
  for (size_t v = 0; v < kVectors; ++v) to[v] = load(from + v * kLanes);
}
template <size_t kVectors>
AMPHORA_INLINE void store_columns(float* to, size_t columns, const Lanes* from) {
  if (columns < kLanes) return store_first(to, from[0], columns);
  AMPHORA_UNROLL
  for (size_t v = 0; v < kVectors; ++v) store(to + v * kLanes, from[v]);
}

/// One pass over a block of the state, row by row: the update by `token` and its output (kUpdate), then the
/// decay by the next token and what its key reads (kNext).
template <size_t kVectors, bool kUpdate, bool kNext>
AMPHORA_INLINE void delta_pass(const DeltaColumns& a, size_t token, const ColumnBlock& from,
                               const ColumnBlock& to, const Lanes* change, Lanes* out, Lanes* read) {
  const size_t next = kUpdate ? token + 1 : token;
  const float* const query = a.queries + token * a.key_step;
  const float* const key = a.keys + token * a.key_step;
  const float* const next_key = a.keys + next * a.key_step;
  const float* const decay = a.decay + next * a.decay_step;
  const size_t key_dim = a.key_dim, decay_row_step = a.decay_row_step;
  AMPHORA_UNROLL
  for (size_t v = 0; v < kVectors; ++v) out[v] = read[v] = broadcast(0.0f);
  for (size_t i = 0; i < key_dim; ++i) {
    Lanes state[kVectors];
    load_columns<kVectors>(from.rows + i * from.step, from.columns, state);
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      if constexpr (kUpdate) {
        state[v] = fma(broadcast(key[i]), change[v], state[v]);
        out[v] = fma(broadcast(query[i]), state[v], out[v]);
      }
      if constexpr (kNext) {
        state[v] = mul(state[v], broadcast(decay[i * decay_row_step]));
        read[v] = fma(broadcast(next_key[i]), state[v], read[v]);
      }
    }
    store_columns<kVectors>(to.rows + i * to.step, to.columns, state);
  }
}

/// Columns [first, first + columns) through all tokens: out of the state with the first token's decay, into
/// it with the last one's update, and in `room` between, so that every token takes one pass.
template <size_t kVectors>
AMPHORA_TARGET void delta_block(const DeltaColumns& a, size_t first, size_t columns) {
  const ColumnBlock state = {a.state + first, a.state_row_step, columns};
  const ColumnBlock room = {a.room, kVectors * kLanes, kVectors * kLanes};
  Lanes value[kVectors], out[kVectors], read[kVectors];
  delta_pass<kVectors, false, true>(a, 0, state, room, nullptr, out, read);
  for (size_t token = 0; token < a.tokens; ++token) {
    const Lanes beta = broadcast(a.beta[token * a.beta_step]);
    load_columns<kVectors>(a.values + token * a.value_step + first, columns, value);
    Lanes change[kVectors];
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) change[v] = mul(beta, sub(value[v], read[v]));
    if (token + 1 < a.tokens)
      delta_pass<kVectors, true, true>(a, token, room, room, change, out, read);
    else
      delta_pass<kVectors, true, false>(a, token, room, state, change, out, read);
    store_columns<kVectors>(a.out + token * a.value_step + first, columns, out);
  }
}

AMPHORA_TARGET inline void delta_rule(const DeltaColumns& a) {
  size_t at = 0;
  for (; at + kDeltaColumns <= a.columns; at += kDeltaColumns)
    delta_block<kDeltaColumns / kLanes>(a, at, kDeltaColumns);
  for (; at < a.columns; at += kLanes)
    delta_block<1>(a, at, a.columns - at < kLanes ? a.columns - at : kLanes);
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
