// Finds the expert tensors of each layer, and how they are stored.
#include "package/hf_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "package/tensor_names.h"
#include "package/tensor_views.h"

namespace amphora::package {
namespace {

constexpr std::string_view kExperts = ".mlp.experts.";
constexpr std::string_view kRouter = ".mlp.gate.weight";

enum Role : size_t { kGate, kUp, kDown, kRoles };
constexpr std::array<std::string_view, kRoles> kRoleNames = {"gate_proj", "up_proj", "down_proj"};

/// A tensor that holds the matrices of all experts, for one role or for two behind one another.
struct Bank {
  std::string_view name;
  Role first;
  std::optional<Role> second;
};
constexpr std::array kBanks = {
    Bank{"gate_proj", kGate, std::nullopt}, Bank{"up_proj", kUp, std::nullopt},
    Bank{"down_proj", kDown, std::nullopt}, Bank{"gate_up_proj", kGate, kUp},
    Bank{"up_gate_proj", kUp, kGate},
};

std::unexpected<Error> fail_tensor(Fault fault, const char* code, const std::string& name,
                                   std::string message) {
  return fail_at(fault, code, name, std::nullopt, std::move(message));
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The expert tensors of one layer, as stored and as wanted.
class Layer {
 public:
  Layer(const ModelSpec& spec, std::string prefix) : spec_(spec), prefix_(std::move(prefix)) {}

  Status add(PackageTensor tensor) {
    const std::string_view rest = std::string_view(tensor.name).substr(prefix_.size() + kExperts.size());
    if (const size_t dot = rest.find('.'); dot != std::string_view::npos) {
      if (const auto expert = parse_decimal<uint32_t>(rest.substr(0, dot)))
        return add_matrix(*expert, rest.substr(dot + 1), std::move(tensor));
    }
    const std::string_view stem = rest.ends_with(".weight") ? rest.substr(0, rest.size() - 7) : rest;
    const auto* bank = std::ranges::find(kBanks, stem, &Bank::name);
    if (bank == kBanks.end())
      return fail_tensor(Fault::kUnsupported, "ExpertLayout", tensor.name,
                         fmt::format("tensor {}: experts under this name are not known, so which of its rows "
                                     "are gate and which are up cannot be told",
                                     tensor.name));
    banks_.emplace_back(bank, std::move(tensor));
    return {};
  }

  /// How many tensors were split.
  Result<uint64_t> split_banks() {
    AMPHORA_ASSIGN(const bool exchanged, find_order());
    for (const auto& [bank, tensor] : banks_)
      for (uint32_t expert = 0; expert < spec_.moe->num_experts; ++expert) {
        AMPHORA_TRY(put(bank->first, expert, part_of(*bank, tensor, expert, 0, exchanged)));
        if (bank->second)
          AMPHORA_TRY(put(*bank->second, expert, part_of(*bank, tensor, expert, 1, exchanged)));
      }
    return banks_.size();
  }

  /// All matrices in the order of roles; each must be there.
  Status append_to(std::vector<PackageTensor>& out) {
    for (size_t role = 0; role < kRoles; ++role)
      for (uint32_t expert = 0; expert < spec_.moe->num_experts; ++expert) {
        const auto matrix = matrices_[role].find(expert);
        if (matrix == matrices_[role].end()) {
          const std::string name = name_of(static_cast<Role>(role), expert);
          return fail_tensor(Fault::kCorrupt, "Missing", name,
                             fmt::format("there is no tensor {}, and config.json speaks of {} experts", name,
                                         spec_.moe->num_experts));
        }
        out.push_back(std::move(matrix->second));
      }
    return {};
  }

 private:
  std::string name_of(Role role, uint32_t expert) const {
    return fmt::format("{}{}{}.{}.weight", prefix_, kExperts, expert, kRoleNames[role]);
  }

  uint64_t rows_of(Role role) const {
    return role == kDown ? spec_.hidden_size : spec_.moe->moe_intermediate_size;
  }
  uint64_t columns_of(Role role) const {
    return role == kDown ? spec_.moe->moe_intermediate_size : spec_.hidden_size;
  }

  Status put(Role role, uint32_t expert, PackageTensor matrix) {
    matrix.name = name_of(role, expert);
    if (matrices_[role].contains(expert))
      return fail_tensor(Fault::kCorrupt, "Duplicate", matrix.name,
                         fmt::format("{} is stored twice", matrix.name));
    matrices_[role].emplace(expert, std::move(matrix));
    return {};
  }

  Status add_matrix(uint32_t expert, std::string_view rest, PackageTensor tensor) {
    const size_t role = static_cast<size_t>(
        std::ranges::find_if(kRoleNames,
                             [&](std::string_view name) {
                               return rest.starts_with(name) && rest.substr(name.size()) == ".weight";
                             }) -
        kRoleNames.begin());
    if (role == kRoles)
      return fail_tensor(Fault::kUnsupported, "ExpertLayout", tensor.name,
                         fmt::format("tensor {}: an expert has only the weights of gate_proj, up_proj and "
                                     "down_proj",
                                     tensor.name));
    if (expert >= spec_.moe->num_experts)
      return fail_tensor(
          Fault::kCorrupt, "Shape", tensor.name,
          fmt::format("tensor {}: config.json speaks of {} experts", tensor.name, spec_.moe->num_experts));
    const std::vector<uint64_t> wanted = {rows_of(static_cast<Role>(role)),
                                          columns_of(static_cast<Role>(role))};
    if (tensor.shape != wanted)
      return fail_tensor(Fault::kCorrupt, "Shape", tensor.name,
                         fmt::format("tensor {} has the shape {}, wanted {}", tensor.name,
                                     shape_text(tensor.shape), shape_text(wanted)));
    return put(static_cast<Role>(role), expert, std::move(tensor));
  }

  std::vector<uint64_t> shape_of(const Bank& bank, bool exchanged) const {
    const uint64_t rows = rows_of(bank.first) * (bank.second ? 2 : 1), columns = columns_of(bank.first);
    return {spec_.moe->num_experts, exchanged ? columns : rows, exchanged ? rows : columns};
  }

  /// Whether the last two dimensions are exchanged, the same in all tensors of the layer.
  Result<bool> find_order() const {
    bool can_be_plain = true, can_be_exchanged = true;
    for (const auto& [bank, tensor] : banks_) {
      const bool plain = tensor.shape == shape_of(*bank, false);
      const bool exchanged = tensor.shape == shape_of(*bank, true);
      if (!plain && !exchanged)
        return fail_tensor(
            Fault::kCorrupt, "Shape", tensor.name,
            fmt::format("tensor {} has the shape {}, wanted {} or, with dimensions exchanged, {}",
                        tensor.name, shape_text(tensor.shape), shape_text(shape_of(*bank, false)),
                        shape_text(shape_of(*bank, true))));
      can_be_plain &= plain;
      can_be_exchanged &= exchanged;
    }
    if (can_be_plain != can_be_exchanged || banks_.empty()) return can_be_exchanged && !banks_.empty();
    const std::string& name = banks_.front().second.name;
    if (can_be_plain)
      return fail_tensor(Fault::kUnsupported, "ExpertLayout", name,
                         fmt::format("tensor {}: the shapes of this layer's experts do not tell rows from "
                                     "columns",
                                     name));
    return fail_tensor(Fault::kCorrupt, "Shape", name,
                       fmt::format("tensor {}: some experts of this layer are stored with their dimensions "
                                   "exchanged, others are not",
                                   name));
  }

  /// The matrix of one expert: the first or the second of those in the tensor.
  PackageTensor part_of(const Bank& bank, const PackageTensor& tensor, uint32_t expert, uint64_t index,
                        bool exchanged) const {
    const uint64_t rows = rows_of(bank.first), columns = columns_of(bank.first);
    const uint64_t held = bank.second ? 2 : 1;
    const uint64_t start = expert * held * rows * columns;
    if (exchanged) return transposed(tensor, start + index * rows, rows, columns, held * rows);
    return element_range(tensor, start + index * rows * columns, {rows, columns});
  }

  const ModelSpec& spec_;
  std::string prefix_;
  std::array<std::map<uint32_t, PackageTensor>, kRoles> matrices_;  ///< by expert
  std::vector<std::pair<const Bank*, PackageTensor>> banks_;
};

/// The layer's name in front of `.mlp.experts.`, or empty.
std::string_view layer_of(std::string_view name) {
  const size_t at = name.find(kExperts);
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

/// A router and its experts come together, a row for each expert.
Status check_routers(const ModelSpec& spec, const std::vector<PackageTensor>& tensors,
                     const std::map<std::string, Layer, std::less<>>& layers) {
  std::unordered_set<std::string_view> routed;
  for (const PackageTensor& tensor : tensors) {
    const std::string_view name = tensor.name;
    if (!name.ends_with(kRouter)) continue;
    const std::string_view prefix = name.substr(0, name.size() - kRouter.size());
    routed.insert(prefix);
    const std::vector<uint64_t> wanted = {spec.moe->num_experts, spec.hidden_size};
    if (tensor.shape != wanted)
      return fail_tensor(Fault::kCorrupt, "Shape", tensor.name,
                         fmt::format("tensor {} has the shape {}, wanted {}", tensor.name,
                                     shape_text(tensor.shape), shape_text(wanted)));
    if (!layers.contains(prefix))
      return fail_tensor(Fault::kCorrupt, "Missing", std::string(prefix) + std::string(kExperts),
                         fmt::format("{} has a router but no experts", prefix));
  }
  for (const auto& [prefix, layer] : layers)
    if (!routed.contains(prefix))
      return fail_tensor(Fault::kCorrupt, "Missing", prefix + std::string(kRouter),
                         fmt::format("{} has experts but no router", prefix));
  return {};
}

}  // namespace

Result<uint64_t> place_experts(const ModelSpec& spec, std::vector<PackageTensor>& tensors) {
  if (!spec.moe) return 0;
  std::map<std::string, Layer, std::less<>> layers;
  for (PackageTensor& tensor : tensors) {
    const std::string_view prefix = layer_of(tensor.name);
    if (prefix.empty()) continue;
    auto layer = layers.find(prefix);
    if (layer == layers.end())
      layer = layers.emplace(std::string(prefix), Layer(spec, std::string(prefix))).first;
    AMPHORA_TRY(layer->second.add(tensor));
  }
  AMPHORA_TRY(check_routers(spec, tensors, layers));
  uint64_t split = 0;
  for (auto& [prefix, layer] : layers) {
    AMPHORA_ASSIGN(const uint64_t banks, layer.split_banks());
    split += banks;
  }

  std::vector<PackageTensor> placed;
  placed.reserve(tensors.size());
  std::unordered_set<std::string> done;
  for (PackageTensor& tensor : tensors) {
    const std::string_view prefix = layer_of(tensor.name);
    if (prefix.empty())
      placed.push_back(std::move(tensor));
    else if (done.emplace(prefix).second)
      AMPHORA_TRY(layers.find(prefix)->second.append_to(placed));
  }
  tensors = std::move(placed);
  return split;
}

}  // namespace amphora::package
