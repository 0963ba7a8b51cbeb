// Rope bases, scaling and frequency factors from GGUF metadata.
#include "package/gguf_rope.h"

#include <fmt/format.h>

#include <cmath>

namespace amphora::package {
namespace {

constexpr double kDefaultBase = 10000;
constexpr double kGemma3LocalBase = 10000;  // what its files leave out

double read_base(MetadataReader& in, std::string_view key, double otherwise) {
  const double base = in.find_float(key).value_or(otherwise);
  if (!(base > 1)) in.reject(key, fmt::format("{} is not above 1", base));
  return base;
}

void read_rotary_part(MetadataReader& in, ModelSpec& spec) {
  const uint32_t rotary = in.find_integer("rope.dimension_count").value_or(spec.head_dim);
  if (rotary == 0 || rotary > spec.head_dim || rotary % 2 != 0)
    in.reject("rope.dimension_count", fmt::format("{} is not an even number from 2 to {}, the size of a head",
                                                  rotary, spec.head_dim));
  spec.partial_rotary_factor = static_cast<double>(rotary) / spec.head_dim;
}

double read_factor(MetadataReader& in, std::string_view key) {
  const double factor = in.read_float(key);
  if (in.ok() && !(factor > 0)) in.reject(key, fmt::format("{} is not above 0", factor));
  return factor;
}

/// ggml multiplies cosine and sine by 1 + 0.1 ln(factor), as the paper has it, and by attn_factor.
void read_yarn(MetadataReader& in, ModelSpec& spec) {
  YarnSpec yarn;
  yarn.factor = read_factor(in, "rope.scaling.factor");
  yarn.original_max_position_embeddings =
      in.find_integer("rope.scaling.original_context_length").value_or(spec.max_position_embeddings);
  if (yarn.original_max_position_embeddings == 0)
    in.reject("rope.scaling.original_context_length", "0 positions");
  yarn.beta_fast = in.find_float("rope.scaling.yarn_beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = in.find_float("rope.scaling.yarn_beta_slow").value_or(yarn.beta_slow);
  if (!(yarn.beta_slow > 0 && yarn.beta_fast > 0))
    in.reject("rope.scaling.yarn_beta_fast", "the betas are not above 0");
  for (const std::string_view key : {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"})
    if (const auto value = in.find_float(key); value && *value != 1 && *value != -1)  // -1: "as usual"
      in.reject(key, fmt::format("{} is not supported, only 1 is", *value), Fault::kUnsupported);
  const double magnitude = yarn.factor > 1 ? 1 + 0.1 * std::log(yarn.factor) : 1;
  yarn.attention_factor = magnitude * in.find_float("rope.scaling.attn_factor").value_or(1);
  spec.yarn = yarn;
}

/// The factor by which all frequencies of global layers are divided; 1 without linear scaling.
double read_scaling(MetadataReader& in, ModelSpec& spec) {
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
  if (*kind == "none") return 1;
  if (*kind == "linear") return read_factor(in, "rope.scaling.factor");
  if (*kind == "yarn") {
    read_yarn(in, spec);
    return 1;
  }
  in.reject(
      "rope.scaling.type",
      fmt::format("the rope kind '{}' is not supported (known: none, linear, yarn)", kind->substr(0, 40)),
      Fault::kUnsupported);
  return 1;
}

Status read_factors_tensor(const gguf::Directory& directory, ModelSpec& spec, size_t wanted) {
  const gguf::Tensor* tensor = directory.find_tensor(kRopeFactorsTensor);
  if (tensor == nullptr) return {};
  const auto bad = [&](std::string message) {
    return fail_at(Fault::kCorrupt, "RopeFactors", std::string(kRopeFactorsTensor), tensor->record_offset,
                   fmt::format("{} {}", kRopeFactorsTensor, message));
  };
  if (tensor->shape.size() != 1 || tensor->elements != wanted)
    return bad(
        fmt::format("has {} elements, wanted {}: half the rotary dimensions", tensor->elements, wanted));
  spec.rope_freq_factors.resize(wanted);
  AMPHORA_TRY(quant::ggml::decode_elements(*tensor->type, tensor->data, 0, spec.rope_freq_factors));
  for (const float factor : spec.rope_freq_factors)
    if (!(factor > 0) || !std::isfinite(factor))
      return bad(fmt::format("holds {}, which is not above 0", factor));
  if (spec.yarn)
    return fail_at(Fault::kUnsupported, "RopeFactors", std::string(kRopeFactorsTensor), tensor->record_offset,
                   fmt::format("{} together with rope kind 'yarn' is not supported", kRopeFactorsTensor));
  return {};
}

}  // namespace

Status decode_gguf_rope(const gguf::Directory& directory, const GgufArchitecture& architecture,
                        MetadataReader& in, ModelSpec& spec) {
  spec.rope_theta = read_base(in, "rope.freq_base", kDefaultBase);
  if (architecture.gemma) spec.rope_local_base_freq = read_base(in, "rope.freq_base_swa", kGemma3LocalBase);
  read_rotary_part(in, spec);
  const double factor = read_scaling(in, spec);
  AMPHORA_TRY(in.status());
  const auto pairs = static_cast<size_t>(std::lround(spec.head_dim * spec.partial_rotary_factor)) / 2;
  AMPHORA_TRY(read_factors_tensor(directory, spec, pairs));
  if (factor == 1) return {};
  if (spec.rope_freq_factors.empty()) spec.rope_freq_factors.assign(pairs, 1.0f);
  for (float& each : spec.rope_freq_factors) each *= static_cast<float>(factor);
  return {};
}

}  // namespace amphora::package
