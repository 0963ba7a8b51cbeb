// What the payload layouts of several element types share.
#include "quant/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"

namespace amphora::quant {
namespace {

uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu; }

constexpr uint32_t kInfinityBits = 0x7F800000u;

/// Magnitudes compare like their bit patterns, and integers give the compiler a reduction that it may
/// reorder.
uint32_t largest_magnitude_bits(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, magnitude_bits(value));
  return largest;
}

std::unexpected<Error> place_fault(std::string message) {
  return fail_at(Fault::kCorrupt, "Parse", {}, std::nullopt, std::move(message));
}

std::optional<uint16_t> floored(uint16_t half) {
  if ((half & 0x7C00u) == 0x7C00u) return std::nullopt;
  return std::max(half, kMinNormalHalf);  // scales are not negative: the bits order them
}

}  // namespace

Status place_anywhere(std::string_view, Shape) { return {}; }

Status place_matrix(std::string_view, Shape shape) {
  if (shape.size() != 2) return place_fault("the type needs two dimensions");
  return {};
}

Status place_grouped_matrix(std::string_view tensor_name, Shape shape) {
  AMPHORA_TRY(place_matrix(tensor_name, shape));
  if (shape[1] % kGroup != 0) return place_fault("the type needs columns in multiples of 32");
  return {};
}

std::optional<uint64_t> bytes_of_elements(Shape shape, uint64_t element_bytes) {
  const auto elements = element_count(shape);
  return elements ? checked_mul(*elements, element_bytes) : std::nullopt;
}

std::optional<uint64_t> bytes_of_groups(Shape shape, uint64_t group_bytes, uint64_t row_bytes) {
  const auto elements = element_count(shape);
  if (!elements) return std::nullopt;
  const auto groups = checked_mul(*elements / kGroup, group_bytes);
  const auto rows = checked_mul(shape[0], row_bytes);
  return groups && rows ? checked_add(*groups, *rows) : std::nullopt;
}

std::unexpected<Error> payload_fault(std::string_view code, uint64_t offset, std::string message) {
  return fail_at(Fault::kCorrupt, std::string(code), {}, offset, std::move(message));
}

Status check_finite_halves(Bytes payload, uint64_t offset, uint64_t count, uint64_t stride,
                           std::string_view what) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = offset + i * stride;
    if ((half_bits_at(payload, at) & 0x7C00u) == 0x7C00u)
      return payload_fault("Parse", at, std::string(what) + " " + std::to_string(i) + " is not finite");
  }
  return {};
}

Status check_finite(std::span<const float> values) {
  if (largest_magnitude_bits(values) < kInfinityBits) return {};
  const auto bad =
      std::ranges::find_if(values, [](float value) { return magnitude_bits(value) >= kInfinityBits; });
  return fail(Fault::kRefused, std::string(std::isnan(*bad) ? "NaN" : "infinity") + " at flat index " +
                                   std::to_string(bad - values.begin()));
}

float largest_magnitude(std::span<const float> values) {
  return std::bit_cast<float>(largest_magnitude_bits(values));
}

uint16_t double_to_half(double value) {
  // Rounding to odd on the way keeps what the second rounding must know.
  float near = static_cast<float>(value);
  if (static_cast<double>(near) != value && (std::bit_cast<uint32_t>(near) & 1u) == 0)
    near = std::nextafter(near, static_cast<double>(near) < value ? HUGE_VALF : -HUGE_VALF);
  return float_to_half(near);
}

std::optional<uint16_t> scale_to_half(float scale) { return floored(float_to_half(scale)); }
std::optional<uint16_t> scale_to_half(double scale) { return floored(double_to_half(scale)); }

std::unexpected<Error> scale_refusal(std::span<const float> values, uint64_t first_index, uint64_t stride) {
  uint64_t worst = 0;
  for (uint64_t i = 0; i < values.size(); i += stride)
    if (magnitude_bits(values[i]) > magnitude_bits(values[worst])) worst = i;
  return fail(Fault::kRefused, "the value at flat index " + std::to_string(first_index + worst) +
                                   " needs a scale that f16 cannot hold");
}

}  // namespace amphora::quant
