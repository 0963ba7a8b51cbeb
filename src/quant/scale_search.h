// The scale of a group of weights that gives the least squared error when each weight becomes the nearest
// whole multiple of it: what Encoder::kSearch does beyond the largest magnitude (docs/formats/cmf.md §3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "quant/layout.h"

namespace amphora::quant {

/// Codes that a type can store: whole numbers, low <= -1 and high >= 1, magnitudes within 2^16.
struct CodeRange {
  int low = 0;
  int high = 0;

  /// Steps from zero to the largest magnitude in the plain encoding: both signs must reach it.
  float plain_steps() const { return static_cast<float>(high < -low ? high : -low); }
};

/// If a search is asked for: refuses an importance that is not one finite number, not negative, for each
/// column (the last dimension), naming the first bad column. None at all is fine.
Status check_importance(const EncodeOptions& options, Shape shape);

/// The importances of `count` (at most 32) elements from flat index `first` on, in `storage`; empty if
/// `importance` is. [columns] → [count]
std::span<const float> importance_of(std::span<const float> importance, uint64_t first, uint64_t count,
                                     std::array<float, kGroup>& storage);

/// Weights that share a scale, and what a squared error in each of them counts: alike if `importance` is
/// empty or zero for all of them. Sums have a fixed order, so results are the same on all machines.
class SearchGroup {
 public:
  /// At most 32 finite weights; as many importances as weights, or none.
  SearchGroup(std::span<const float> weights, std::span<const float> importance, CodeRange range);

  /// Σ importance · (weight − decoded)² in f64, where decoded = code · scale in f32 and the code is the one
  /// in range next to weight / scale. The scale is positive.
  double error(float scale) const;

  /// The f16 scale, at least 2^-14, of the least error among the plain one (largest magnitude over
  /// plain_steps) and the optima for several roundings of the group: never worse than plain. Empty if f16
  /// cannot hold the plain scale.
  std::optional<uint16_t> best_half() const;

  /// The optimum of the best rounding that best_half tries, in f32. The scale is the plain one if all weights
  /// are zero.
  struct Fit {
    float scale = 0;
    /// By how much the error is below that of all-zero codes. At scale · 2^d the error is (d · ln 2)² times
    /// this larger, for small d.
    double gain = 0;
  };
  Fit best_fit() const;

  /// Index of the scale of the least error, but for rounding in f32, among eight that are at
  /// least 2^-14.
  static constexpr size_t kLanes = 8;
  size_t best_of(std::span<const float, kLanes> scales) const;

 private:
  struct Candidates;
  Candidates candidates() const;

  std::array<float, kGroup> weights_{};              ///< zeros behind the last, which count nothing
  std::array<float, kGroup> importance_{};           ///< ones if none was given
  std::array<float, kGroup> relative_weights_{};     ///< over the largest magnitude
  std::array<float, kGroup> relative_importance_{};  ///< over the largest one
  CodeRange range_;
  float largest_ = 0;  ///< magnitude of a weight
  float largest_importance_ = 1;
  bool uneven_ = false;  ///< whether importances differ
};

/// SearchGroup::best_half for a type with the codes low_code … high_code.
std::optional<uint16_t> search_scale(std::span<const float> weights, std::span<const float> importance,
                                     int low_code, int high_code);

}  // namespace amphora::quant
