// Small readers that the block decoders share.
#pragma once

#include <cstdint>

#include "base/byte_reader.h"
#include "base/half.h"

namespace amphora::quant::ggml {

inline float read_half(const std::byte* at) { return half_to_float(load_little_endian<uint16_t>(at)); }

// Blocks are read as unsigned bytes: what follows is integer arithmetic on them.
inline int byte_at(const std::byte* bytes, size_t index) { return std::to_integer<int>(bytes[index]); }
inline int signed_byte_at(const std::byte* bytes, size_t index) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(bytes[index]));
}

}  // namespace amphora::quant::ggml
