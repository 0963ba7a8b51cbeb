// Chooses the next token: see sampler.h.
#include "engine/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "engine/random.h"

namespace amphora {

Status check_sampling(const SamplingOptions& options) {
  const auto refuse = [](const char* what) { return fail(Fault::kUsage, what); };
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    return refuse("the temperature must be a number from 0 up");
  if (!(options.top_p > 0 && options.top_p <= 1)) return refuse("top-p must be above 0 and at most 1");
  if (!(options.min_p >= 0 && options.min_p <= 1)) return refuse("min-p must lie between 0 and 1");
  if (!(options.repeat_penalty > 0) || !std::isfinite(options.repeat_penalty))
    return refuse("the repeat penalty must be above 0");
  return {};
}

}  // namespace amphora

namespace amphora::engine {

double exp_of_negative(double x) {
  if (!(x > -708)) return 0;
  // x = k ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, so that k times the first is exact.
  constexpr double kLog2E = 0x1.71547652b82fep+0, kLn2High = 0x1.62e42fee00000p-1,
                   kLn2Low = 0x1.a39ef35793c76p-33;
  const double k = std::rint(x * kLog2E);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1.0 / 6227020800;  // 1/13!, and down the Taylor series
  for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0,
                                 24.0, 6.0, 2.0, 1.0, 1.0})
    sum = sum * r + 1 / factorial;
  const double power = std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(k) + 1023) << 52);
  return sum * power;
}

// Sorts what is likelier first; of equals the lower id.
constexpr auto kLikelier = [](const auto& a, const auto& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
};

void Sampler::collect(std::span<const float> logits, std::span<const TokenId> recent) {
  candidates_.clear();
  candidates_.reserve(logits.size());
  for (size_t id = 0; id < logits.size(); ++id)
    candidates_.push_back({static_cast<TokenId>(id), logits[id], 0});
  if (options_.repeat_penalty != 1) {
    const auto penalty = static_cast<float>(options_.repeat_penalty);
    const auto window = recent.last(std::min<size_t>(recent.size(), options_.repeat_window));
    recent_ids_.assign(window.begin(), window.end());
    std::ranges::sort(recent_ids_);
    const auto [end, last] = std::ranges::unique(recent_ids_);
    recent_ids_.erase(end, last);
    for (const TokenId id : recent_ids_) {
      if (id >= candidates_.size()) continue;
      float& logit = candidates_[id].logit;
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
  }
  std::erase_if(candidates_, [](const Candidate& candidate) { return std::isnan(candidate.logit); });
}

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || options_.top_k >= candidates_.size()) return;
  const auto end = candidates_.begin() + options_.top_k;
  std::nth_element(candidates_.begin(), end - 1, candidates_.end(), kLikelier);
  candidates_.erase(end, candidates_.end());
  std::ranges::sort(candidates_, kLikelier);  // the draw walks them in an order that is the same everywhere
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  // A heap: usually a few candidates reach p, and sorting a whole vocabulary would take longer than a small
  // model.
  const auto less_likely = [](const Candidate& a, const Candidate& b) { return kLikelier(b, a); };
  std::ranges::make_heap(candidates_, less_likely);
  const double wanted = options_.top_p * total;
  double reached = 0;
  auto rest = candidates_.end();
  while (rest != candidates_.begin() && reached < wanted) {
    std::ranges::pop_heap(candidates_.begin(), rest, less_likely);
    --rest;
    reached += rest->weight;
  }
  candidates_.erase(candidates_.begin(), rest);
  std::ranges::reverse(candidates_);  // popped ones stand at the end, the likeliest last
}

TokenId Sampler::draw() {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  const double point = uniform(options_.seed, drawn_++) * total;
  double reached = 0;
  for (const Candidate& candidate : candidates_) {
    reached += candidate.weight;
    if (point < reached) return candidate.id;
  }
  return candidates_.back().id;  // only if rounding leaves `point` at the very end
}

TokenId Sampler::sample(std::span<const float> logits, std::span<const TokenId> recent) {
  collect(logits, recent);
  if (candidates_.empty()) return 0;
  const Candidate best = *std::ranges::min_element(candidates_, kLikelier);
  if (options_.temperature == 0) return best.id;
  keep_top_k();
  for (Candidate& candidate : candidates_) {
    const double distance = candidate.logit == best.logit ? 0 : double{candidate.logit} - double{best.logit};
    candidate.weight = exp_of_negative(distance / options_.temperature);
  }
  keep_top_p();
  if (options_.min_p > 0)
    std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.weight < options_.min_p; });
  return draw();
}

}  // namespace amphora::engine
