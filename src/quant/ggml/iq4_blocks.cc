// ggml's IQ4 types: four-bit indices into a fixed table of 16 values that lie denser around zero.
#include <array>

#include "quant/ggml/block_reading.h"
#include "quant/ggml/blocks.h"

namespace amphora::quant::ggml {
namespace {

/// ggml's kvalues_iq4nl.
constexpr std::array<float, 16> kValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

void decode_group(float scale, const std::byte* indices, float* out) {
  for (size_t i = 0; i < 16; ++i) {
    out[i] = scale * kValues[static_cast<size_t>(byte_at(indices, i) & 15)];
    out[i + 16] = scale * kValues[static_cast<size_t>(byte_at(indices, i) >> 4)];
  }
}

}  // namespace

// d, indices[16]
void decode_iq4_nl(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 18, out += 32) decode_group(read_half(block), block + 2, out);
}

// d, upper two bits of the eight group scales (u16), their low nibbles[4], indices[128]; scales are stored
// plus 32
void decode_iq4_xs(const std::byte* block, size_t count, float* out) {
  for (; count > 0; --count, block += 136) {
    const float d = read_half(block);
    const int high = load_little_endian<uint16_t>(block + 2);
    for (size_t group = 0; group < 8; ++group, out += 32) {
      const int low = byte_at(block + 4, group / 2) >> (4 * (group % 2)) & 15;
      const int scale = (low | (high >> (2 * group) & 3) << 4) - 32;
      decode_group(d * static_cast<float>(scale), block + 8 + 16 * group, out);
    }
  }
}

}  // namespace amphora::quant::ggml
