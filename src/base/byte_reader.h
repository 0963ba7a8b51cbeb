// The only place where file bytes become integers (little-endian).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "amphora/bytes.h"

namespace amphora {

/// Reads a record from front to back. After the first short read all reads give zero and ok() stays false: a
/// decoder reads down its record and asks once.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : rest_(bytes), total_(bytes.size()) {}

  template <std::unsigned_integral T>
  T read() {
    const Bytes field = take(sizeof(T));
    uint64_t value = 0;
    for (size_t i = 0; i < field.size(); ++i) value |= std::to_integer<uint64_t>(field[i]) << (8 * i);
    return static_cast<T>(value);
  }

  float read_f32() { return std::bit_cast<float>(read<uint32_t>()); }
  double read_f64() { return std::bit_cast<double>(read<uint64_t>()); }

  /// The next `count` bytes, or none (and ok() turns false) if fewer are left.
  Bytes take(uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const Bytes taken = rest_.first(static_cast<size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  bool ok() const { return ok_; }
  uint64_t offset() const { return total_ - rest_.size(); }
  uint64_t left() const { return rest_.size(); }

 private:
  Bytes rest_;
  uint64_t total_;
  bool ok_ = true;
};

/// A little-endian integer at `at`; the caller has checked that it lies within `bytes`.
template <std::unsigned_integral T>
T load_little_endian(const std::byte* at) {
  if constexpr (std::endian::native == std::endian::little) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  } else {
    return ByteReader(Bytes(at, sizeof(T))).read<T>();
  }
}

}  // namespace amphora
