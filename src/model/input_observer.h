// Who wants to see what goes into the matrices of a model while it runs.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace amphora::model {

/// Called on the thread that runs the model, before each product of a weight matrix.
class InputObserver {
 public:
  virtual ~InputObserver() = default;
  /// `inputs` is [tokens, weights.columns] in f32, before any quantisation, and lasts until the call returns.
  virtual void observe(const kernels::Matrix& weights, const float* inputs, size_t tokens) = 0;
};

}  // namespace amphora::model
