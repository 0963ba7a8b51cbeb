// The index of a model that is cut into several .safetensors files: `model.safetensors.index.json`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amphora/result.h"

namespace amphora::safetensors {

struct ShardIndex {
  std::vector<std::pair<std::string, std::string>>
      weight_map;                   ///< tensor name → file name, in the index's order
  std::vector<std::string> shards;  ///< the file names, sorted, each once
};

/// Reads an index. Every file name is that of a .safetensors file in the index's own folder: a path of any
/// kind is refused (code ShardName), so that an index never names anything outside its model.
Result<ShardIndex> decode_shard_index(std::string_view text);

}  // namespace amphora::safetensors
