// Decodes and checks a shard index.
#include "formats/safetensors/shard_index.h"

#include <algorithm>

#include "amphora/json.h"

namespace amphora::safetensors {
namespace {

bool is_plain_file_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".safetensors";
  if (name.size() <= kSuffix.size() || !name.ends_with(kSuffix) || name.starts_with('.')) return false;
  return std::ranges::none_of(name, [](char c) {
    return c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

}  // namespace

Result<ShardIndex> decode_shard_index(std::string_view text) {
  AMPHORA_ASSIGN(const json::Value root, json::parse(text));
  const json::Value* map = root.is_object() ? root.find("weight_map") : nullptr;
  if (map == nullptr || !map->is_object())
    return fail_at(Fault::kCorrupt, "WeightMap", "$.weight_map", std::nullopt,
                   "the index has no object \"weight_map\"");
  if (map->members().empty())
    return fail_at(Fault::kCorrupt, "WeightMap", "$.weight_map", std::nullopt,
                   "the weight_map names no tensors");
  ShardIndex index;
  for (const json::Member& member : map->members()) {
    const std::string place = "$.weight_map" + json::path_step(member.key);
    if (!member.value.is_string())
      return fail_at(
          Fault::kCorrupt, "WeightMap", place, std::nullopt,
          "found " + std::string(json::kind_name(member.value.kind())) + ", wanted the name of a file");
    if (!is_plain_file_name(member.value.text()))
      return fail_at(
          Fault::kRefused, "ShardName", place, std::nullopt,
          "\"" + member.value.text().substr(0, 80) + "\" is not the plain name of a .safetensors file");
    index.weight_map.emplace_back(member.key, member.value.text());
    index.shards.push_back(member.value.text());
  }
  std::ranges::sort(index.shards);
  const auto repeated = std::ranges::unique(index.shards);
  index.shards.erase(repeated.begin(), repeated.end());
  return index;
}

}  // namespace amphora::safetensors
