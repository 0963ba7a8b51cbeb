// Collects, while a model runs, how much each input column of its weight matrices counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amphora/package.h"
#include "model/input_observer.h"
#include "package/importance.h"

namespace amphora {

/// Sums of squares in f64, in the order of the tokens: the same for any number of threads. A matrix is told
/// by the place of its payload, which it shares with the package's tensor: a tied head is the embedding.
class ImportanceCollector : public model::InputObserver {
 public:
  /// The package of the model that is going to run; it must outlive the collector.
  explicit ImportanceCollector(const Package& package);

  void observe(const kernels::Matrix& weights, const float* inputs, size_t tokens) override;

  /// Mean squares of the inputs that each matrix has seen; a matrix that has seen none has no entry. `tokens`
  /// is what the busiest matrix has seen.
  Importance importance() const;

 private:
  struct Sums {
    uint64_t tokens = 0;
    std::vector<double> squares;  ///< [columns]
  };
  std::unordered_map<const std::byte*, std::string_view> names_;  ///< of tensors, by their payloads' places
  std::map<std::string_view, Sums> sums_;
};

}  // namespace amphora
