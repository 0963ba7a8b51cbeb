// Sixteen float lanes in plain C++: the meaning of every lane operation.
//
// The bodies in body/*.h are written once over these operations and compiled for each variant; since every
// operation rounds once and in the same way everywhere, the variants give the same bits. lanes_avx2.h and
// lanes_avx512.h hold the same list.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

#define AMPHORA_VARIANT scalar
#define AMPHORA_TARGET
#define AMPHORA_INLINE inline

namespace amphora::kernels::AMPHORA_VARIANT {

inline constexpr size_t kLanes = 16;
/// Register tiles that suit the variant: rows and tokens of a dense product, tokens of an exact one, heads
/// and vectors of attention.
inline constexpr size_t kDenseRows = 1, kDenseTokens = 1, kExactTokens = 1;
inline constexpr size_t kAttentionHeads = 1, kAttentionKeys = 1, kAttentionVectors = 1;

struct Lanes {
  float at[kLanes];
};

template <class F>
Lanes each(F function) {
  Lanes result;
  for (size_t lane = 0; lane < kLanes; ++lane) result.at[lane] = function(lane);
  return result;
}

inline Lanes broadcast(float value) {
  return each([&](size_t) { return value; });
}
inline Lanes load(const float* from) {
  return each([&](size_t i) { return from[i]; });
}
/// The first `count` lanes, the others 0; nothing beyond them is touched.
inline Lanes load_first(const float* from, size_t count) {
  return each([&](size_t i) { return i < count ? from[i] : 0.0f; });
}
inline void store(float* to, Lanes a) { std::memcpy(to, a.at, sizeof a.at); }
inline void store_first(float* to, Lanes a, size_t count) { std::memcpy(to, a.at, count * sizeof(float)); }

/// Sixteen elements of a payload, on any alignment.
inline Lanes load_f32(const std::byte* from) {
  Lanes result;
  std::memcpy(result.at, from, sizeof result.at);
  return result;
}
inline Lanes load_f16(const std::byte* from) {
  uint16_t halves[kLanes];
  std::memcpy(halves, from, sizeof halves);
  return each([&](size_t i) { return half_to_float(halves[i]); });
}
inline Lanes load_bf16(const std::byte* from) {
  uint16_t halves[kLanes];
  std::memcpy(halves, from, sizeof halves);
  return each([&](size_t i) { return bfloat16_to_float(halves[i]); });
}
inline Lanes load_i8(const int8_t* from) {
  return each([&](size_t i) { return static_cast<float>(from[i]); });
}
inline void store_f16(std::byte* to, Lanes a) {
  uint16_t halves[kLanes];
  for (size_t i = 0; i < kLanes; ++i) halves[i] = float_to_half(a.at[i]);
  std::memcpy(to, halves, sizeof halves);
}

inline Lanes add(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] + b.at[i]; });
}
inline Lanes sub(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] - b.at[i]; });
}
inline Lanes mul(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] * b.at[i]; });
}
inline Lanes div(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] / b.at[i]; });
}
/// a · b + c, rounded once.
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return each([&](size_t i) { return std::fma(a.at[i], b.at[i], c.at[i]); });
}
/// The larger; b if either is NaN.
inline Lanes max(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
}
/// The smaller; b if either is NaN.
inline Lanes min(Lanes a, Lanes b) {
  return each([&](size_t i) { return a.at[i] < b.at[i] ? a.at[i] : b.at[i]; });
}
inline Lanes absolute(Lanes a) {
  return each([&](size_t i) { return std::fabs(a.at[i]); });
}
/// `magnitude` with the sign of `sign`.
inline Lanes with_sign(Lanes magnitude, Lanes sign) {
  return each([&](size_t i) { return std::copysign(magnitude.at[i], sign.at[i]); });
}
/// a < b ? yes : no.
inline Lanes select_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
  return each([&](size_t i) { return a.at[i] < b.at[i] ? yes.at[i] : no.at[i]; });
}
/// The larger of two floats that are not negative, a NaN above all of them: it must not be lost.
inline Lanes max_magnitude(Lanes a, Lanes b) {
  return each([&](size_t i) {
    return std::bit_cast<uint32_t>(a.at[i]) > std::bit_cast<uint32_t>(b.at[i]) ? a.at[i] : b.at[i];
  });
}
/// a · 2^n, where `shifted` is n + kRoundingShift; in two steps, so that the result may be subnormal or
/// overflow.
inline constexpr float kRoundingShift = 0x1.8p23f;
inline Lanes times_power_of_two(Lanes a, Lanes shifted) {
  return each([&](size_t i) {
    const auto n = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted.at[i]) -
                                        std::bit_cast<uint32_t>(kRoundingShift));
    const int32_t half = n >> 1;
    const float first = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
    const float second = std::bit_cast<float>(static_cast<uint32_t>(n - half + 127) << 23);
    return a.at[i] * first * second;
  });
}

/// The sum of the lanes, always in this tree.
inline float sum(Lanes a) {
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i) a.at[i] += a.at[i + width];
  return a.at[0];
}
inline float largest(Lanes a) {
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i) a.at[i] = a.at[i] > a.at[i + width] ? a.at[i] : a.at[i + width];
  return a.at[0];
}
inline float largest_magnitude(Lanes a) {
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i)
      if (std::bit_cast<uint32_t>(a.at[i]) < std::bit_cast<uint32_t>(a.at[i + width]))
        a.at[i] = a.at[i + width];
  return a.at[0];
}
/// Rounds values within ±127 to int8, ties to even; gives the sum of the codes.
inline int32_t store_i8(int8_t* to, Lanes a) {
  int32_t total = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    to[i] = static_cast<int8_t>(std::lrint(a.at[i]));
    total += to[i];
  }
  return total;
}
inline bool any_equal(Lanes a, Lanes b) {
  for (size_t i = 0; i < kLanes; ++i)
    if (a.at[i] == b.at[i]) return true;
  return false;
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
