// Outliers that a type keeps as f16 beside its coarse codes (q1s, q1t): how many, which, and means over the
// rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/layout.h"

namespace amphora::quant {

/// round(elements · share), ties to even. Refuses a share outside 0 … 1.
Result<uint64_t> overlay_count(uint64_t elements, double share);

/// Flat indices, ascending, of the `count` largest magnitudes, ties to the lower index; `values` are finite
/// and at least as many.
std::vector<uint64_t> select_outliers(std::span<const float> values, uint64_t count);

/// The f16 form of an outlier; refuses what f16 cannot hold, naming the flat index.
Result<uint16_t> outlier_to_half(std::span<const float> values, uint64_t index);

/// Tells group by group, in order, which weights the overlay does not hold.
class KeptWeights {
 public:
  explicit KeptWeights(std::span<const uint64_t> ascending_outliers) : rest_(ascending_outliers) {}

  /// Bit i is set if element first_index + i is no outlier. `first_index` grows from call to call.
  uint32_t mask_of_group(uint64_t first_index) {
    uint32_t mask = ~0u;
    for (; !rest_.empty() && rest_.front() < first_index + kGroup; rest_ = rest_.subspan(1))
      mask &= ~(1u << (rest_.front() - first_index));
    return mask;
  }

 private:
  std::span<const uint64_t> rest_;
};

/// Mean magnitude, in f64, of the weights of a group whose bits are set in `mask`; 0 if there are none.
double mean_magnitude(std::span<const float, kGroup> weights, uint32_t mask);

}  // namespace amphora::quant
