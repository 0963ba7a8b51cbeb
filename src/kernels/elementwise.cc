// Norms, softmax, rotary positions, activations and sums over whole blocks of activations.
#include "kernels/share_out.h"
#include "kernels/variant.h"

namespace amphora::kernels {
namespace {

using OfOne = void (*)(float* x, size_t count);
using OfTwo = void (*)(float* x, const float* y, size_t count);
using WithFactor = void (*)(float* x, float factor, size_t count);

void apply(const Executor& executor, OfOne operation, float* x, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) { operation(x + first, last - first); });
}
void apply(const Executor& executor, OfTwo operation, float* x, const float* y, size_t count) {
  share_out(executor, count, 1,
            [&](size_t first, size_t last) { operation(x + first, y + first, last - first); });
}
void apply(const Executor& executor, WithFactor operation, float* x, float factor, size_t count) {
  share_out(executor, count, 1,
            [&](size_t first, size_t last) { operation(x + first, factor, last - first); });
}

/// Calls function(row) for each row.
template <class F>
void each_row(const Executor& executor, size_t rows, size_t columns, const F& function) {
  share_out(executor, rows, columns, [&](size_t first, size_t last) {
    for (size_t row = first; row < last; ++row) function(row);
  });
}

const LaneKernels& lanes_of(const Executor& executor) { return *executor.variant->lanes; }

}  // namespace

void rms_norm(const Executor& executor, const float* x, const float* weights, size_t rows, size_t columns,
              float eps, bool one_plus, float* out) {
  each_row(executor, rows, columns, [&](size_t row) {
    lanes_of(executor).rms_norm(x + row * columns, weights, columns, eps, one_plus, out + row * columns);
  });
}

void l2_norm(const Executor& executor, float* x, size_t rows, size_t columns, float eps, float factor) {
  each_row(executor, rows, columns,
           [&](size_t row) { lanes_of(executor).l2_norm(x + row * columns, columns, eps, factor); });
}

void softmax(const Executor& executor, float* x, size_t rows, size_t columns) {
  each_row(executor, rows, columns,
           [&](size_t row) { lanes_of(executor).softmax(x + row * columns, columns); });
}

void rope(const Executor& executor, float* x, size_t tokens, size_t heads, size_t head_dim, size_t half,
          const float* cosines, const float* sines) {
  each_row(executor, tokens, heads * head_dim, [&](size_t token) {
    for (size_t head = 0; head < heads; ++head)
      lanes_of(executor).rope(x + (token * heads + head) * head_dim, half, cosines + token * half,
                              sines + token * half);
  });
}

void silu(const Executor& executor, float* x, size_t count) {
  apply(executor, lanes_of(executor).silu, x, count);
}
void sigmoid(const Executor& executor, float* x, size_t count) {
  apply(executor, lanes_of(executor).sigmoid, x, count);
}
void softplus(const Executor& executor, float* x, size_t count) {
  apply(executor, lanes_of(executor).softplus, x, count);
}
void silu_multiply(const Executor& executor, float* gate, const float* up, size_t count) {
  apply(executor, lanes_of(executor).silu_multiply, gate, up, count);
}
void gelu_tanh_multiply(const Executor& executor, float* gate, const float* up, size_t count) {
  apply(executor, lanes_of(executor).gelu_tanh_multiply, gate, up, count);
}
void sigmoid_multiply(const Executor& executor, float* x, const float* gate, size_t count) {
  apply(executor, lanes_of(executor).sigmoid_multiply, x, gate, count);
}
void multiply(const Executor& executor, float* x, const float* y, size_t count) {
  apply(executor, lanes_of(executor).multiply, x, y, count);
}
void add(const Executor& executor, float* x, const float* y, size_t count) {
  apply(executor, lanes_of(executor).add, x, y, count);
}
void scale(const Executor& executor, float* x, float factor, size_t count) {
  apply(executor, lanes_of(executor).scale, x, factor, count);
}
void softcap(const Executor& executor, float* x, float cap, size_t count) {
  apply(executor, lanes_of(executor).softcap, x, cap, count);
}

void add_scaled(const Executor& executor, float* x, const float* y, float factor, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    lanes_of(executor).add_scaled(x + first, y + first, factor, last - first);
  });
}

void add_bias(const Executor& executor, float* x, const float* bias, size_t tokens, size_t columns) {
  each_row(executor, tokens, columns,
           [&](size_t token) { lanes_of(executor).add(x + token * columns, bias, columns); });
}

void scale_rows(const Executor& executor, float* x, const float* factors, size_t rows, size_t columns) {
  each_row(executor, rows, columns,
           [&](size_t row) { lanes_of(executor).scale(x + row * columns, factors[row], columns); });
}

size_t argmax(const Executor& executor, const float* values, size_t count) {
  return lanes_of(executor).argmax(values, count);
}

}  // namespace amphora::kernels
