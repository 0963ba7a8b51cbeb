// IEEE 754 binary16 and bfloat16 to and from binary32: exact, subnormals included, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace amphora {

inline constexpr float kHalfMax = 65504.0f;
inline constexpr float kHalfMinNormal = 0x1p-14f;

constexpr float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24, exact in binary32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Rounds to nearest, ties to even; what lies beyond the largest finite half becomes infinity; NaN stays NaN.
constexpr uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x7F800000u) {  // infinity or NaN
    const uint32_t payload = magnitude > 0x7F800000u ? 0x200u | ((magnitude >> 13) & 0x3FFu) : 0;
    return static_cast<uint16_t>(sign | 0x7C00u | payload);
  }
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // from 65520 up: infinity
  if (magnitude < 0x33000001u) return static_cast<uint16_t>(sign);             // up to 2^-25: zero
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 113) {  // subnormal half: shift the full 24-bit significand into units of 2^-24
    const uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    const uint32_t shift = 126 - exponent;  // 14 … 24
    const uint32_t kept = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t half_way = 1u << (shift - 1);
    const uint32_t up = rest > half_way || (rest == half_way && (kept & 1u)) ? 1u : 0u;
    return static_cast<uint16_t>(sign | (kept + up));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

constexpr float bfloat16_to_float(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
constexpr uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace amphora
