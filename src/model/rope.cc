// Rotary position embedding: see rope.h.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace amphora::model {
namespace {

size_t rotary_dimensions(uint32_t head_dim, double factor) {
  return std::max<size_t>(2, static_cast<size_t>(static_cast<double>(head_dim) * factor));
}

// Blends each frequency between itself and itself / factor: dimensions that turn more often than beta_fast
// times within the original window stay, those that turn less often than beta_slow times are interpolated.
void apply_yarn(const YarnSpec& yarn, double base, std::vector<float>& inverse) {
  const double rotary_dim = 2.0 * static_cast<double>(inverse.size());
  const auto dimension_that_turns = [&](double times) {
    return rotary_dim * std::log(yarn.original_max_position_embeddings / (times * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  };
  const double low = std::max(std::floor(dimension_that_turns(yarn.beta_fast)), 0.0);
  double high = std::min(std::ceil(dimension_that_turns(yarn.beta_slow)), rotary_dim - 1);
  if (high == low) high += 0.001;  // as the reference does, against division by zero
  for (size_t i = 0; i < inverse.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const float keep = 1 - static_cast<float>(ramp);
    const float interpolated = inverse[i] / static_cast<float>(yarn.factor);
    inverse[i] = interpolated * (1 - keep) + inverse[i] * keep;
  }
}

Status divide(std::vector<float>& inverse, const std::vector<float>& factors, const char* name) {
  if (factors.size() != inverse.size())
    return fail(Fault::kCorrupt, std::string("arch.") + name + " has " + std::to_string(factors.size()) +
                                     " factors, but " + std::to_string(inverse.size()) +
                                     " dimension pairs rotate");
  for (size_t i = 0; i < inverse.size(); ++i) {
    if (!(factors[i] > 0) || !std::isfinite(factors[i]))
      return fail(Fault::kCorrupt, std::string("arch.") + name + " holds a factor that is not positive");
    inverse[i] /= factors[i];
  }
  return {};
}

Status check_base_and_part(double base, double part, uint32_t head_dim) {
  if (!(base > 0) || !std::isfinite(base))
    return fail(Fault::kCorrupt, "a rope base in arch is not positive");
  if (!(part > 0) || part > 1)
    return fail(Fault::kCorrupt, "a partial rotary factor in arch is not in (0, 1]");
  const size_t rotary_dim = rotary_dimensions(head_dim, part);
  if (rotary_dim % 2 != 0 || rotary_dim > head_dim)
    return fail(Fault::kCorrupt, "rope would turn " + std::to_string(rotary_dim) + " of " +
                                     std::to_string(head_dim) +
                                     " dimensions of a head: wanted an even number of at least 2");
  return {};
}

Status check_yarn(const YarnSpec& yarn, double base) {
  const bool sane = yarn.factor > 0 && yarn.original_max_position_embeddings > 0 && yarn.beta_fast > 0 &&
                    yarn.beta_slow > 0 && yarn.attention_factor > 0 && base > 1;
  if (!sane) return fail(Fault::kCorrupt, "arch.yarn holds a value that is not positive");
  return {};
}

}  // namespace

std::vector<float> default_inverse_frequencies(double base, size_t rotary_dim) {
  std::vector<float> inverse(rotary_dim / 2);
  for (size_t i = 0; i < inverse.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    inverse[i] =
        1.0f / static_cast<float>(std::pow(static_cast<double>(static_cast<float>(base)), double{exponent}));
  }
  return inverse;
}

Result<RopePlan> plan_rope(const ModelSpec& spec) {
  const uint32_t head_dim = spec.mla ? spec.mla->qk_rope_head_dim : spec.head_dim;
  const double local_base = spec.rope_local_base_freq.value_or(spec.rope_theta);
  const double local_part = spec.local_partial_rotary_factor.value_or(spec.partial_rotary_factor);
  AMPHORA_TRY(check_base_and_part(spec.rope_theta, spec.partial_rotary_factor, head_dim));
  AMPHORA_TRY(check_base_and_part(local_base, local_part, head_dim));

  RopePlan plan;
  plan.global.inverse =
      default_inverse_frequencies(spec.rope_theta, rotary_dimensions(head_dim, spec.partial_rotary_factor));
  plan.local.inverse = default_inverse_frequencies(local_base, rotary_dimensions(head_dim, local_part));

  if (spec.yarn) {
    AMPHORA_TRY(check_yarn(*spec.yarn, spec.rope_theta));
    apply_yarn(*spec.yarn, spec.rope_theta, plan.global.inverse);
    plan.global.scale = static_cast<float>(spec.yarn->attention_factor);
  }
  if (!spec.rope_freq_factors.empty())
    AMPHORA_TRY(divide(plan.global.inverse, spec.rope_freq_factors, "rope_freq_factors"));
  if (spec.longrope) {
    const LongRopeSpec& longrope = *spec.longrope;
    if (!(longrope.attention_factor > 0))
      return fail(Fault::kCorrupt, "arch.longrope.attention_factor is not positive");
    plan.long_threshold = longrope.original_max_position_embeddings;
    plan.global.scale = static_cast<float>(longrope.attention_factor);
    plan.long_global = plan.global;
    AMPHORA_TRY(divide(plan.global.inverse, longrope.short_factors, "longrope.short"));
    AMPHORA_TRY(divide(plan.long_global->inverse, longrope.long_factors, "longrope.long"));
    // Local layers have frequencies of their own only if the model gives them a base of their own.
    if (!spec.rope_local_base_freq) {
      plan.local = plan.global;
      plan.long_local = plan.long_global;
    } else {
      plan.long_local = plan.local;
    }
  }
  return plan;
}

void fill_rope(const RopeFrequencies& frequencies, size_t first_position, size_t tokens, float* cosines,
               float* sines) {
  const size_t half = frequencies.inverse.size();
  for (size_t t = 0; t < tokens; ++t) {
    const float position = static_cast<float>(first_position + t);
    for (size_t i = 0; i < half; ++i) {
      const double angle =
          position * frequencies.inverse[i];  // rounded to float32 first, as the reference does
      cosines[t * half + i] = static_cast<float>(std::cos(angle)) * frequencies.scale;
      sines[t * half + i] = static_cast<float>(std::sin(angle)) * frequencies.scale;
    }
  }
}

}  // namespace amphora::model
