// What the operators of a model share while they run: the executor, quantised activations, and rooms for
// intermediate values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "model/input_observer.h"
#include "model/plan.h"

namespace amphora::model {

/// Intermediate values by their use. An operator may use any room but those of the decoder.
enum class Room : uint8_t {
  kResidual,  ///< of the decoder, like the next two: the residual stream
  kInput,     ///< a branch's input
  kBranch,    ///< a branch's output
  kQueries,
  kKeys,
  kValues,
  kMixed,
  kGate,
  kUp,
  kLatent,
  kFactors,
  kProjected,
  kRouter,
  kGathered,
  kExpertGate,
  kExpertUp,
  kExpertOut,
  kShared,
  kCount,
};

/// A projection and where its output goes, [tokens, rows] with `stride` floats from token to token.
struct Target {
  const Linear* linear;
  float* out;
  size_t stride = 0;  ///< 0: the rows of the projection
  std::span<const kernels::RowRange> rows = {};
};

class Workspace {
 public:
  Workspace(const Plan& plan, const kernels::Executor& executor) : plan_(plan), executor_(executor) {}

  const Plan& plan() const { return plan_; }
  const kernels::Executor& executor() const { return executor_; }

  /// Room for `floats` values; what was in it may be lost when it grows.
  float* room(Room which, size_t floats);
  uint64_t bytes() const;

  /// Products of several matrices with the same input [tokens, columns], biases added.
  void multiply(std::span<const Target> targets, const float* input, size_t tokens);
  void multiply(const Linear& linear, const float* input, size_t tokens, float* out);
  /// Products with a matrix of no Linear (the head).
  void multiply(const kernels::Matrix& matrix, const float* input, size_t tokens, float* out);
  void project(const Projection& projection, const float* input, size_t tokens, float* out);
  /// RMS norm of rows as wide as the weights, in the model's style.
  void normalise(const float* input, const std::vector<float>& weights, size_t rows, float* out);

  /// Shows `observer` every matrix's inputs from now on; null: nobody.
  void observe_inputs(InputObserver* observer) { observer_ = observer; }

 private:
  void run(std::span<const kernels::Product> products, const float* input, size_t tokens);

  const Plan& plan_;
  kernels::Executor executor_;
  InputObserver* observer_ = nullptr;
  kernels::Activations activations_;
  std::vector<kernels::Product> products_;
  std::array<std::vector<float>, static_cast<size_t>(Room::kCount)> rooms_;
};

}  // namespace amphora::model
