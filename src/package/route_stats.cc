// Reading and checking routing statistics.
#include "package/route_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "amphora/json.h"
#include "base/file.h"
#include "package/limits.h"
#include "package/tensor_names.h"

namespace amphora {
namespace {

constexpr uint64_t kMaxRouteStatsBytes = uint64_t{64} << 20;

std::unexpected<Error> parse_fault(std::string place, std::string message) {
  return fail_at(Fault::kCorrupt, "Parse", std::move(place), std::nullopt, std::move(message));
}

Result<std::vector<uint64_t>> parse_counts(const json::Value& value, const std::string& place) {
  if (!value.is_array() || value.items().empty())
    return parse_fault(place, fmt::format("{} is not a list of counts", place));
  std::vector<uint64_t> counts;
  counts.reserve(value.items().size());
  for (const json::Value& item : value.items()) {
    const auto count = item.as_unsigned();
    const std::string item_place = fmt::format("{}[{}]", place, counts.size());
    if (!count)
      return parse_fault(item_place, fmt::format("{} is not a whole number from 0 to 2^64-1", item_place));
    counts.push_back(*count);
  }
  return counts;
}

/// Experts of each layer that has some: one more than the highest number.
std::map<uint32_t, uint64_t> experts_per_layer(const Package& package) {
  const std::vector<std::string> skills = package::skill_ids(package);
  std::map<uint32_t, uint64_t> experts;
  for (const PackageTensor& tensor : package.tensors)
    if (const auto weight = package::find_expert_weight(tensor.name, skills); weight && weight->layer)
      experts[*weight->layer] = std::max(experts[*weight->layer], weight->expert + 1);
  return experts;
}

bool says_nothing(const RouteStats& stats, uint32_t layer) {
  const auto counts = stats.find(layer);
  return counts == stats.end() ||
         std::ranges::all_of(counts->second, [](uint64_t count) { return count == 0; });
}

}  // namespace

Result<RouteStats> parse_route_stats(std::string_view text) {
  AMPHORA_ASSIGN(const json::Value root, json::parse(text));
  if (!root.is_object()) return parse_fault("$", "the statistics are not a JSON object of layers");
  RouteStats stats;
  for (const json::Member& member : root.members()) {
    const std::string place = "$" + json::path_step(member.key);
    const auto layer = package::parse_decimal<uint32_t>(member.key);
    if (!layer || *layer >= package::kMaxLayers)
      return parse_fault(place, fmt::format("{} is not the number of a layer", place));
    AMPHORA_ASSIGN(stats[*layer], parse_counts(member.value, place));
  }
  return stats;
}

Result<RouteStats> load_route_stats(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const std::string text, read_small_file(path, kMaxRouteStatsBytes));
  auto stats = parse_route_stats(text);
  if (!stats) {
    Error error = stats.error();
    error.message = fmt::format("{}: {}", path.string(), error.message);
    return std::unexpected(std::move(error));
  }
  return stats;
}

Status check_route_stats(const RouteStats& stats, const Package& package, std::vector<std::string>& notes) {
  const std::map<uint32_t, uint64_t> experts = experts_per_layer(package);
  if (experts.empty())
    return fail(Fault::kRefused,
                fmt::format("routing statistics are for models with experts, and {} has none",
                            package.path.string()));
  for (const auto& [layer, counts] : stats) {
    const auto found = experts.find(layer);
    if (found == experts.end())
      return fail(Fault::kRefused, fmt::format("the routing statistics count experts of layer {}, but that "
                                               "layer has none in {}",
                                               layer, package.path.string()));
    if (counts.size() != found->second)
      return fail(Fault::kRefused,
                  fmt::format("the routing statistics have {} experts for layer {}, the model "
                              "has {}",
                              counts.size(), layer, found->second));
  }
  std::vector<uint32_t> unknown;
  for (const auto& [layer, count] : experts)
    if (says_nothing(stats, layer)) unknown.push_back(layer);
  if (!unknown.empty())
    notes.push_back(fmt::format(
        "the routing statistics count nothing for {} of {} layers ({}): their experts count alike",
        unknown.size(), experts.size(), fmt::join(unknown, ", ")));
  return {};
}

double route_weight(const RouteStats& stats, uint32_t layer, uint64_t expert) {
  if (says_nothing(stats, layer)) return 1;
  const std::vector<uint64_t>& counts = stats.at(layer);
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  return static_cast<double>(counts[expert]) * static_cast<double>(counts.size()) / sum;
}

std::vector<uint8_t> covering_experts(const RouteStats& stats, uint32_t layer, double cover) {
  if (says_nothing(stats, layer)) return {};
  const std::vector<uint64_t>& counts = stats.at(layer);
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t expert) { return counts[expert]; });
  const double wanted = cover * std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<uint8_t> kept(counts.size(), 0);
  double covered = 0;
  for (const size_t expert : order) {
    if (covered >= wanted) break;
    kept[expert] = 1;
    covered += static_cast<double>(counts[expert]);
  }
  return kept;
}

std::string dump_route_stats(const RouteStats& stats) {
  json::Value out = json::Value::object();
  for (const auto& [layer, counts] : stats) {
    std::vector<json::Value> items;
    for (const uint64_t count : counts) items.push_back(json::Value::unsigned_integer(count));
    out.set(std::to_string(layer), json::Value::array(std::move(items)));
  }
  return json::dump(out);
}

}  // namespace amphora
