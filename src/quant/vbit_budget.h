// How many bits each row of a vbit tensor gets: rows with large weights more, so that the mean meets a budget
// (docs/formats/cmf.md §3 "Encoders").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/codec.h"

namespace amphora::quant {

inline constexpr double kDefaultVbitBudget = 4.25;  ///< mean bits per weight, scales not counted

/// log2 of weight · max(the row's largest magnitude, 2^-24). `weight` is the share of the traffic that the
/// tensor sees, relative to its family's mean: 1 unless routing frequencies are known. A product of zero,
/// that of a tensor without traffic, counts as 2^-24.
double vbit_row_level(std::span<const float> row, double weight = 1);
/// The levels of all rows of a matrix. [rows]
std::vector<double> vbit_row_levels(std::span<const float> values, Shape shape, double weight = 1);

/// Mean of some levels, 0 if there are none: of one tensor, or of all the experts that share a budget.
double vbit_mean_level(std::span<const double> levels);

/// The width nearest to level - mean + budget for every row, ties to the narrower. [rows]
std::vector<uint8_t> vbit_row_widths(std::span<const double> levels, double mean_level, double budget);

}  // namespace amphora::quant
