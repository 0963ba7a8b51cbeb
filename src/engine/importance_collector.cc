// Sums of squares per column: see importance_collector.h.
#include "engine/importance_collector.h"

#include <algorithm>

namespace amphora {

ImportanceCollector::ImportanceCollector(const Package& package) {
  for (const PackageTensor& tensor : package.tensors)
    if (!tensor.stored.empty()) names_.emplace(tensor.stored.data(), tensor.name);
}

void ImportanceCollector::observe(const kernels::Matrix& weights, const float* inputs, size_t tokens) {
  const auto name = names_.find(weights.payload.data());
  if (name == names_.end()) return;
  Sums& sums = sums_[name->second];
  sums.squares.resize(weights.columns);
  sums.tokens += tokens;
  for (size_t token = 0; token < tokens; ++token) {
    const float* const row = inputs + token * weights.columns;
    for (size_t column = 0; column < weights.columns; ++column)
      sums.squares[column] += double{row[column]} * row[column];
  }
}

Importance ImportanceCollector::importance() const {
  Importance result;
  for (const auto& [name, sums] : sums_) {
    result.tokens = std::max(result.tokens, sums.tokens);
    std::vector<float>& columns = result.columns[std::string(name)];
    for (const double square : sums.squares)
      columns.push_back(static_cast<float>(square / static_cast<double>(sums.tokens)));
  }
  return result;
}

}  // namespace amphora
