// The tensors of a package as a plan takes them: by name, with the shape that their place demands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "amphora/package.h"
#include "model/findings.h"
#include "model/plan.h"

namespace amphora::model {

/// What is amiss goes to the findings, and an empty matrix or vector stands in for it. Errors are those of
/// reading.
class TensorSource {
 public:
  TensorSource(const Package& package, Findings& findings);

  bool has(const std::string& name) const { return by_name_.contains(name); }
  /// Rows of a matrix (elements of a vector), 0 if it is not there.
  uint64_t rows_of(const std::string& name) const;
  /// The last dimension, 0 if it is not there.
  uint64_t columns_of(const std::string& name) const;

  kernels::Matrix matrix(const std::string& name, uint64_t rows, uint64_t columns);
  Result<std::vector<float>> vector(const std::string& name, uint64_t count);
  Result<std::vector<float>> vector_if_present(const std::string& name, uint64_t count);
  /// Elements of a tensor of any shape.
  Result<std::vector<float>> values(const std::string& name, uint64_t count);
  /// `name` without ".weight" or ".bias".
  Result<Linear> linear(const std::string& name, uint64_t rows, uint64_t columns);

  /// Finds fault with every tensor that nobody took and that is not known to be harmless.
  void report_unused();

 private:
  const PackageTensor* take(const std::string& name);
  const PackageTensor* take(const std::string& name, const std::vector<uint64_t>& shape);

  const Package& package_;
  Findings& findings_;
  std::unordered_map<std::string_view, const PackageTensor*> by_name_;
  std::unordered_set<const PackageTensor*> taken_;
  std::unordered_set<std::string> foreign_types_;
};

}  // namespace amphora::model
