// Which skill suits a prompt: how far its hidden state lies from each skill's subspace
// (docs/formats/cmf.md §9 "Routing").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora::cmf {

/// The `selection` of a skill record.
struct SkillSelection {
  bool unit = false;  ///< metric "mse_unit": the state is divided by its norm first
  uint32_t phi_layer = 0;
  std::vector<double> mean;   ///< [hidden_size]
  std::vector<double> basis;  ///< [rank, hidden_size], orthonormal rows
};

/// The selection of record `skill` of a file's checked header, or kNotFound if it has none (or there is no
/// such record).
Result<SkillSelection> selection_of(const json::Value& header, std::string_view skill_id);

/// max(0, ‖r‖² − ‖Br‖²) / max(‖φ‖², 1e-12) with r = φ − mean. `phi` is the hidden state after layer
/// phi_layer, before the final norm, averaged over the prompt's positions. [hidden_size]
double routing_energy(const SkillSelection& selection, std::span<const double> phi);

/// The place of the least energy, the earliest of equal ones. `energies` is not empty.
size_t least_energy(std::span<const double> energies);

/// softmax(−E/T): the shares of a soft blend. T > 0.
std::vector<double> blend_weights(std::span<const double> energies, double temperature);

}  // namespace amphora::cmf
