// Which files of a Hugging Face directory hold the weights.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "amphora/result.h"
#include "formats/safetensors/directory.h"

namespace amphora::package {

/// Which safetensors files make the model, and which of them holds which tensor.
struct HfWeights {
  std::vector<std::string> files;
  std::unordered_map<std::string, std::string> file_of;  ///< by tensor name as stored; empty without an index
};

/// The files that the index names, or model.safetensors. Missing shards are listed before any shard is opened
/// (kNotFound); weights that are only there as pickle files are kUnsupported. Safetensors files that do not
/// belong to the model go to `notes`.
Result<HfWeights> find_hf_weights(const std::filesystem::path& directory, std::vector<std::string>& notes);

/// What a shard holds against what the index says of it: `IndexMismatch`.
Status check_against_index(const HfWeights& weights, const std::string& file,
                           const safetensors::Directory& directory);

}  // namespace amphora::package
