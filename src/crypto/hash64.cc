// hash64: the 64-bit checksum of CMF files.
#include "crypto/hash64.h"

#include <algorithm>

#include "base/byte_reader.h"

namespace amphora::crypto {
namespace {

constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;

constexpr uint64_t fmix64(uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCD;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33);
}

}  // namespace

void Hash64::mix_words(const std::byte* at, uint64_t words) {
  uint64_t salt = salt_;
  uint64_t lanes[4] = {mixed_, 0, 0,
                       0};  // words do not depend on one another: four chains keep the multiplier busy
  uint64_t i = 0;
  for (; i + 4 <= words; i += 4) {
    for (uint64_t lane = 0; lane < 4; ++lane) {
      lanes[lane] ^= fmix64(load_little_endian<uint64_t>(at + 8 * (i + lane))) ^ salt;
      salt += kGoldenRatio;
    }
  }
  for (; i < words; ++i) {
    lanes[0] ^= fmix64(load_little_endian<uint64_t>(at + 8 * i)) ^ salt;
    salt += kGoldenRatio;
  }
  mixed_ = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
  salt_ = salt;
}

void Hash64::update(Bytes bytes) {
  const uint64_t begun = bytes_ % 8;
  bytes_ += bytes.size();
  if (begun != 0) {
    const size_t more = std::min<size_t>(8 - begun, bytes.size());
    std::copy_n(bytes.begin(), more, partial_.begin() + static_cast<ptrdiff_t>(begun));
    if (begun + more < 8) return;
    mix_words(partial_.data(), 1);
    bytes = bytes.subspan(more);
  }
  const size_t words = bytes.size() / 8;
  mix_words(bytes.data(), words);
  std::ranges::copy(bytes.subspan(8 * words), partial_.begin());
}

uint64_t Hash64::value() const {
  Hash64 last = *this;
  if (bytes_ % 8 != 0) {
    std::fill(last.partial_.begin() + static_cast<ptrdiff_t>(bytes_ % 8), last.partial_.end(), std::byte{0});
    last.mix_words(last.partial_.data(), 1);
  }
  return fmix64(last.mixed_ ^ bytes_);
}

uint64_t hash64(Bytes bytes) {
  Hash64 hash;
  hash.update(bytes);
  return hash.value();
}

}  // namespace amphora::crypto
