// What a run leaves out: see restriction.h.
#include "engine/restriction.h"

#include <algorithm>
#include <string>

#include "package/route_stats.h"

namespace amphora {
namespace {

/// The first `count` entries, empty if nothing is left out among them; a list that is too short keeps the
/// rest.
std::vector<uint8_t> fit(const std::vector<uint8_t>& live, size_t count) {
  std::vector<uint8_t> fitted(live.begin(),
                              live.begin() + static_cast<ptrdiff_t>(std::min(live.size(), count)));
  if (!fitted.empty()) fitted.resize(count, 1);
  if (std::ranges::find(fitted, 0) == fitted.end()) fitted.clear();
  return fitted;
}

std::optional<std::vector<kernels::RowRange>> ranges_of(const std::vector<uint8_t>& live) {
  if (live.empty()) return std::nullopt;
  std::vector<kernels::RowRange> ranges;
  for (uint64_t row = 0; row < live.size(); ++row) {
    if (live[row] == 0) continue;
    if (!ranges.empty() && ranges.back().last == row)
      ++ranges.back().last;
    else
      ranges.push_back({row, row + 1});
  }
  return ranges;
}

size_t heads_of(const model::MixerPlan& mixer) {
  if (const auto* attention = std::get_if<model::AttentionPlan>(&mixer)) return attention->heads;
  if (const auto* latent = std::get_if<model::LatentAttentionPlan>(&mixer)) return latent->heads;
  return 0;
}

/// Experts that both lists allow.
void restrict_further(std::vector<uint8_t>& experts, const std::vector<uint8_t>& allowed) {
  if (allowed.empty()) return;
  if (experts.empty()) {
    experts = allowed;
    return;
  }
  for (size_t i = 0; i < experts.size(); ++i) experts[i] &= allowed[i];
}

model::VisitMask visit_mask(const model::LayerPlan& layer, const LayerRestriction& restriction) {
  model::VisitMask mask;
  mask.skipped = restriction.skipped;
  mask.heads = fit(restriction.heads, heads_of(layer.mixer));
  if (const auto* dense = std::get_if<model::FeedForwardPlan>(&layer.ffn))
    mask.neurons = ranges_of(fit(restriction.neurons, dense->gate.rows()));
  else
    mask.experts = fit(restriction.experts, std::get<model::ExpertsPlan>(layer.ffn).experts.size());
  return mask;
}

}  // namespace

Result<model::RunMask> build_run_mask(const model::Plan& plan, const std::optional<TaskMask>& task,
                                      const std::optional<ExpertCover>& cover) {
  model::RunMask run;
  const size_t layers = plan.layers.size();
  for (size_t visit = 0; visit < plan.visits(); ++visit) {
    const model::LayerPlan& layer = plan.visited(visit);
    model::VisitMask mask = task ? visit_mask(layer, task->visits[visit]) : model::VisitMask();
    if (const auto* mixture = std::get_if<model::ExpertsPlan>(&layer.ffn)) {
      const auto index = static_cast<uint32_t>(visit % layers);
      if (cover) restrict_further(mask.experts, covering_experts(cover->counts, index, cover->cover));
      if (!mask.experts.empty() && !mask.skipped && std::ranges::find(mask.experts, 1) == mask.experts.end())
        return fail(Fault::kRefused, "no expert is left of the " + std::to_string(mixture->experts.size()) +
                                         " in layer " + std::to_string(index));
    }
    run.visits.push_back(std::move(mask));
  }
  return run;
}

}  // namespace amphora
