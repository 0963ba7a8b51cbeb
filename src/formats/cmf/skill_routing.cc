// Routing energies, in double precision throughout.
#include "formats/cmf/skill_routing.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/base64.h"
#include "base/byte_reader.h"
#include "base/half.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {
namespace {

constexpr double kLeastNorm = 1e-12;

/// The f16 values of a text that open has found to be well-formed.
std::vector<double> values_of(const json::Value& text) {
  const std::string decoded = decode_base64(text.text()).value_or("");
  const Bytes bytes = as_bytes(decoded);
  std::vector<double> values(bytes.size() / 2);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = half_to_float(load_little_endian<uint16_t>(bytes.data() + 2 * i));
  return values;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

Result<SkillSelection> selection_of(const json::Value& header, std::string_view skill_id) {
  const json::Value* skills = header.find_present("skills");
  if (skills == nullptr) return fail(Fault::kNotFound, "the file has no skills");
  const auto found = std::ranges::find_if(
      skills->items(), [&](const json::Value& record) { return record.find("id")->text() == skill_id; });
  if (found == skills->items().end())
    return fail(Fault::kNotFound, "the file has no skill '" + std::string(skill_id) + "'");
  const json::Value* selection = found->find_present("selection");
  if (selection == nullptr)
    return fail(Fault::kNotFound, "skill '" + std::string(skill_id) + "' has nothing to be selected by");
  return SkillSelection{.unit = selection->find("metric")->text() == "mse_unit",
                        .phi_layer = u32_of(*selection->find("phi_layer")),
                        .mean = values_of(*selection->find("mean")),
                        .basis = values_of(*selection->find("basis"))};
}

double routing_energy(const SkillSelection& selection, std::span<const double> phi) {
  assert(!phi.empty() && phi.size() == selection.mean.size());
  const double divisor = selection.unit ? std::max(std::sqrt(dot(phi, phi)), kLeastNorm) : 1;
  double norm = 0;
  std::vector<double> residual(phi.size());
  for (size_t i = 0; i < phi.size(); ++i) {
    const double value = phi[i] / divisor;
    norm += value * value;
    residual[i] = value - selection.mean[i];
  }
  double outside = dot(residual, residual);
  const std::span<const double> basis(selection.basis);
  for (size_t row = 0; row + phi.size() <= basis.size(); row += phi.size()) {
    const double along = dot(basis.subspan(row, phi.size()), residual);
    outside -= along * along;
  }
  return std::max(0.0, outside) / std::max(norm, kLeastNorm);
}

size_t least_energy(std::span<const double> energies) {
  return static_cast<size_t>(std::ranges::min_element(energies) - energies.begin());
}

std::vector<double> blend_weights(std::span<const double> energies, double temperature) {
  const double least = energies.empty() ? 0 : *std::ranges::min_element(energies);
  std::vector<double> weights(energies.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    sum += weights[i] = std::exp((least - energies[i]) / temperature);
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace amphora::cmf
