// Integers to file bytes (little-endian): the twin of byte_reader.h.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "amphora/bytes.h"

namespace amphora {

template <std::unsigned_integral T>
void store_little_endian(std::byte* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(uint64_t{value} >> (8 * i));
}

/// Appends fields to a growing buffer.
class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void write(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    store_little_endian(bytes_.data() + bytes_.size() - sizeof(T), value);
  }
  void write_bytes(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void write_zeros(uint64_t count) { bytes_.resize(bytes_.size() + static_cast<size_t>(count)); }
  /// Zeros up to the next multiple of `alignment`, counted from the buffer's start.
  void align(uint64_t alignment) {
    const uint64_t over = bytes_.size() % alignment;
    if (over != 0) write_zeros(alignment - over);
  }

  uint64_t size() const { return bytes_.size(); }
  Bytes bytes() const { return bytes_; }
  ByteVector take() && { return std::move(bytes_); }

 private:
  ByteVector bytes_;
};

}  // namespace amphora
