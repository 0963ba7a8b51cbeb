// Names of predictors: Qwen's own, and those of layers behind the last.
#include "package/hf_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "package/tensor_names.h"

namespace amphora::package {
namespace {

constexpr std::string_view kCanonical = "model.mtp.";
constexpr std::string_view kLayers = "layers.";
constexpr std::string_view kModelLayers = "model.layers.";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kHead = "lm_head.weight";

/// A part that is no part of its layer.
struct PredictorPart {
  std::string_view name, canonical;
};
constexpr std::array kOwnParts = {
    PredictorPart{"fc.", "eh_proj."},
    PredictorPart{"pre_fc_norm_embedding.", "enorm."},
    PredictorPart{"pre_fc_norm_hidden.", "hnorm."},
    PredictorPart{"norm.", "norm."},
};
constexpr std::array kBehindParts = {
    PredictorPart{"enorm.", "enorm."},
    PredictorPart{"hnorm.", "hnorm."},
    PredictorPart{"eh_proj.", "eh_proj."},
    PredictorPart{"shared_head.norm.", "norm."},
};
/// What it may bring a copy of.
constexpr std::array kCopies = {
    PredictorPart{"embed_tokens.weight", kEmbedding},
    PredictorPart{"shared_head.head.weight", kHead},
};
constexpr std::array<std::string_view, 4> kNeeded = {"enorm.weight", "hnorm.weight", "eh_proj.weight",
                                                     "norm.weight"};

/// Where a tensor stands in the predictor.
struct Place {
  uint64_t layer = 0;
  std::string name;  ///< behind `model.mtp.`, for the first layer; of a copy as stored
  std::string_view copy_of = {};
};

std::optional<Place> find_part(std::span<const PredictorPart> parts, std::string_view rest) {
  for (const PredictorPart& part : parts)
    if (rest.starts_with(part.name))
      return Place{0, fmt::format("{}{}", part.canonical, rest.substr(part.name.size()))};
  for (const PredictorPart& copy : kCopies)
    if (rest == copy.name) return Place{0, std::string(rest), copy.canonical};
  return std::nullopt;
}

/// The number in front of the first dot, which is cut off with it.
std::optional<uint64_t> take_number(std::string_view& rest) {
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto number = parse_decimal<uint64_t>(rest.substr(0, dot));
  if (number) rest.remove_prefix(dot + 1);
  return number;
}

std::optional<Place> find_own(std::string_view name) {
  if (!name.starts_with(kCanonical)) return std::nullopt;
  std::string_view rest = name.substr(kCanonical.size());
  if (auto part = find_part(kOwnParts, rest)) return part;
  if (rest.starts_with(kLayers)) {
    rest.remove_prefix(kLayers.size());
    if (const auto layer = take_number(rest)) return Place{*layer, fmt::format("layers.0.{}", rest)};
  }
  return Place{0, std::string(name.substr(kCanonical.size()))};
}

std::optional<Place> find_behind(std::string_view name, uint32_t num_layers) {
  if (!name.starts_with(kModelLayers)) return std::nullopt;
  std::string_view rest = name.substr(kModelLayers.size());
  const auto layer = take_number(rest);
  if (!layer || *layer < num_layers) return std::nullopt;
  Place place = find_part(kBehindParts, rest).value_or(Place{0, fmt::format("layers.0.{}", rest)});
  place.layer = *layer - num_layers;
  return place;
}

bool same_tensor(const PackageTensor& one, const PackageTensor& other) {
  return one.stored_type == other.stored_type && one.shape == other.shape &&
         std::ranges::equal(one.mapped, other.mapped);
}

/// A copy must be one: of the head, where that is tied, of the embedding.
Status check_copy(const PackageTensor& copy, std::string_view of, const Package& package) {
  const PackageTensor* original = package.find(of);
  if (original == nullptr && of == kHead) original = package.find(kEmbedding);
  if (original != nullptr && same_tensor(copy, *original)) return {};
  return fail_at(
      Fault::kUnsupported, "Predictor", copy.name, std::nullopt,
      fmt::format("tensor {}: a multi-token predictor with an embedding or a head of its own, which is "
                  "not {}, is not supported",
                  copy.name, of));
}

Status check_complete(const std::set<std::string>& names) {
  for (const std::string_view needed : kNeeded)
    if (!names.contains(std::string(needed)))
      return fail_at(Fault::kCorrupt, "Missing", std::string(kCanonical) + std::string(needed), std::nullopt,
                     fmt::format("the multi-token predictor has no {}{}", kCanonical, needed));
  return {};
}

/// The places of a package's tensors, one for each, and by layer what the predictor holds.
struct Found {
  std::vector<std::optional<Place>> places;
  std::map<uint64_t, std::set<std::string>> layers;
  uint64_t tensors = 0;

  bool is_one_layer() const { return layers.size() == 1 && layers.contains(0); }
};

Found find_places(PredictorPlace where, const Package& package) {
  Found found;
  for (const PackageTensor& tensor : package.tensors) {
    found.places.push_back(where == PredictorPlace::kOwn ? find_own(tensor.name)
                                                         : find_behind(tensor.name, package.spec.num_layers));
    if (!found.places.back()) continue;
    found.layers[found.places.back()->layer].insert(found.places.back()->name);
    ++found.tensors;
  }
  return found;
}

/// Layers behind the last may be a predictor's, or those of a model that is longer than it says.
Status check_behind(const Found& found, uint32_t num_layers) {
  for (const auto& [layer, names] : found.layers)
    if (!names.contains("eh_proj.weight"))
      return fail_at(
          Fault::kCorrupt, "Shape", fmt::format("{}{}", kModelLayers, num_layers + layer), std::nullopt,
          fmt::format("layer {} is behind the last of {} layers, and has no eh_proj.weight, which would "
                      "make it a multi-token predictor",
                      num_layers + layer, num_layers));
  return {};
}

/// The package without the tensors of the predictor that are not wanted, the others renamed.
void keep(const Found& found, bool (*wanted)(const Place& place), Package& package) {
  std::vector<PackageTensor> kept;
  kept.reserve(package.tensors.size());
  for (size_t i = 0; i < found.places.size(); ++i) {
    const std::optional<Place>& place = found.places[i];
    if (place && !wanted(*place)) continue;
    kept.push_back(std::move(package.tensors[i]));
    if (place) kept.back().name = fmt::format("{}{}", kCanonical, place->name);
  }
  package.tensors = std::move(kept);
}

Status keep_one_layer(const Found& found, Package& package) {
  AMPHORA_TRY(check_complete(found.layers.at(0)));
  uint64_t copies = 0;
  for (size_t i = 0; i < found.places.size(); ++i) {
    if (!found.places[i] || found.places[i]->copy_of.empty()) continue;
    AMPHORA_TRY(check_copy(package.tensors[i], found.places[i]->copy_of, package));
    ++copies;
  }
  keep(found, [](const Place& place) { return place.copy_of.empty(); }, package);
  if (!package.spec.mtp) package.spec.mtp.emplace();
  package.spec.mtp->num_layers = 1;
  if (copies != 0)
    package.notes.push_back(fmt::format(
        "{} copies of embedding and head in the multi-token predictor left out: it shares the model's",
        copies));
  return {};
}

}  // namespace

Status place_predictor(PredictorPlace where, Package& package) {
  if (where == PredictorPlace::kNone) return {};
  const Found found = find_places(where, package);
  if (found.tensors == 0) return {};
  if (where == PredictorPlace::kBehind) AMPHORA_TRY(check_behind(found, package.spec.num_layers));
  if (found.is_one_layer()) return keep_one_layer(found, package);
  keep(found, [](const Place&) { return false; }, package);
  package.notes.push_back(
      fmt::format("the multi-token predictor of {} layers ({} tensors) left out: only one layer is supported",
                  found.layers.size(), found.tensors));
  return {};
}

}  // namespace amphora::package
