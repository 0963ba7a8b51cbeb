// The ladder of a row of q4tp and the rung of each group that give the least squared error.
#include "quant/ladder_search.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace amphora::quant {
namespace {

/// Where the best scales of a row's groups are and what it costs to miss them. [groups]
struct Optima {
  std::vector<float> levels;  ///< log2 of the scales
  std::vector<float> gains;   ///< SearchGroup::Fit::gain over the row's largest
};

/// Parts of a row's groups whose best scales may lie below and above the ladder's ends: their errors grow,
/// the steps for all others shrink.
constexpr double kLeftBelow[] = {0, 0.02, 0.05, 0.1};
constexpr double kLeftAbove[] = {0, 0.01, 0.03};

Optima find_optima(std::span<const SearchGroup> groups) {
  std::vector<double> gains;
  Optima optima;
  for (const SearchGroup& group : groups) {
    const SearchGroup::Fit fit = group.best_fit();
    optima.levels.push_back(static_cast<float>(log2_of_half(*scale_to_half(std::min(fit.scale, kHalfMax)))));
    gains.push_back(fit.gain);
  }
  const double largest = std::max(std::ranges::max(gains), std::numeric_limits<double>::min());
  for (const double gain : gains) optima.gains.push_back(static_cast<float>(gain / largest));
  return optima;
}

/// What the groups lose on a ladder against their own best scales, nearly, in units of some constant.
float expected_loss(const Optima& optima, LadderParameters parameters) {
  constexpr float kMost = 2.08f;  // 1 / (ln 2)²: all codes zero, the whole gain lost
  const float low = half_to_float(parameters.low), step = half_to_float(parameters.step);
  const float inverse = step > 0 ? 1 / step : 0;
  float loss = 0;
  for (size_t i = 0; i < optima.levels.size(); ++i) {
    const float level = optima.levels[i] - low;
    const float distance = level - step * clamp_and_round(level * inverse, 0, kRungs - 1);
    const float square = distance * distance;
    loss += optima.gains[i] * (square < kMost ? square : kMost);
  }
  return loss;
}

LadderParameters choose_ladder(const Optima& optima) {
  std::vector<double> levels(optima.levels.begin(), optima.levels.end());
  std::ranges::sort(levels);
  LadderParameters best;
  float least = std::numeric_limits<float>::infinity();
  const auto count = static_cast<double>(levels.size());
  for (const double below : kLeftBelow)
    for (const double above : kLeftAbove) {
      const auto first = static_cast<size_t>(below * count), last = static_cast<size_t>(above * count);
      const LadderParameters parameters =
          fit_ladder(std::span(levels).subspan(first, levels.size() - first - last));
      const float loss = expected_loss(optima, parameters);
      if (!(loss < least)) continue;
      least = loss;
      best = parameters;
    }
  return best;
}

double row_error(std::span<const SearchGroup> groups, LadderParameters parameters,
                 std::span<const uint8_t> codes) {
  const auto rungs = ladder(half_to_float(parameters.low), half_to_float(parameters.step));
  double sum = 0;
  for (size_t i = 0; i < groups.size(); ++i) sum += groups[i].error(rungs[codes[i]]);
  return sum;
}

/// The best of the eight rungs around each group's own best scale.
std::vector<uint8_t> choose_rungs(std::span<const SearchGroup> groups, const Optima& optima,
                                  LadderParameters parameters) {
  constexpr int kWindow = SearchGroup::kLanes;
  const auto rungs = ladder(half_to_float(parameters.low), half_to_float(parameters.step));
  std::vector<uint8_t> codes(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const int middle = nearest_rung(double{optima.levels[i]}, parameters);
    const int first = std::clamp(middle - kWindow / 2, 0, static_cast<int>(kRungs) - kWindow);
    const auto window = std::span(rungs).subspan(static_cast<size_t>(first)).first<kWindow>();
    codes[i] = static_cast<uint8_t>(first + static_cast<int>(groups[i].best_of(window)));
  }
  return codes;
}

}  // namespace

Result<LadderParameters> search_ladder_row(std::span<const float> weights, std::span<const float> importance,
                                           uint64_t first_index, CodeRange range, std::span<uint8_t> codes) {
  AMPHORA_ASSIGN(const LadderParameters plain,
                 fit_ladder_row(weights, first_index, range.plain_steps(), codes));
  std::vector<SearchGroup> groups;
  groups.reserve(codes.size());
  for (uint64_t group = 0; group < codes.size(); ++group)
    groups.emplace_back(weights.subspan(group * kGroup, kGroup),
                        importance.empty() ? importance : importance.subspan(group * kGroup, kGroup), range);
  if (groups.empty()) return plain;
  const Optima optima = find_optima(groups);
  const LadderParameters chosen = choose_ladder(optima);
  const std::vector<uint8_t> chosen_codes = choose_rungs(groups, optima, chosen);
  if (!(row_error(groups, chosen, chosen_codes) < row_error(groups, plain, codes))) return plain;
  std::ranges::copy(chosen_codes, codes.begin());
  return chosen;
}

}  // namespace amphora::quant
