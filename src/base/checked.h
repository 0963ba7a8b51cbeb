// Arithmetic on numbers that came out of a file: overflow is an empty optional, never a wrapped value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace amphora {

constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Product of a shape's dimensions; 1 for a scalar. Empty if any order of multiplication of its nonzero
/// dimensions overflows, so [0, 2^63, 4] overflows too: a size that large is never honest.
constexpr std::optional<uint64_t> checked_product(std::span<const uint64_t> shape) {
  uint64_t product = 1;
  bool empty = false;
  for (const uint64_t dimension : shape) {
    if (dimension == 0) {
      empty = true;
      continue;
    }
    const auto next = checked_mul(product, dimension);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

/// The least multiple of `alignment` (a power of two) that is not below `value`.
constexpr std::optional<uint64_t> checked_align(uint64_t value, uint64_t alignment) {
  const auto raised = checked_add(value, alignment - 1);
  if (!raised) return std::nullopt;
  return *raised & ~(alignment - 1);
}

/// Whether [offset, offset + length) lies within [0, size).
constexpr bool lies_within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;  // never offset + length: that wraps
}

constexpr uint64_t divide_rounding_up(uint64_t value, uint64_t by) { return value / by + (value % by != 0); }

}  // namespace amphora
