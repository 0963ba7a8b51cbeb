// Water-filling over the widths that the format has.
#include "quant/vbit_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/vbit_codes.h"

namespace amphora::quant {
namespace {

constexpr double kLeastAmplitude = 0x1p-24;

}  // namespace

double vbit_row_level(std::span<const float> row, double weight) {
  const double amplitude = std::max(double{largest_magnitude(row)}, kLeastAmplitude) * weight;
  return std::log2(amplitude > 0 ? amplitude : kLeastAmplitude);
}

std::vector<double> vbit_row_levels(std::span<const float> values, Shape shape, double weight) {
  std::vector<double> levels(shape[0]);
  for (uint64_t row = 0; row < shape[0]; ++row)
    levels[row] = vbit_row_level(values.subspan(row * shape[1], shape[1]), weight);
  return levels;
}

double vbit_mean_level(std::span<const double> levels) {
  if (levels.empty()) return 0;
  return std::accumulate(levels.begin(), levels.end(), 0.0) / static_cast<double>(levels.size());
}

std::vector<uint8_t> vbit_row_widths(std::span<const double> levels, double mean_level, double budget) {
  std::vector<uint8_t> widths;
  widths.reserve(levels.size());
  for (const double level : levels) {
    const double wanted = level - mean_level + budget;
    // min_element keeps the first of equals: the narrower.
    widths.push_back(*std::ranges::min_element(
        kVbitWidths, {}, [&](uint8_t width) { return std::abs(static_cast<double>(width) - wanted); }));
  }
  return widths;
}

}  // namespace amphora::quant
