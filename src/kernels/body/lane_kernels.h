// All that is written once over lanes, and its table. Included after a lanes_*.h.
#pragma once

#include "kernels/body/attention.h"
#include "kernels/body/dense.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/halves.h"
#include "kernels/body/norm_rope.h"
#include "kernels/body/quantise.h"
#include "kernels/body/recurrence.h"
#include "kernels/body/softmax.h"

namespace amphora::kernels::AMPHORA_VARIANT {

inline constexpr LaneKernels kLaneKernels = {
    .decode_halves = decode_halves,
    .quantise = quantise,
    .multiply_dense = multiply_dense,
    .multiply_exact = multiply_exact,
    .load_kv = load_kv,
    .store_kv = store_kv,
    .attention_scores = attention_scores,
    .attention_weights = attention_weights,
    .attention_values = attention_values,
    .attention_merge = attention_merge,
    .exponential = exponential,
    .rms_norm = rms_norm,
    .l2_norm = l2_norm,
    .softmax = softmax,
    .rope = rope,
    .scale = scale,
    .softcap = softcap,
    .silu = silu,
    .sigmoid = sigmoid,
    .softplus = softplus,
    .silu_multiply = silu_multiply,
    .gelu_tanh_multiply = gelu_tanh_multiply,
    .sigmoid_multiply = sigmoid_multiply,
    .multiply = multiply,
    .add = add_to,
    .add_scaled = add_scaled,
    .argmax = argmax,
    .short_convolution = short_convolution,
    .delta_decay = delta_decay,
    .delta_rule = delta_rule,
};

}  // namespace amphora::kernels::AMPHORA_VARIANT
