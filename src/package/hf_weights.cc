// Which files hold the weights: see hf_weights.h.
#include "package/hf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "formats/safetensors/shard_index.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/limits.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

std::string join(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// `of` in "model-00002-of-00003.safetensors"; empty if the name has no such part.
std::string_view shard_count_of(std::string_view name) {
  constexpr std::string_view kOf = "-of-";
  const size_t at = name.rfind(kOf);
  if (at == std::string_view::npos) return {};
  return name.substr(at + kOf.size(), name.rfind('.') - at - kOf.size());
}

Status check_shards(const fs::path& directory, const safetensors::ShardIndex& index) {
  std::vector<std::string> missing;
  for (const std::string& shard : index.shards)
    if (!is_there(directory / shard)) missing.push_back(shard);
  if (!missing.empty())
    return fail_at(
        Fault::kNotFound, "MissingShard", std::string(kIndexName), std::nullopt,
        fmt::format("{}: {} of {} weight files named by the index are missing: {} (incomplete download?)",
                    directory.string(), missing.size(), index.shards.size(), join(missing)));
  const std::string_view count = shard_count_of(index.shards.front());
  for (const std::string& shard : index.shards)
    if (shard_count_of(shard) != count)
      return fail_at(Fault::kCorrupt, "ShardName", std::string(kIndexName), std::nullopt,
                     fmt::format("the index names {} beside {}: parts of two different models",
                                 index.shards.front(), shard));
  return {};
}

}  // namespace

Result<HfWeights> find_hf_weights(const fs::path& directory, std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(std::vector<std::string> present, files_ending_in(directory, ".safetensors"));
  HfWeights weights;
  if (is_there(directory / kIndexName)) {
    AMPHORA_ASSIGN(const std::string text, read_small_file(directory / kIndexName, kMaxIndexBytes));
    const auto index = safetensors::decode_shard_index(text);
    if (!index) return in_file(kIndexName, index.error());
    AMPHORA_TRY(check_shards(directory, *index));
    weights.files = index->shards;
    weights.file_of.insert(index->weight_map.begin(), index->weight_map.end());
  } else if (is_there(directory / kSingleName)) {
    weights.files = {std::string(kSingleName)};
  } else if (!present.empty()) {
    return fail(Fault::kNotFound,
                fmt::format("{}: there is neither {} nor {}, only {} (incomplete download?)",
                            directory.string(), kSingleName, kIndexName, join(present)));
  } else {
    AMPHORA_ASSIGN(const std::vector<std::string> pickles, files_ending_in(directory, ".bin"));
    if (!pickles.empty())
      return fail(Fault::kUnsupported,
                  fmt::format("{}: the weights are pickle files ({}), which can carry code: get "
                              "them as safetensors",
                              directory.string(), join(pickles)));
    return fail(Fault::kNotFound, fmt::format("{}: no {}", directory.string(), kSingleName));
  }
  std::erase_if(present, [&](const std::string& name) {
    return std::ranges::find(weights.files, name) != weights.files.end();
  });
  if (!present.empty())
    notes.push_back(fmt::format("files that do not belong to the model: {}", join(present)));
  return weights;
}

Status check_against_index(const HfWeights& weights, const std::string& file,
                           const safetensors::Directory& directory) {
  if (weights.file_of.empty()) return {};
  const auto disagree = [&](const std::string& tensor, std::string message) {
    return fail_at(Fault::kCorrupt, "IndexMismatch", tensor, std::nullopt, std::move(message));
  };
  std::set<std::string_view> held;
  for (const safetensors::Tensor& tensor : directory.tensors) {
    held.insert(tensor.name);
    const auto entry = weights.file_of.find(tensor.name);
    if (entry == weights.file_of.end())
      return disagree(tensor.name, fmt::format("{} holds the tensor {}, which the index does not name", file,
                                               tensor.name));
    if (entry->second != file)
      return disagree(tensor.name, fmt::format("{} holds the tensor {}, which the index places in {}", file,
                                               tensor.name, entry->second));
  }
  std::vector<std::string> missing;
  for (const auto& [tensor, place] : weights.file_of)
    if (place == file && !held.contains(tensor)) missing.push_back(tensor);
  if (missing.empty()) return {};
  std::ranges::sort(missing);
  return disagree(missing.front(),
                  fmt::format("{} lacks {} tensors that the index places in it, the first {}", file,
                              missing.size(), missing.front()));
}

}  // namespace amphora::package
