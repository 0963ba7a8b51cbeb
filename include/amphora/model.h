// A model that can run: a package whose every tensor has found its place in a plan of layers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

namespace model {
struct Plan;  // src/model/plan.h
}
namespace kernels {
class WeightCopies;  // src/kernels/weight_copies.h
}

/// Immutable after loading; any number of sessions may run it at the same time.
class Model {
 public:
  /// Plans the layers from the tensors that exist, never from the model's name, and checks all that running
  /// relies on. Matrices are used where they lie in the package's mapping; norms and biases are decoded once.
  ///
  /// One error names everything that is wrong: kUnsupported (operators, options or element types that this
  /// program does not run), else kCorrupt (tensors that are missing, unused or of a wrong shape, dimensions
  /// that contradict each other). Block types of GGUF are not run directly: the message says to convert
  /// first.
  static Result<std::shared_ptr<const Model>> load(std::shared_ptr<const Package> package);

  explicit Model(std::unique_ptr<const model::Plan> plan, std::shared_ptr<const Package> package);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  const ModelSpec& spec() const { return package_->spec; }
  const std::shared_ptr<const Package>& package() const { return package_; }
  const model::Plan& plan() const { return *plan_; }

  bool has_experts() const;
  /// Bytes of the weights that one decoded token streams: all matrices, the head included, one embedding row;
  /// of a mixture, the experts that a token chooses.
  uint64_t bytes_per_token() const;
  /// Weights used in place from the mapping, and those decoded into memory of our own.
  uint64_t mapped_bytes() const;
  uint64_t decoded_bytes() const;
  /// Copies of the dense weights in the order in which the kernels read them fastest; experts stay in the
  /// mapping. Shared by all sessions. Null if there is nothing to copy, or if the memory that is available
  /// when it is first called is not at least 1.5 times the weights and the copies.
  kernels::WeightCopies* weight_copies() const;
  /// Cache bytes of one position with 2-byte elements (`info --memory`).
  uint64_t kv_bytes_per_position_f16() const;

 private:
  std::shared_ptr<const Package> package_;
  std::unique_ptr<const model::Plan> plan_;
  mutable std::once_flag copies_planned_;
  mutable std::unique_ptr<kernels::WeightCopies> copies_;
};

}  // namespace amphora
