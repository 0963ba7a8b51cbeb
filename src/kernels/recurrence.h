// Operations of layers with a recurrent state: the short causal convolution and the gated delta rule.
//
// Tokens run strictly one after the other, so a sequence that is fed at once or token by token gives the same
// bits; heads and channels are shared out over the threads.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace amphora::kernels {

/// Depthwise causal convolution over the sequence, without a bias: out[t, c] = Σ_k weights[c, k] ·
/// x[t - (taps - 1) + k, c], the last tap being the token itself. `history` [taps - 1, channels], oldest
/// first, holds the inputs before token 0 and is moved on to those before the token after the last. `out` is
/// not `x`.
void short_convolution(const Executor& executor, const float* x, const float* weights, size_t tokens,
                       size_t channels, size_t taps, float* history, float* out);

/// decay[t, h, c] = exp(-rates[h] · softplus(x[t, h, c] + bias[h, c])) in place, for `channels` values a head
/// (Gated DeltaNet, arXiv 2412.06464: 1; Kimi delta attention, arXiv 2510.26692: key_dim). With a lower bound
/// (below 0): exp(lower_bound · sigmoid(rates[h] · (x + bias))) instead.
void delta_decay(const Executor& executor, float* x, const float* rates, const float* bias, size_t tokens,
                 size_t heads, size_t channels, const float* lower_bound);

struct DeltaRuleArguments {
  const float* queries = nullptr;  ///< [tokens, key_heads, key_dim], normalised and scaled
  const float* keys = nullptr;     ///< [tokens, key_heads, key_dim], normalised
  const float* values = nullptr;   ///< [tokens, value_heads, value_dim]
  const float* decay = nullptr;    ///< [tokens, value_heads, decay_channels], in (0, 1]
  const float* beta = nullptr;     ///< [tokens, value_heads]
  size_t tokens = 0, key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  size_t decay_channels = 1;  ///< 1, or key_dim: each key dimension decays by itself
  float* state = nullptr;     ///< [value_heads, key_dim, value_dim], moved on by all tokens
  float* out = nullptr;       ///< [tokens, value_heads, value_dim]
};
/// The gated delta rule (arXiv 2412.06464 §3), value head h with key head h / (value_heads / key_heads), per
/// token: S = decay · S; d = beta · (v - kᵀ S); S += k ⊗ d; out = qᵀ S.
void delta_rule(const Executor& executor, const DeltaRuleArguments& arguments);

}  // namespace amphora::kernels
