// ggml's first block types: 32 elements share one f16 scale d and, in the _1 types, one f16 offset m. A byte
// of `low` holds the low four bits of elements i and i + 16; the Q5 types keep the fifth bits of all in one
// 32-bit word.
#include "quant/ggml/block_reading.h"
#include "quant/ggml/blocks.h"

namespace amphora::quant::ggml {
namespace {

constexpr size_t kElements = 32;

}  // namespace

void decode_q4_0(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 18, out += kElements) {
    const float d = read_half(block);
    const std::byte* low = block + 2;
    for (size_t i = 0; i < kElements / 2; ++i) {
      out[i] = static_cast<float>((byte_at(low, i) & 15) - 8) * d;
      out[i + 16] = static_cast<float>((byte_at(low, i) >> 4) - 8) * d;
    }
  }
}

void decode_q4_1(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 20, out += kElements) {
    const float d = read_half(block);
    const float m = read_half(block + 2);
    const std::byte* low = block + 4;
    for (size_t i = 0; i < kElements / 2; ++i) {
      out[i] = static_cast<float>(byte_at(low, i) & 15) * d + m;
      out[i + 16] = static_cast<float>(byte_at(low, i) >> 4) * d + m;
    }
  }
}

void decode_q5_0(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 22, out += kElements) {
    const float d = read_half(block);
    const auto fifth = load_little_endian<uint32_t>(block + 2);
    const std::byte* low = block + 6;
    for (uint32_t i = 0; i < kElements / 2; ++i) {
      const int first = (byte_at(low, i) & 15) | static_cast<int>((fifth >> i & 1) << 4);
      const int second = (byte_at(low, i) >> 4) | static_cast<int>((fifth >> (i + 16) & 1) << 4);
      out[i] = static_cast<float>(first - 16) * d;
      out[i + 16] = static_cast<float>(second - 16) * d;
    }
  }
}

void decode_q5_1(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 24, out += kElements) {
    const float d = read_half(block);
    const float m = read_half(block + 2);
    const auto fifth = load_little_endian<uint32_t>(block + 4);
    const std::byte* low = block + 8;
    for (uint32_t i = 0; i < kElements / 2; ++i) {
      const int first = (byte_at(low, i) & 15) | static_cast<int>((fifth >> i & 1) << 4);
      const int second = (byte_at(low, i) >> 4) | static_cast<int>((fifth >> (i + 16) & 1) << 4);
      out[i] = static_cast<float>(first) * d + m;
      out[i + 16] = static_cast<float>(second) * d + m;
    }
  }
}

void decode_q8_0(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 34, out += kElements) {
    const float d = read_half(block);
    for (size_t i = 0; i < kElements; ++i) out[i] = static_cast<float>(signed_byte_at(block + 2, i)) * d;
  }
}

}  // namespace amphora::quant::ggml
