// Scale ladders of q4tp and q2tp: per row 32 scales in geometric steps, per group a 5-bit code that picks
// one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "quant/layout.h"

namespace amphora::quant {

inline constexpr uint64_t kRungs = 32;
inline constexpr uint64_t kCodeBits = 5;
inline constexpr uint64_t kParameterBytes = 4;  ///< `f16 low`, `f16 step` of a row

/// 2^x for the values of f16, by the operations that the format page prescribes: it is the same everywhere,
/// but not correctly rounded.
float ladder_exp2(float x);

/// The scales of a row: each is the one before times 2^step, rounded to f32.
std::array<float, kRungs> ladder(float low, float step);

/// Bytes of a row's codes.
uint64_t code_bytes_per_row(Shape shape);

/// Payload: `group_bytes` of weights for every group, the parameters of all rows, the codes of all rows.
std::optional<uint64_t> ladder_payload_bytes(Shape shape, uint64_t group_bytes);
Status check_ladder_payload(Bytes payload, Shape shape, uint64_t group_bytes);

}  // namespace amphora::quant
