// Any bytes as a sparse index, for an architecture that the first three bytes choose: refused, or every entry
// can be read and packs to the same bytes again.
#include <cstdint>
#include <cstdlib>

#include "formats/cmf/sparse_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  amphora::cmf::ArchDimensions arch{.hidden_size = 4,
                                    .intermediate_size = data[0] * 32u,
                                    .num_layers = data[1] % 8u,
                                    .num_attention_heads = data[2],
                                    .num_loops = 1,
                                    .heads_per_layer = {},
                                    .num_experts = {}};
  if (data[1] >= 128) arch.heads_per_layer.assign(arch.num_layers, data[2] / 2u);
  const amphora::Bytes section{reinterpret_cast<const std::byte*>(data + 3), size - 3};
  const auto entries = amphora::cmf::decode_index(section, 128, arch, nullptr);
  if (!entries) {
    if (entries.error().offset < 128 || entries.error().offset > 128 + section.size()) std::abort();
    return 0;
  }
  uint64_t bytes = 8;
  for (const amphora::cmf::IndexEntry& entry : *entries) {
    for (const uint16_t group : entry.group_list())
      if (group >= data[0]) std::abort();
    for (const uint8_t head : entry.head_list())
      if (head >= arch.heads_of(entry.layer)) std::abort();
    bytes += (16 + entry.groups.size() + entry.heads.size() + 3) / 4 * 4;
  }
  if (bytes != section.size()) std::abort();
  const auto padding = amphora::cmf::find_index_padding_fault(section, *entries);
  if (padding && (*padding >= section.size() || section[*padding] == std::byte{0})) std::abort();
  return 0;
}
