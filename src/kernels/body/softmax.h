// Softmax of a row. Included after a lanes_*.h.
#pragma once

#include <cstddef>

#include "kernels/body/elementwise.h"

namespace amphora::kernels::AMPHORA_VARIANT {

/// A NaN is not in the maximum, but in the sum.
AMPHORA_TARGET inline void softmax(float* x, size_t columns) {
  const Lanes shift = broadcast(largest_of(x, columns));
  Lanes sums = broadcast(0.0f);
  size_t at = 0;
  for (; at + kLanes <= columns; at += kLanes) {
    const Lanes weight = exp_of(sub(load(x + at), shift));
    sums = add(sums, weight);
    store(x + at, weight);
  }
  const size_t rest = columns - at;
  if (rest != 0) {
    store_first(x + at, exp_of(sub(load_first(x + at, rest), shift)), rest);
    sums = add(sums, load_first(x + at, rest));  // the lanes beyond the row are 0 again
  }
  const Lanes total = broadcast(sum(sums));
  for (at = 0; at + kLanes <= columns; at += kLanes) store(x + at, div(load(x + at), total));
  if (rest != 0) store_first(x + at, div(load_first(x + at, rest), total), rest);
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
