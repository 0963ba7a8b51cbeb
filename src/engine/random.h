// Random numbers by counter: number `index` of a seed, without state. The same on every machine.
#pragma once

#include <cstdint>

namespace amphora::engine {

/// One step of SplitMix64 (Steele, Lea, Flood 2014): a bijection that scrambles its argument.
constexpr uint64_t scramble(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

/// Uniform in [0, 1): 53 bits that depend on both arguments alone.
constexpr double uniform(uint64_t seed, uint64_t index) {
  return static_cast<double>(scramble(scramble(seed) ^ index) >> 11) * 0x1p-53;
}

}  // namespace amphora::engine
