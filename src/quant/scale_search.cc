// The scale of a group of weights that gives the least squared error.
#include "quant/scale_search.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace amphora::quant {
namespace {

constexpr size_t kLanes = SearchGroup::kLanes;
using Lanes = std::array<float, kLanes>;

constexpr size_t kEvenCandidates = 2 * kLanes;  ///< all importances alike
constexpr size_t kCandidates = 4 * kLanes;      ///< the second half gives up much of a group's range
constexpr int kRefined = 3;                     ///< candidates whose f16 scale is judged exactly

/// Steps from zero to the largest magnitude for each candidate, `plain` of them in the plain encoding. With 4
/// bits: 5 … 9 in even distances (to try every f16 scale instead gains 0.1 % more), then in even ratios up to
/// 64, for groups whose largest weight hardly counts.
std::array<float, kCandidates> candidate_steps(float plain) {
  const float low = std::max(plain * (5.0f / 7), plain - 5), high = plain + 2;
  const float step = (high - low) / (kEvenCandidates - 1);
  constexpr float kRatio = 1.13f;
  std::array<float, kCandidates> steps{};
  for (size_t i = 0; i < kEvenCandidates; ++i) steps[i] = low + step * static_cast<float>(i);
  for (size_t i = kEvenCandidates; i < kCandidates; ++i) steps[i] = steps[i - 1] * kRatio;
  return steps;
}

/// Σ importance · weight · code and Σ importance · code² for the codes at some numbers of steps.
struct Moments {
  Lanes products{};
  Lanes squares{};
};

/// The innermost loop here and below is over candidates: the compiler makes vectors of them without changing
/// the order of any sum.
Moments moments_at(const Lanes& steps, const std::array<float, kGroup>& weights,
                   const std::array<float, kGroup>& importance, float low, float high) {
  float products[kLanes] = {}, squares[kLanes] = {};  // plain arrays, which g++ 12 keeps in registers
  for (size_t i = 0; i < kGroup; ++i) {
    const float weight = weights[i], counts = importance[i], product = counts * weight;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float code = clamp_and_round(weight * steps[lane], low, high);
      products[lane] += product * code;
      squares[lane] += counts * (code * code);
    }
  }
  Moments moments;
  std::ranges::copy(products, moments.products.begin());
  std::ranges::copy(squares, moments.squares.begin());
  return moments;
}

}  // namespace

Status check_importance(const EncodeOptions& options, Shape shape) {
  const std::span<const float> importance = options.importance;
  if (options.encoder != Encoder::kSearch || importance.empty()) return {};
  const uint64_t columns = shape.empty() ? 1 : shape.back();
  if (importance.size() != columns)
    return fail(Fault::kRefused, "there are importances for " + std::to_string(importance.size()) +
                                     " columns, the tensor has " + std::to_string(columns));
  const auto bad =
      std::ranges::find_if(importance, [](float value) { return !std::isfinite(value) || value < 0; });
  if (bad == importance.end()) return {};
  const std::string what = std::isnan(*bad) ? "NaN" : *bad < 0 ? "negative" : "infinite";
  return fail(Fault::kRefused,
              "the importance of column " + std::to_string(bad - importance.begin()) + " is " + what);
}

std::span<const float> importance_of(std::span<const float> importance, uint64_t first, uint64_t count,
                                     std::array<float, kGroup>& storage) {
  if (importance.empty()) return {};
  uint64_t column = first % importance.size();
  for (uint64_t i = 0; i < count; ++i) {
    storage[i] = importance[column];
    if (++column == importance.size()) column = 0;  // q4_block groups go on in the next row
  }
  return std::span(storage).first(count);
}

SearchGroup::SearchGroup(std::span<const float> weights, std::span<const float> importance, CodeRange range)
    : range_(range), largest_(largest_magnitude(weights)) {
  std::ranges::copy(weights, weights_.begin());
  const float peak = largest_magnitude(importance);  // none of them is negative
  uneven_ = peak > 0;
  if (uneven_) largest_importance_ = peak;
  if (uneven_)
    std::ranges::copy(importance, importance_.begin());
  else
    std::fill_n(importance_.begin(), weights.size(), 1.0f);
  // Relative numbers are at most 1: sums of their products in f32 neither overflow nor vanish.
  const float unit = largest_ > 0 ? largest_ : 1;
  for (size_t i = 0; i < kGroup; ++i) {
    relative_weights_[i] = weights_[i] / unit;
    relative_importance_[i] = importance_[i] / largest_importance_;
  }
}

double SearchGroup::error(float scale) const {
  const auto low = static_cast<float>(range_.low), high = static_cast<float>(range_.high);
  std::array<float, kGroup> decoded;
  for (size_t i = 0; i < kGroup; ++i) decoded[i] = clamp_and_round(weights_[i] / scale, low, high) * scale;
  std::array<double, 4> sums{};
  for (size_t i = 0; i < kGroup; i += sums.size())
    for (size_t lane = 0; lane < sums.size(); ++lane) {
      const double off = double{weights_[i + lane]} - double{decoded[i + lane]};
      sums[lane] += double{importance_[i + lane]} * (off * off);
    }
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// Optima of the candidates, relative to the largest magnitude and the largest importance.
struct SearchGroup::Candidates {
  std::array<float, kCandidates> scales{};
  std::array<float, kCandidates> gains{};

  /// Index of the largest gain, the first of equals.
  size_t best() const { return static_cast<size_t>(std::ranges::max_element(gains) - gains.begin()); }
};

SearchGroup::Candidates SearchGroup::candidates() const {
  const auto low = static_cast<float>(range_.low), high = static_cast<float>(range_.high);
  const std::array<float, kCandidates> steps = candidate_steps(range_.plain_steps());
  const size_t count = uneven_ ? kCandidates : kEvenCandidates;
  Candidates found;
  for (size_t first = 0; first < count; first += kLanes) {
    Lanes lane_steps{};
    std::copy_n(steps.begin() + static_cast<ptrdiff_t>(first), kLanes, lane_steps.begin());
    const Moments moments = moments_at(lane_steps, relative_weights_, relative_importance_, low, high);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (!(moments.squares[lane] > 0)) continue;
      found.scales[first + lane] = moments.products[lane] / moments.squares[lane];
      found.gains[first + lane] = moments.products[lane] * found.scales[first + lane];
    }
  }
  return found;
}

std::optional<uint16_t> SearchGroup::best_half() const {
  const auto plain = scale_to_half(largest_ / range_.plain_steps());
  // Up to half of the least scale every code is zero.
  if (!plain || !(largest_ > kHalfMinNormal / 2)) return plain;
  Candidates found = candidates();
  uint16_t best = *plain;
  double least = error(half_to_float(best));
  for (int i = 0; i < kRefined; ++i) {
    const size_t candidate = found.best();
    if (!(found.gains[candidate] > 0)) break;
    found.gains[candidate] = 0;
    const auto half = scale_to_half(found.scales[candidate] * largest_);
    if (!half || *half == best) continue;
    const double judged = error(half_to_float(*half));
    if (!(judged < least)) continue;
    least = judged;
    best = *half;
  }
  return best;
}

SearchGroup::Fit SearchGroup::best_fit() const {
  const Candidates found = candidates();
  const size_t best = found.best();
  if (!(found.gains[best] > 0)) return {largest_ / range_.plain_steps(), 0};
  const double largest = largest_;
  return {found.scales[best] * largest_,
          double{found.gains[best]} * (largest * largest) * double{largest_importance_}};
}

size_t SearchGroup::best_of(std::span<const float, kLanes> scales) const {
  if (!(largest_ > kHalfMinNormal / 2)) return 0;  // every code is zero, as in best_half
  const auto low = static_cast<float>(range_.low), high = static_cast<float>(range_.high);
  float relative[kLanes], steps[kLanes], errors[kLanes] = {};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    relative[lane] = scales[lane] / largest_;
    steps[lane] = largest_ / scales[lane];
  }
  for (size_t i = 0; i < kGroup; ++i) {
    const float weight = relative_weights_[i], counts = relative_importance_[i];
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float off = weight - clamp_and_round(weight * steps[lane], low, high) * relative[lane];
      errors[lane] += counts * (off * off);
    }
  }
  return static_cast<size_t>(std::ranges::min_element(errors) - errors);
}

std::optional<uint16_t> search_scale(std::span<const float> weights, std::span<const float> importance,
                                     int low_code, int high_code) {
  return SearchGroup(weights, importance, {low_code, high_code}).best_half();
}

}  // namespace amphora::quant
