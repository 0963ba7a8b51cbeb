// Types whose blocks are single numbers.
#include <bit>

#include "quant/ggml/block_reading.h"
#include "quant/ggml/blocks.h"

namespace amphora::quant::ggml {

void decode_f32(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = std::bit_cast<float>(load_little_endian<uint32_t>(blocks + 4 * i));
}

void decode_f16(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = read_half(blocks + 2 * i);
}

void decode_bf16(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = bfloat16_to_float(load_little_endian<uint16_t>(blocks + 2 * i));
}

void decode_f64(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(std::bit_cast<double>(load_little_endian<uint64_t>(blocks + 8 * i)));
}

void decode_i8(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(signed_byte_at(blocks, i));
}

void decode_i16(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(std::bit_cast<int16_t>(load_little_endian<uint16_t>(blocks + 2 * i)));
}

void decode_i32(const std::byte* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(std::bit_cast<int32_t>(load_little_endian<uint32_t>(blocks + 4 * i)));
}

}  // namespace amphora::quant::ggml
