// Bit rows of masks to lists per visit: see task_mask.h.
#include "package/task_mask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "formats/cmf/header.h"
#include "formats/cmf/masks.h"

namespace amphora {
namespace {

/// One byte per bit; empty if all are set.
std::vector<uint8_t> unpack(const cmf::MaskBits& bits, uint64_t row, uint64_t width) {
  std::vector<uint8_t> live(width);
  for (uint64_t bit = 0; bit < width; ++bit) live[bit] = bits.test(row, bit) ? 1 : 0;
  if (std::ranges::find(live, 0) == live.end()) live.clear();
  return live;
}

LayerRestriction restriction_of(const cmf::Masks& masks, const cmf::Mask& mask,
                                const cmf::ArchDimensions& arch, uint32_t layer, uint32_t pass) {
  LayerRestriction restriction;
  restriction.skipped = !mask.gates.test(0, layer);
  restriction.neurons = unpack(mask.ffn, masks.ffn_row(layer, pass), mask.ffn.width());
  // Rows of heads are for the first pass, as the reference applies them; gates and experts for every pass.
  if (pass == 0) restriction.heads = unpack(mask.heads, layer, arch.heads_of(layer));
  if (mask.has_expert_fields) restriction.experts = unpack(mask.experts, layer, mask.experts.width());
  return restriction;
}

}  // namespace

bool LayerRestriction::leaves_nothing_out() const {
  return !skipped && neurons.empty() && heads.empty() && experts.empty();
}

Result<TaskMask> find_task_mask(const Package& package, std::string_view name) {
  if (package.masks.empty())
    return fail(Fault::kUsage,
                fmt::format("{} has no task masks, so there is no task '{}'", package.path.string(), name));
  const cmf::ArchDimensions arch = cmf::dimensions_of(package.header);
  const auto masks = cmf::decode_masks(package.masks, 0, arch, package.loop_masks);
  if (!masks) return std::unexpected(cmf::to_error(masks.error()));
  const cmf::Mask* mask = masks->find(name);
  if (mask == nullptr) {
    std::vector<std::string_view> names;
    for (const cmf::Mask& each : masks->masks) names.push_back(each.name);
    return fail(Fault::kUsage,
                fmt::format("there is no task '{}' in {}, only {}", name, package.path.string(),
                            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  TaskMask task;
  task.name = mask->name;
  task.measured = mask->measured;
  for (uint32_t pass = 0; pass < arch.num_loops; ++pass)
    for (uint32_t layer = 0; layer < arch.num_layers; ++layer)
      task.visits.push_back(restriction_of(*masks, *mask, arch, layer, pass));
  return task;
}

}  // namespace amphora
