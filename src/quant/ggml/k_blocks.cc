// ggml's K types: 256 elements in groups of 16 or 32; the group scales are small integers under one float
// scale d (and the group offsets under one dmin). Field order in a block is that of ggml's structs.
#include <array>

#include "quant/ggml/block_reading.h"
#include "quant/ggml/blocks.h"

namespace amphora::quant::ggml {
namespace {

constexpr size_t kElements = 256;

struct ScaleAndOffset {
  int scale, offset;
};

/// Six-bit scales and offsets of eight groups in 12 bytes (Q4_K, Q5_K): groups 0-3 in the low six bits of
/// bytes 0-3 and 4-7, groups 4-7 as nibbles of bytes 8-11 whose upper two bits are on top of bytes 0-7.
ScaleAndOffset scale_and_offset(const std::byte* packed, size_t group) {
  if (group < 4) return {byte_at(packed, group) & 63, byte_at(packed, group + 4) & 63};
  return {(byte_at(packed, group + 4) & 15) | (byte_at(packed, group - 4) >> 6 << 4),
          (byte_at(packed, group + 4) >> 4) | (byte_at(packed, group) >> 6 << 4)};
}

/// Six-bit scales of 16 groups in 12 bytes (Q3_K), stored plus 32: low nibbles in bytes 0-7, the upper two
/// bits in bytes 8-11.
std::array<int, 16> q3_scales(const std::byte* packed) {
  std::array<int, 16> scales;
  for (size_t group = 0; group < 16; ++group) {
    const int low = group < 8 ? byte_at(packed, group) & 15 : byte_at(packed, group - 8) >> 4;
    const int high = byte_at(packed, 8 + group % 4) >> (2 * (group / 4)) & 3;
    scales[group] = (low | high << 4) - 32;
  }
  return scales;
}

}  // namespace

// scales[16] (scale | offset << 4), quants[64], d, dmin
void decode_q2_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 84) {
    const std::byte* scales = block;
    const float d = read_half(block + 80);
    const float dmin = read_half(block + 82);
    for (size_t half = 0; half < 2; ++half) {
      const std::byte* quants = block + 16 + 32 * half;
      for (int shift = 0; shift < 8; shift += 2) {
        for (size_t part = 0; part < 32; part += 16, ++scales, out += 16) {
          const float scale = d * static_cast<float>(byte_at(scales, 0) & 15);
          const float offset = dmin * static_cast<float>(byte_at(scales, 0) >> 4);
          for (size_t i = 0; i < 16; ++i)
            out[i] = scale * static_cast<float>(byte_at(quants, part + i) >> shift & 3) - offset;
        }
      }
    }
  }
}

// high bits[32], quants[64], scales[12], d; a high bit that is not set subtracts 4
void decode_q3_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 110) {
    const std::byte* high = block;
    const std::array<int, 16> scales = q3_scales(block + 96);
    const float d = read_half(block + 108);
    size_t group = 0;
    for (size_t half = 0; half < 2; ++half) {
      const std::byte* quants = block + 32 + 32 * half;
      for (int step = 0; step < 4; ++step) {
        const int high_shift = static_cast<int>(4 * half) + step;
        for (size_t part = 0; part < 32; part += 16, ++group, out += 16) {
          const float scale = d * static_cast<float>(scales[group]);
          for (size_t i = 0; i < 16; ++i) {
            const int low = byte_at(quants, part + i) >> (2 * step) & 3;
            const int missing = 4 - ((byte_at(high, part + i) >> high_shift & 1) << 2);
            out[i] = scale * static_cast<float>(low - missing);
          }
        }
      }
    }
  }
}

// d, dmin, scales[12], quants[128]
void decode_q4_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 144) {
    const float d = read_half(block);
    const float dmin = read_half(block + 2);
    for (size_t pair = 0; pair < 4; ++pair, out += 64) {
      const std::byte* quants = block + 16 + 32 * pair;
      const auto low = scale_and_offset(block + 4, 2 * pair);
      const auto high = scale_and_offset(block + 4, 2 * pair + 1);
      const float low_scale = d * static_cast<float>(low.scale),
                  low_offset = dmin * static_cast<float>(low.offset);
      const float high_scale = d * static_cast<float>(high.scale),
                  high_offset = dmin * static_cast<float>(high.offset);
      for (size_t i = 0; i < 32; ++i) {
        out[i] = low_scale * static_cast<float>(byte_at(quants, i) & 15) - low_offset;
        out[i + 32] = high_scale * static_cast<float>(byte_at(quants, i) >> 4) - high_offset;
      }
    }
  }
}

// d, dmin, scales[12], fifth bits[32], quants[128]
void decode_q5_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 176) {
    const float d = read_half(block);
    const float dmin = read_half(block + 2);
    const std::byte* fifth = block + 16;
    for (size_t pair = 0; pair < 4; ++pair, out += 64) {
      const std::byte* quants = block + 48 + 32 * pair;
      const auto low = scale_and_offset(block + 4, 2 * pair);
      const auto high = scale_and_offset(block + 4, 2 * pair + 1);
      const float low_scale = d * static_cast<float>(low.scale),
                  low_offset = dmin * static_cast<float>(low.offset);
      const float high_scale = d * static_cast<float>(high.scale),
                  high_offset = dmin * static_cast<float>(high.offset);
      for (size_t i = 0; i < 32; ++i) {
        const int fifths = byte_at(fifth, i) >> (2 * pair);
        out[i] = low_scale * static_cast<float>((byte_at(quants, i) & 15) | (fifths & 1) << 4) - low_offset;
        out[i + 32] =
            high_scale * static_cast<float>((byte_at(quants, i) >> 4) | (fifths >> 1 & 1) << 4) - high_offset;
      }
    }
  }
}

// low nibbles[128], upper two bits[64], scales[16] (signed), d
void decode_q6_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 210) {
    const float d = read_half(block + 208);
    for (size_t half = 0; half < 2; ++half, out += 128) {
      const std::byte* low = block + 64 * half;
      const std::byte* high = block + 128 + 32 * half;
      const std::byte* scales = block + 192 + 8 * half;
      for (size_t quarter = 0; quarter < 4; ++quarter) {  // 32 elements: two groups of 16
        const std::byte* nibbles = low + 32 * (quarter % 2);
        const int low_shift = quarter < 2 ? 0 : 4;
        const int high_shift = static_cast<int>(2 * quarter);
        for (size_t part = 0; part < 32; part += 16) {
          const float scale = d * static_cast<float>(signed_byte_at(scales, 2 * quarter + part / 16));
          for (size_t i = part; i < part + 16; ++i) {
            const int value = (byte_at(nibbles, i) >> low_shift & 15) | (byte_at(high, i) >> high_shift & 3)
                                                                            << 4;
            out[32 * quarter + i] = scale * static_cast<float>(value - 32);
          }
        }
      }
    }
  }
}

// d (f32), quants[256] (signed), sums of groups that only dot products use
void decode_q8_k(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 292, out += kElements) {
    const float d = std::bit_cast<float>(load_little_endian<uint32_t>(block));
    for (size_t i = 0; i < kElements; ++i) out[i] = d * static_cast<float>(signed_byte_at(block + 4, i));
  }
}

}  // namespace amphora::quant::ggml
