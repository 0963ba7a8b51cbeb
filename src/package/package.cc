// What a Package and its ModelSpec answer about themselves.
#include "amphora/package.h"

#include <algorithm>

namespace amphora {

const PackageTensor* Package::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &PackageTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

bool ModelSpec::is_local(uint32_t layer) const {
  if (layer >= layer_types.size()) return false;
  if (layer_types[layer] == LayerType::kSlidingAttention) return true;
  if (layer_types[layer] != LayerType::kFullAttention || !sliding_window || !sliding_window_pattern)
    return false;
  // Older files say it with the pattern alone; where tags are used, they decide.
  if (std::ranges::find(layer_types, LayerType::kSlidingAttention) != layer_types.end()) return false;
  return (uint64_t{layer} + 1) % *sliding_window_pattern != 0;
}

}  // namespace amphora
