// Any bytes as a masks section, for an architecture that the first four bytes choose: refused, or every bit
// can be asked for.
#include <cstdint>
#include <cstdlib>

#include "formats/cmf/masks.h"

namespace {

using amphora::cmf::MaskBits;

void count_bits(const MaskBits& bits) {
  uint64_t whole = 0;
  for (uint64_t row = 0; row < bits.rows() && row < 4096; ++row) {
    uint64_t set = 0;
    for (uint64_t bit = 0; bit < bits.width(); ++bit) set += bits.test(row, bit) ? 1 : 0;
    if (set != bits.count(row)) std::abort();  // a bit behind the last one that means something
    whole += set;
  }
  if (bits.rows() <= 4096 && whole != bits.count()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const amphora::cmf::ArchDimensions arch{.hidden_size = 4,
                                          .intermediate_size = data[0],
                                          .num_layers = data[1] % 8u,
                                          .num_attention_heads = data[2],
                                          .num_loops = 1 + data[3] % 4u,
                                          .heads_per_layer = {},
                                          .num_experts = data[3] >> 4};
  const amphora::Bytes section{reinterpret_cast<const std::byte*>(data + 4), size - 4};
  const bool loop_masks = (data[3] & 8) != 0;
  const auto masks = amphora::cmf::decode_masks(section, 128, arch, loop_masks);
  if (!masks) {
    if (masks.error().offset < 128 || masks.error().offset > 128 + section.size()) std::abort();
    return 0;
  }
  for (const amphora::cmf::Mask& mask : masks->masks) {
    if (masks->find(mask.name) != &mask) std::abort();
    for (const MaskBits* bits : {&mask.ffn, &mask.heads, &mask.gates, &mask.experts}) count_bits(*bits);
  }
  const auto padding = amphora::cmf::find_masks_padding_fault(section, *masks);
  if (padding && (*padding >= section.size() || section[*padding] == std::byte{0})) std::abort();
  return 0;
}
