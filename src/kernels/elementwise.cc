// Norms, rotary positions, activations and sums over whole blocks of activations.
#include <algorithm>

#include "kernels/variant.h"

namespace amphora::kernels {
namespace {

/// Elements from which sharing out the work costs less than it saves.
constexpr size_t kWorthSharing = 32768;
constexpr size_t kElementsPerChunk = 16384;  // a multiple of the lanes

/// Calls function(first, last) over [0, count) in chunks, on the calling thread alone if there is little to
/// do.
template <class F>
void share_out(const Executor& executor, size_t count, size_t elements_each, const F& function) {
  if (count * elements_each < kWorthSharing || executor.pool->threads() == 1)
    return function(size_t{0}, count);
  const size_t step = std::max<size_t>(1, kElementsPerChunk / elements_each);
  executor.pool->run((count + step - 1) / step,
                     [&](size_t chunk) { function(chunk * step, std::min(count, (chunk + 1) * step)); });
}

}  // namespace

void rms_norm(const Executor& executor, const float* x, const float* weights, size_t rows, size_t columns,
              float eps, bool one_plus, float* out) {
  share_out(executor, rows, columns, [&](size_t first, size_t last) {
    for (size_t row = first; row < last; ++row)
      executor.variant->lanes->rms_norm(x + row * columns, weights, columns, eps, one_plus,
                                        out + row * columns);
  });
}

void rope(const Executor& executor, float* x, size_t tokens, size_t heads, size_t head_dim, size_t half,
          const float* cosines, const float* sines) {
  share_out(executor, tokens, heads * head_dim, [&](size_t first, size_t last) {
    for (size_t token = first; token < last; ++token)
      for (size_t head = 0; head < heads; ++head)
        executor.variant->lanes->rope(x + (token * heads + head) * head_dim, half, cosines + token * half,
                                      sines + token * half);
  });
}

void silu_multiply(const Executor& executor, float* gate, const float* up, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    executor.variant->lanes->silu_multiply(gate + first, up + first, last - first);
  });
}

void gelu_tanh_multiply(const Executor& executor, float* gate, const float* up, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    executor.variant->lanes->gelu_tanh_multiply(gate + first, up + first, last - first);
  });
}

void add(const Executor& executor, float* x, const float* y, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    executor.variant->lanes->add(x + first, y + first, last - first);
  });
}

void add_bias(const Executor& executor, float* x, const float* bias, size_t tokens, size_t columns) {
  share_out(executor, tokens, columns, [&](size_t first, size_t last) {
    for (size_t token = first; token < last; ++token)
      executor.variant->lanes->add(x + token * columns, bias, columns);
  });
}

void scale(const Executor& executor, float* x, float factor, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    executor.variant->lanes->scale(x + first, factor, last - first);
  });
}

void softcap(const Executor& executor, float* x, float cap, size_t count) {
  share_out(executor, count, 1, [&](size_t first, size_t last) {
    executor.variant->lanes->softcap(x + first, cap, last - first);
  });
}

size_t argmax(const Executor& executor, const float* values, size_t count) {
  return executor.variant->lanes->argmax(values, count);
}

}  // namespace amphora::kernels
