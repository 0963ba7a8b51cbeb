// Which weights go into an overlay.
#include "quant/overlay.h"

#include <array>
#include <bit>
#include <cmath>

namespace amphora::quant {
namespace {

uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu; }

constexpr uint32_t kLowBits = 16;
constexpr uint32_t kLowMask = (1u << kLowBits) - 1;

/// The bucket that holds the `rank`-th largest, counted from 1; `rank` becomes its rank within the bucket.
uint32_t bucket_of_rank(std::span<const uint64_t> histogram, uint64_t& rank) {
  auto bucket = static_cast<uint32_t>(histogram.size() - 1);
  while (rank > histogram[bucket]) rank -= histogram[bucket--];
  return bucket;
}

struct Cut {
  uint32_t magnitude;  ///< bits of the least magnitude that goes into the overlay
  uint64_t ties;       ///< how many weights of just this magnitude do
};

/// Two histograms over halves of the bit patterns, which order magnitudes, find the cut without a copy of the
/// values.
Cut cut_of(std::span<const float> values, uint64_t count) {
  std::vector<uint64_t> high(1u << (31 - kLowBits)), low(1u << kLowBits);
  for (const float value : values) ++high[magnitude_bits(value) >> kLowBits];
  uint64_t rank = count;
  const uint32_t top = bucket_of_rank(high, rank);
  for (const float value : values)
    if (const uint32_t bits = magnitude_bits(value); bits >> kLowBits == top) ++low[bits & kLowMask];
  const uint32_t rest = bucket_of_rank(low, rank);
  return {top << kLowBits | rest, rank};
}

}  // namespace

Result<uint64_t> overlay_count(uint64_t elements, double share) {
  if (!(share >= 0 && share <= 1))
    return fail(Fault::kRefused, "the overlay's share of the weights must be 0 to 1");
  const double count = std::nearbyint(static_cast<double>(elements) * share);
  // Beyond 2^53 the product may be rounded up past the number of elements.
  return count < static_cast<double>(elements) ? static_cast<uint64_t>(count) : elements;
}

std::vector<uint64_t> select_outliers(std::span<const float> values, uint64_t count) {
  std::vector<uint64_t> outliers;
  if (count == 0) return outliers;
  Cut cut = cut_of(values, count);
  outliers.reserve(count);
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = magnitude_bits(values[i]);
    if (bits < cut.magnitude) continue;
    if (bits == cut.magnitude) {
      if (cut.ties == 0) continue;
      --cut.ties;
    }
    outliers.push_back(i);
  }
  return outliers;
}

Result<uint16_t> outlier_to_half(std::span<const float> values, uint64_t index) {
  const uint16_t half = float_to_half(values[index]);
  if ((half & 0x7C00u) == 0x7C00u)
    return fail(Fault::kRefused, "the value at flat index " + std::to_string(index) +
                                     " does not fit f16, in which the overlay keeps it");
  return half;
}

double mean_magnitude(std::span<const float, kGroup> weights, uint32_t mask) {
  std::array<double, 8> sums{};  // side by side, so that no addition waits for the one before it
  for (uint64_t i = 0; i < kGroup; ++i)
    sums[i % 8] += (mask >> i & 1u) != 0 ? double{std::fabs(weights[i])} : 0.0;
  const double sum =
      ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  return mask == 0 ? 0.0 : sum / std::popcount(mask);
}

}  // namespace amphora::quant
