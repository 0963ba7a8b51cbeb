// Rope bases, scaling and frequency factors from GGUF metadata.
#include "package/gguf_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace amphora::package {
namespace {

constexpr double kDefaultBase = 10000;
constexpr std::string_view kAttentionFactorKey = "rope.scaling.attn_factor";
/// Files of latent attention hold this multiple of mscale_all_dim.
constexpr float kLatentMultiplierUnit = 0.1f;

double read_base(MetadataReader& in, std::string_view key, double otherwise) {
  const double base = in.find_float(key).value_or(otherwise);
  if (!(base > 1)) in.reject(key, fmt::format("{} is not above 1", base));
  return base;
}

bool has_local_layers(const ModelSpec& spec) {
  return std::ranges::find(spec.layer_types, LayerType::kSlidingAttention) != spec.layer_types.end();
}

void read_bases(const GgufArchitecture& architecture, MetadataReader& in, ModelSpec& spec) {
  spec.rope_theta = read_base(in, "rope.freq_base", kDefaultBase);
  const double own = architecture.local_rope_base.value_or(0);
  const double local = read_base(in, "rope.freq_base_swa", own == 0 ? spec.rope_theta : own);
  if (has_local_layers(spec) && (architecture.local_rope_base || local != spec.rope_theta))
    spec.rope_local_base_freq = local;
}

void read_rotary_part(MetadataReader& in, ModelSpec& spec) {
  const uint32_t rotary = in.find_integer("rope.dimension_count").value_or(spec.head_dim);
  if (rotary == 0 || rotary > spec.head_dim || rotary % 2 != 0)
    in.reject("rope.dimension_count", fmt::format("{} is not an even number from 2 to {}, the size of a head",
                                                  rotary, spec.head_dim));
  spec.partial_rotary_factor = static_cast<double>(rotary) / spec.head_dim;
  in.find("rope.dimension_sections");  // of positions in images: those of a text are the same on all axes
}

double read_factor(MetadataReader& in, std::string_view key) {
  const double factor = in.read_float(key);
  if (in.ok() && !(factor > 0)) in.reject(key, fmt::format("{} is not above 0", factor));
  return factor;
}

uint32_t read_original_context(MetadataReader& in, const ModelSpec& spec) {
  constexpr std::string_view kKey = "rope.scaling.original_context_length";
  const uint32_t original = in.find_integer(kKey).value_or(spec.max_position_embeddings);
  if (original == 0) in.reject(kKey, "0 positions");
  return original;
}

double yarn_magnitude(double factor, double coefficient) {
  return factor > 1 ? 1 + 0.1 * coefficient * std::log(factor) : 1;
}

/// ggml multiplies cosine and sine by 1 + 0.1 ln(factor), as the paper has it, divided by the same of
/// mscale_all_dim, and by attn_factor. Under latent attention mscale is mscale_all_dim, which leaves 1, and
/// mscale_all_dim scales the scores.
void read_yarn(const GgufArchitecture& architecture, MetadataReader& in, ModelSpec& spec) {
  YarnSpec yarn;
  yarn.factor = read_factor(in, "rope.scaling.factor");
  yarn.original_max_position_embeddings = read_original_context(in, spec);
  yarn.beta_fast = in.find_float("rope.scaling.yarn_beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = in.find_float("rope.scaling.yarn_beta_slow").value_or(yarn.beta_slow);
  if (!(yarn.beta_slow > 0 && yarn.beta_fast > 0))
    in.reject("rope.scaling.yarn_beta_fast", "the betas are not above 0");
  for (const std::string_view key : {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"})
    if (const auto value = in.find_float(key); value && *value != 1 && *value != -1)  // -1: "as usual"
      in.reject(key, fmt::format("{} is not supported, only 1 is", *value), Fault::kUnsupported);
  const double multiplier = in.find_float("rope.scaling.yarn_log_multiplier").value_or(0);
  double magnitude = yarn_magnitude(yarn.factor, 1);
  if (multiplier != 0 && architecture.mixer == GgufMixer::kLatent) {
    yarn.mscale_all_dim = static_cast<float>(multiplier) / kLatentMultiplierUnit;
    magnitude = 1;
  } else if (multiplier != 0) {
    magnitude /= yarn_magnitude(yarn.factor, multiplier);
  }
  yarn.attention_factor = magnitude * in.find_float(kAttentionFactorKey).value_or(1);
  spec.yarn = yarn;
}

/// The factor by which all frequencies of global layers are divided; 1 without linear scaling.
double read_scaling(const GgufArchitecture& architecture, MetadataReader& in, ModelSpec& spec) {
  const auto kind = in.find_string("rope.scaling.type");
  const auto old_linear = in.find_float("rope.scale_linear");
  if (old_linear && !(*old_linear > 0))
    in.reject("rope.scale_linear", fmt::format("{} is not above 0", *old_linear));
  if (!in.ok()) return 1;
  if (!kind) {
    const auto factor = in.find_float("rope.scaling.factor");  // ggml takes a factor without a kind as linear
    if (factor && !(*factor > 0)) in.reject("rope.scaling.factor", fmt::format("{} is not above 0", *factor));
    return factor ? *factor : old_linear.value_or(1);
  }
  if (*kind == "none" || *kind == "longrope") return 1;  // LongRoPE's factors are tensors
  if (*kind == "linear") return read_factor(in, "rope.scaling.factor");
  if (*kind == "yarn") {
    read_yarn(architecture, in, spec);
    return 1;
  }
  in.reject("rope.scaling.type",
            fmt::format("the rope kind '{}' is not supported (known: none, linear, yarn, longrope)",
                        kind->substr(0, 40)),
            Fault::kUnsupported);
  return 1;
}

/// The factors of one tensor, which must be there: one for each pair of rotary dimensions.
Result<std::vector<float>> read_factors(const gguf::Directory& directory, std::string_view name,
                                        size_t pairs) {
  const gguf::Tensor* tensor = directory.find_tensor(name);
  if (tensor == nullptr)
    return fail_at(Fault::kCorrupt, "Missing", std::string(name), std::nullopt,
                   fmt::format("there is no tensor {}", name));
  const auto bad = [&](std::string message) {
    return fail_at(Fault::kCorrupt, "RopeFactors", std::string(name), tensor->record_offset,
                   fmt::format("{} {}", name, message));
  };
  if (tensor->shape.size() != 1 || tensor->elements != pairs)
    return bad(
        fmt::format("has {} elements, wanted {}: half the rotary dimensions", tensor->elements, pairs));
  std::vector<float> factors(pairs);
  AMPHORA_TRY(quant::ggml::decode_elements(*tensor->type, tensor->data, 0, factors));
  for (const float factor : factors)
    if (!(factor > 0) || !std::isfinite(factor))
      return bad(fmt::format("holds {}, which is not above 0", factor));
  return factors;
}

Status read_longrope(const gguf::Directory& directory, MetadataReader& in, ModelSpec& spec, size_t pairs) {
  const auto has = [&](std::string_view name) { return directory.find_tensor(name) != nullptr; };
  const bool said = in.find_string("rope.scaling.type") == "longrope";
  if (!said && !has(kLongFactorsTensor) && !has(kShortFactorsTensor)) return {};
  LongRopeSpec longrope;
  AMPHORA_ASSIGN(longrope.long_factors, read_factors(directory, kLongFactorsTensor, pairs));
  AMPHORA_ASSIGN(longrope.short_factors, read_factors(directory, kShortFactorsTensor, pairs));
  longrope.original_max_position_embeddings = read_original_context(in, spec);
  longrope.attention_factor = in.find_float(kAttentionFactorKey).value_or(1);
  spec.longrope = longrope;
  return in.status();
}

/// Only one kind of scaling has a place, and ours reach only layers that see everything (LongRoPE: all).
Status refuse_mixed_kinds(const gguf::Directory& directory, const GgufArchitecture& architecture,
                          const ModelSpec& spec, double factor) {
  const auto refuse = [&](std::string_view name, std::string_view beside) {
    const gguf::Tensor* tensor = directory.find_tensor(name);
    return fail_at(Fault::kUnsupported, "RopeFactors", std::string(name),
                   tensor != nullptr ? std::optional(tensor->record_offset) : std::nullopt,
                   fmt::format("{} together with {} is not supported", name, beside));
  };
  if (spec.yarn && !spec.rope_freq_factors.empty()) return refuse(kRopeFactorsTensor, "rope kind 'yarn'");
  if (spec.longrope && spec.yarn) return refuse(kLongFactorsTensor, "rope kind 'yarn'");
  if (spec.longrope && factor != 1) return refuse(kLongFactorsTensor, "linear scaling");
  if (spec.longrope && !spec.rope_freq_factors.empty()) return refuse(kLongFactorsTensor, kRopeFactorsTensor);
  const bool scaled = spec.yarn || !spec.rope_freq_factors.empty() || factor != 1;
  if (scaled && has_local_layers(spec) && !architecture.local_rope_base)
    return fail_at(Fault::kUnsupported, "Metadata", fmt::format("{}.rope.scaling", architecture.name),
                   std::nullopt, "scaled rotary frequencies of layers with a window are not supported");
  return {};
}

}  // namespace

Status decode_gguf_rope(const gguf::Directory& directory, const GgufArchitecture& architecture,
                        MetadataReader& in, ModelSpec& spec) {
  read_bases(architecture, in, spec);
  read_rotary_part(in, spec);
  const double factor = read_scaling(architecture, in, spec);
  AMPHORA_TRY(in.status());
  const auto pairs = static_cast<size_t>(std::lround(spec.head_dim * spec.partial_rotary_factor)) / 2;
  if (directory.find_tensor(kRopeFactorsTensor) != nullptr) {
    AMPHORA_ASSIGN(spec.rope_freq_factors, read_factors(directory, kRopeFactorsTensor, pairs));
  }
  AMPHORA_TRY(read_longrope(directory, in, spec, pairs));
  if (!spec.yarn && !spec.longrope && in.find_float(kAttentionFactorKey).value_or(1) != 1)
    in.reject(kAttentionFactorKey, "is supported for yarn and longrope only", Fault::kUnsupported);
  AMPHORA_TRY(in.status());
  AMPHORA_TRY(refuse_mixed_kinds(directory, architecture, spec, factor));
  if (factor == 1) return {};
  if (spec.rope_freq_factors.empty()) spec.rope_freq_factors.assign(pairs, 1.0f);
  for (float& each : spec.rope_freq_factors) each *= static_cast<float>(factor);
  return {};
}

}  // namespace amphora::package
