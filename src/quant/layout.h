// What the payload layouts of several element types share: place rules, f16 scales, rounding, finite checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "amphora/bytes.h"
#include "amphora/result.h"
#include "base/byte_reader.h"
#include "base/half.h"
#include "quant/codec.h"

namespace amphora::quant {

/// Weights that share one scale, along a row.
inline constexpr uint64_t kGroup = 32;

/// Place rules: anywhere; two dimensions; two dimensions with whole groups in every row.
Status place_anywhere(std::string_view tensor_name, Shape shape);
Status place_matrix(std::string_view tensor_name, Shape shape);
Status place_grouped_matrix(std::string_view tensor_name, Shape shape);

/// Payload size of types with `element_bytes` for each element.
std::optional<uint64_t> bytes_of_elements(Shape shape, uint64_t element_bytes);

/// The payload of a grouped matrix: `group_bytes` for each group and `row_bytes` for each row.
std::optional<uint64_t> bytes_of_groups(Shape shape, uint64_t group_bytes, uint64_t row_bytes);

inline uint16_t half_bits_at(Bytes payload, uint64_t offset) {
  return load_little_endian<uint16_t>(payload.data() + offset);
}
inline float half_at(Bytes payload, uint64_t offset) { return half_to_float(half_bits_at(payload, offset)); }

/// A payload fault at `offset` from the payload's start.
std::unexpected<Error> payload_fault(std::string_view code, uint64_t offset, std::string message);

/// Checks that `count` f16 fields, `stride` bytes apart, are finite.
Status check_finite_halves(Bytes payload, uint64_t offset, uint64_t count, uint64_t stride,
                           std::string_view what);

/// Refuses NaN and infinities, naming the first one's flat index.
Status check_finite(std::span<const float> values);

/// The largest magnitude of some finite values; 0 if there are none.
float largest_magnitude(std::span<const float> values);

inline constexpr uint16_t kMinNormalHalf = 0x0400;  ///< 2^-14, the least scale

/// f64 to f16 with one rounding, ties to even.
uint16_t double_to_half(double value);

/// The f16 form of a scale, at least 2^-14; empty if it does not fit f16.
std::optional<uint16_t> scale_to_half(float scale);
/// The same from f64, rounded once.
std::optional<uint16_t> scale_to_half(double scale);

/// The refusal for a group of values whose scale does not fit f16; names the first value of the largest
/// magnitude.
std::unexpected<Error> scale_refusal(std::span<const float> values, uint64_t first_index,
                                     uint64_t stride = 1);

/// Clamps to [low, high], whole numbers within ±2^22, and rounds, ties to even.
inline float clamp_and_round(float value, float low, float high) {
  const float raised = value < low ? low : value;  // one bound after the other: a maximum and a minimum
  const float clamped = raised > high ? high : raised;
  constexpr float kMagic = 0x1.8p23f;  // numbers around it are spaced by one
  return (clamped + kMagic) - kMagic;
}

}  // namespace amphora::quant
