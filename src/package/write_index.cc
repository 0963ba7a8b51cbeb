// Bit rows of masks to lists of groups and heads.
#include "package/write_index.h"

#include <fmt/format.h>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "formats/cmf/masks.h"

namespace amphora {
namespace {

constexpr uint32_t kGroup = 32;
constexpr uint64_t kMostGroups = uint64_t{1} << 16, kMostHeads = uint64_t{1} << 8;

bool group_is_active(const cmf::Masks& masks, const cmf::Mask& mask, uint32_t passes, uint32_t layer,
                     uint64_t group) {
  for (uint32_t pass = 0; pass < passes; ++pass)
    for (uint64_t neuron = group * kGroup; neuron < (group + 1) * kGroup; ++neuron)
      if (mask.ffn.test(masks.ffn_row(layer, pass), neuron)) return true;
  return false;
}

void write_entry(const cmf::Masks& masks, const cmf::Mask& mask, const cmf::ArchDimensions& arch,
                 uint32_t layer, ByteWriter& out) {
  const uint32_t passes = masks.loop_masks ? arch.num_loops : 1;
  std::vector<uint16_t> groups;
  for (uint64_t group = 0; group < divide_rounding_up(arch.intermediate_size, kGroup); ++group)
    if (group_is_active(masks, mask, passes, layer, group)) groups.push_back(static_cast<uint16_t>(group));
  std::vector<uint8_t> heads;
  for (uint32_t head = 0; head < arch.heads_of(layer); ++head)
    if (mask.heads.test(layer, head)) heads.push_back(static_cast<uint8_t>(head));
  out.write(mask.task_id);
  out.write(layer);
  out.write(static_cast<uint32_t>(groups.size()));
  out.write(static_cast<uint32_t>(heads.size()));
  for (const uint16_t group : groups) out.write(group);
  for (const uint8_t head : heads) out.write(head);
  out.align(4);
}

}  // namespace

Result<ByteVector> build_sparse_index(const Package& package) {
  if (package.masks.empty())
    return fail(Fault::kRefused,
                fmt::format("{} has no task masks to build an index from", package.path.string()));
  const cmf::ArchDimensions arch = cmf::dimensions_of(package.header);
  uint64_t most_heads = arch.num_attention_heads;
  for (const uint32_t heads : arch.heads_per_layer) most_heads = std::max<uint64_t>(most_heads, heads);
  if (most_heads > kMostHeads || divide_rounding_up(arch.intermediate_size, kGroup) > kMostGroups)
    return fail(Fault::kUnsupported, fmt::format("a sparse index cannot number {} heads and {} neurons",
                                                 most_heads, arch.intermediate_size));
  const auto masks = cmf::decode_masks(package.masks, 0, arch, package.loop_masks);
  if (!masks) return std::unexpected(cmf::to_error(masks.error()));

  ByteWriter entries;
  uint32_t count = 0;
  for (const cmf::Mask& mask : masks->masks) {
    for (uint32_t layer = 0; layer < arch.num_layers; ++layer) {
      if (!mask.gates.test(0, layer)) continue;
      write_entry(*masks, mask, arch, layer, entries);
      ++count;
    }
  }
  ByteWriter section;
  section.write(count);
  section.write(uint32_t{0});
  section.write_bytes(entries.bytes());
  return std::move(section).take();
}

}  // namespace amphora
