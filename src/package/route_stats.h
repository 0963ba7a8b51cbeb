// How often the router of each layer chose each expert: a JSON object `{"<layer>":[count, …], …}`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

/// Counts per expert, by layer.
using RouteStats = std::map<uint32_t, std::vector<uint64_t>>;

/// kCorrupt, with the JSON path, for anything but an object of layer numbers (decimal, without sign or
/// leading zeros, below the limit of layers) and lists of at least one count (0 … 2^64-1 without fraction or
/// exponent).
Result<RouteStats> parse_route_stats(std::string_view text);
/// As parse_route_stats(); the path is named in errors. At most 64 MiB.
Result<RouteStats> load_route_stats(const std::filesystem::path& path);

/// kRefused if the package has no experts, if a layer of the statistics has none, or if it has another number
/// of them. Layers with experts of which the statistics say nothing (absent, or all counts zero) are named in
/// `notes`: their experts count alike.
Status check_route_stats(const RouteStats& stats, const Package& package, std::vector<std::string>& notes);

/// The expert's count divided by the mean over the experts of its layer; 1 if nothing is known. `expert` is
/// one of those that check_route_stats() has seen.
double route_weight(const RouteStats& stats, uint32_t layer, uint64_t expert);

/// The least set of a layer's experts whose counts make up the share `cover` of their sum, the most chosen
/// first and of equals the lower (docs/formats/cmf.md §11.2): one byte per expert, 0 for those that are left
/// out. Empty, which leaves none out, if nothing is known of the layer.
std::vector<uint8_t> covering_experts(const RouteStats& stats, uint32_t layer, double cover);

/// The statistics as parse_route_stats() reads them, in one line.
std::string dump_route_stats(const RouteStats& stats);

}  // namespace amphora
