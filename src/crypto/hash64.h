// hash64: the 64-bit checksum of CMF files (docs/formats/cmf.md §8). It finds damage; it is no cryptographic
// hash.
#pragma once

#include <array>
#include <cstdint>

#include "amphora/bytes.h"

namespace amphora::crypto {

/// Streaming form: bytes in any portions give the same value.
class Hash64 {
 public:
  void update(Bytes bytes);
  /// The hash of all bytes so far.
  uint64_t value() const;

 private:
  void mix_words(const std::byte* at, uint64_t words);

  uint64_t mixed_ = 0;
  uint64_t salt_ = 0;  ///< of the next word: its index · the golden ratio, modulo 2^64
  uint64_t bytes_ = 0;
  std::array<std::byte, 8> partial_{};  ///< the bytes_ % 8 bytes that are no whole word yet
};

/// 0 for no bytes.
uint64_t hash64(Bytes bytes);

}  // namespace amphora::crypto
