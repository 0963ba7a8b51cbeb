// The function table of a variant: what the operations in kernels.h are made of.
//
// Everything here works on the calling thread; the operations split the work and share it out. A new variant
// is one file with a `const Variant` and one line in dispatch.cc.
#pragma once

#include "kernels/activations.h"
#include "kernels/kernels.h"
#include "kernels/packed_rows.h"
#include "kernels/rows.h"

namespace amphora::kernels {

/// Twice what the kernels of packed weights take: a tile of sixteen tokens would be half empty.
inline constexpr size_t kMostUntiledTokens = 2 * kMostPackedTokens;

/// Products of int8 activations with q8_row, q8_2f, q4_tiled, (if its rows are whole groups) q4_block, and
/// matrices with coded rows.
struct Int8Kernels {
  /// From this many tokens on the tiles pay; the activations are then quantised to tiles.
  size_t least_tiled_tokens;
  /// Rows times one token of untiled activations: out[row].
  void (*multiply_row)(const Matrix& weights, const Rows& rows, const Quantised& x, size_t token, float* out);
  /// Rows times all tokens of tiled activations: out[token · out_stride + row].
  void (*multiply_tiles)(const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                         size_t out_stride);
  /// For few tokens and weights that have been rearranged; null: there are no such kernels.
  const PackedKernels* packed;
};

/// Columns of a state that the delta rule takes through all tokens together: with 128 rows they stay in the
/// first cache.
inline constexpr size_t kDeltaColumns = 32;

/// Neighbouring columns of one head's state and the tokens that move them on (DeltaRuleArguments). Steps lead
/// from token to token, row steps from one row of the state to the next.
struct DeltaColumns {
  const float *queries, *keys, *values, *decay, *beta;
  size_t key_step, value_step, decay_step, beta_step;  ///< value_step: of `out` too
  size_t decay_row_step;                               ///< 1, or 0: all rows decay alike
  size_t tokens, key_dim, columns;
  float* state;
  size_t state_row_step;
  float* out;
  float* room;  ///< [key_dim, kDeltaColumns]
};

/// What is written once over sixteen float lanes (lanes_*.h) and compiled for every variant.
struct LaneKernels {
  /// f16 payload to f32.
  void (*decode_halves)(const std::byte* from, size_t count, float* out);
  /// Quantises one row, times `field` if there is one, into `groups` groups (Quantised); what lies beyond
  /// `columns` is 0.
  void (*quantise)(const float* x, const float* field, size_t columns, size_t groups, int8_t* codes,
                   float* scales, int32_t* sums);
  /// Rows of an f32, f16 or bf16 matrix: out[token · out_stride + row].
  void (*multiply_dense)(const Matrix& weights, const Rows& rows, const float* x, size_t tokens, float* out,
                         size_t out_stride);
  /// sums[token][16] += panel[column][16] · x[token][column], column by column.
  void (*multiply_exact)(const float* panel, size_t columns, const float* x, size_t x_stride, size_t tokens,
                         float* sums);

  /// Keys or values of `count` positions as f32 [count, width].
  void (*load_kv)(KvType type, const std::byte* from, size_t count, size_t width, float* out);
  void (*store_kv)(KvType type, const float* from, size_t width, std::byte* out);
  /// scores[head · kAttentionBlock + position] of `heads` queries against `count` keys, scaled and capped.
  void (*attention_scores)(const float* queries, size_t heads, const float* keys, size_t count,
                           size_t head_dim, float scale, float softcap, float* scores);
  /// Turns scores [first, last) of a block into exp(score - maximum), the others into 0.
  void (*attention_weights)(float* scores, size_t first, size_t last, float* maximum, float* sum);
  /// out[head] += Σ weight[head · kAttentionBlock + position] · value[position], position by position.
  void (*attention_values)(const float* weights, size_t heads, const float* values, size_t count,
                           size_t value_dim, float* out);
  /// out = out · old_factor + block · new_factor.
  void (*attention_merge)(float* out, float old_factor, const float* block, float new_factor, size_t count);
  float (*exponential)(float x);

  void (*rms_norm)(const float* x, const float* weights, size_t columns, float eps, bool one_plus,
                   float* out);
  void (*l2_norm)(float* x, size_t columns, float eps, float factor);
  void (*softmax)(float* x, size_t columns);
  void (*rope)(float* x, size_t half, const float* cosines, const float* sines);
  void (*scale)(float* x, float factor, size_t count);
  void (*softcap)(float* x, float cap, size_t count);
  void (*silu)(float* x, size_t count);
  void (*sigmoid)(float* x, size_t count);
  void (*softplus)(float* x, size_t count);
  void (*silu_multiply)(float* gate, const float* up, size_t count);
  void (*gelu_tanh_multiply)(float* gate, const float* up, size_t count);
  void (*sigmoid_multiply)(float* x, const float* gate, size_t count);
  void (*multiply)(float* x, const float* y, size_t count);
  void (*add)(float* x, const float* y, size_t count);
  void (*add_scaled)(float* x, const float* y, float factor, size_t count);
  size_t (*argmax)(const float* values, size_t count);

  /// out[i] = Σ_k weights[k · count + i] · rows[k][i].
  void (*short_convolution)(const float* const* rows, const float* weights, size_t taps, size_t count,
                            float* out);
  /// `count` values of delta_decay; rates are [count], or one for all.
  void (*delta_decay)(float* x, const float* rates, bool one_rate, const float* bias, size_t count,
                      const float* lower_bound);
  void (*delta_rule)(const DeltaColumns& columns);
};

/// Positions per block of attention; blocks start at multiples of it.
inline constexpr size_t kAttentionBlock = 64;

struct Variant {
  std::string_view name;
  bool (*runs_here)();
  const Int8Kernels* int8;
  const LaneKernels* lanes;
};

extern const Variant kScalar;
#if defined(__x86_64__)
extern const Variant kAvx2, kAvx512;
#endif
#if defined(__aarch64__)
extern const Variant kNeon;
#endif

}  // namespace amphora::kernels
