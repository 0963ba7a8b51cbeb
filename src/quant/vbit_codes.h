// Codes of 3 to 8 bits, packed from the most significant bit: a group of 32 is four octets of codes, and an
// octet of b-bit codes is b whole bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "quant/layout.h"

namespace amphora::quant {

/// The widths that the format has, in ascending order.
inline constexpr std::array<uint8_t, 5> kVbitWidths = {3, 4, 5, 6, 8};

/// Bytes of some consecutive columns, a multiple of 8, whose codes are `width` bits wide.
constexpr uint64_t packed_bytes(uint64_t columns, uint64_t width) { return columns / 8 * width; }

/// L: the code of weight zero.
constexpr int vbit_zero_code(unsigned width) { return (1 << (width - 1)) - 1; }

template <unsigned kWidth>
void decode_vbit_group(const std::byte* packed, float scale, std::span<float, kGroup> out) {
  constexpr uint64_t kMask = (1u << kWidth) - 1;
  for (uint64_t octet = 0; octet < kGroup / 8; ++octet) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < kWidth; ++i) bits = bits << 8 | std::to_integer<uint64_t>(*packed++);
    for (unsigned i = 0; i < 8; ++i) {
      const auto code = static_cast<int>(bits >> (7 - i) * kWidth & kMask);
      out[octet * 8 + i] = static_cast<float>(code - vbit_zero_code(kWidth)) * scale;
    }
  }
}

template <unsigned kWidth>
void encode_vbit_group(std::span<const float, kGroup> weights, float scale, std::byte* packed) {
  constexpr int kZero = vbit_zero_code(kWidth);
  for (uint64_t octet = 0; octet < kGroup / 8; ++octet) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8; ++i) {
      const float step = clamp_and_round(weights[octet * 8 + i] / scale, static_cast<float>(-kZero),
                                         static_cast<float>(kZero + 1));
      bits = bits << kWidth | static_cast<uint64_t>(static_cast<int>(step) + kZero);
    }
    for (unsigned i = kWidth; i-- > 0;) *packed++ = static_cast<std::byte>(bits >> 8 * i);
  }
}

/// Calls `work` with the width as a template argument; another width than those of the format counts as 8.
template <class Work>
decltype(auto) with_vbit_width(uint8_t width, Work work) {
  switch (width) {
    case 3: return work.template operator()<3>();
    case 4: return work.template operator()<4>();
    case 5: return work.template operator()<5>();
    case 6: return work.template operator()<6>();
    default: return work.template operator()<8>();
  }
}

}  // namespace amphora::quant
