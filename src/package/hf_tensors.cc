// From stored tensors to canonical ones: see hf_tensors.h.
#include "package/hf_tensors.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "package/fused_tensors.h"
#include "package/hf_delta_net.h"
#include "package/hf_experts.h"
#include "package/hf_latent_attention.h"
#include "package/hf_names.h"
#include "package/hf_predictor.h"
#include "package/hf_residual.h"

namespace amphora::package {
namespace {

std::optional<DType> dtype_of(safetensors::ElementType type) {
  switch (type) {
    case safetensors::ElementType::kF32: return DType::kF32;
    case safetensors::ElementType::kF16: return DType::kF16;
    case safetensors::ElementType::kBF16: return DType::kBF16;
    default: return std::nullopt;
  }
}

PackageTensor package_tensor(const safetensors::Tensor& tensor, std::string name,
                             const std::filesystem::path& file) {
  PackageTensor out;
  out.name = std::move(name);
  out.shape = tensor.shape;
  out.stored_type = safetensors::info(tensor.type).name;
  out.dtype = dtype_of(tensor.type);
  if (out.dtype) out.stored = tensor.data;
  out.mapped = tensor.data;
  out.stored_bytes = tensor.data.size();
  out.stored_offset = tensor.offset;
  out.file = file;
  out.read = [type = tensor.type, data = tensor.data](uint64_t first, std::span<float> values) {
    return safetensors::decode_elements(type, data, first, values);
  };
  return out;
}

}  // namespace

Status HfTensors::add(const safetensors::Tensor& tensor, const std::filesystem::path& file) {
  const bool is_scale = config_.fp8 && is_fp8_scale(tensor.name);
  if (const std::string_view method = quantiser_of(tensor.name); !method.empty() && !is_scale)
    return fail_at(Fault::kUnsupported, "Quantised", tensor.name, std::nullopt,
                   fmt::format("the source is already quantised by {} (tensor {}): get the original weights",
                               method, tensor.name));
  if (is_rotary_table(tensor.name)) {
    ++rotary_tables_;
    return {};
  }
  if (config_.has_other_parts && is_other_part(tensor.name)) {
    ++other_parts_;
    return {};
  }
  auto canonical = canonical_name(tensor.name);
  if (!canonical) {
    ++unmatched_[std::string(prefix_of(tensor.name))];
    return {};
  }
  if (!canonical->rule.empty()) ++renamed_[canonical->rule];
  if (safetensors::info(tensor.type).decode == nullptr)
    return fail_at(Fault::kUnsupported, "ElementType", tensor.name, std::nullopt,
                   fmt::format("tensor {} has elements of type {}, which are not numbers that can be read",
                               tensor.name, safetensors::info(tensor.type).name));
  if (!names_.insert(canonical->name).second)
    return fail_at(Fault::kCorrupt, "Duplicate", tensor.name, std::nullopt,
                   fmt::format("two tensors are called {}, the second as {} in {}", canonical->name,
                               tensor.name, file.filename().string()));
  package_.tensors.push_back(package_tensor(tensor, std::move(canonical->name), file));
  return {};
}

Status HfTensors::finish() {
  if (!unmatched_.empty()) {
    std::vector<std::string> prefixes;
    for (const auto& [prefix, count] : unmatched_)
      prefixes.push_back(fmt::format("{} ({} tensors)", prefix, count));
    return fail_at(Fault::kUnsupported, "Names", "", std::nullopt,
                   fmt::format("tensor names of no known scheme: {}", fmt::join(prefixes, ", ")));
  }
  AMPHORA_TRY(change_layouts());
  AMPHORA_TRY(refuse_duplicates());
  add_notes();
  return {};
}

Status HfTensors::change_layouts() {
  if (config_.fp8) AMPHORA_TRY(dequantise_fp8(*config_.fp8, package_));
  AMPHORA_TRY(place_predictor(config_.predictor, package_));
  AMPHORA_TRY(split_fused_tensors());
  AMPHORA_ASSIGN(const uint64_t banks, place_experts(package_.spec, package_.tensors));
  fused_ += banks;
  AMPHORA_TRY(reorder_latent_attention(package_.spec, config_.rope_interleaved, package_.tensors));
  fold_residual_multiplier(config_.residual_multiplier, package_);
  return {};
}

Status HfTensors::split_fused_tensors() {
  std::vector<PackageTensor> tensors;
  tensors.reserve(package_.tensors.size());
  for (PackageTensor& tensor : package_.tensors) {
    AMPHORA_ASSIGN(std::vector<PackageTensor> parts, split_fused(tensor, package_.spec));
    if (parts.empty()) {
      AMPHORA_ASSIGN(parts, split_delta_net(tensor, package_.spec));
    }
    fused_ += parts.empty() ? 0 : 1;
    if (parts.empty()) parts.push_back(std::move(tensor));
    std::ranges::move(parts, std::back_inserter(tensors));
  }
  package_.tensors = std::move(tensors);
  return {};
}

/// Two stored tensors may turn out to hold the same canonical one.
Status HfTensors::refuse_duplicates() const {
  std::unordered_set<std::string_view> names;
  for (const PackageTensor& tensor : package_.tensors)
    if (!names.insert(tensor.name).second)
      return fail_at(Fault::kCorrupt, "Duplicate", tensor.name, std::nullopt,
                     fmt::format("{} is stored twice, once as a part of a fused tensor", tensor.name));
  return {};
}

void HfTensors::add_notes() {
  std::vector<std::string>& notes = package_.notes;
  for (const auto& [rule, count] : renamed_) notes.push_back(fmt::format("{} tensors were {}", count, rule));
  if (fused_ != 0)
    notes.push_back(fmt::format("{} fused tensors were split into the matrices they hold", fused_));
  if (const ModelSpec& spec = package_.spec; spec.mla && spec.rms_norm_eps != kLatentNormEps)
    notes.push_back(
        fmt::format("latent vectors are normed with rms_norm_eps, {}: transformers takes {} for them",
                    spec.rms_norm_eps, kLatentNormEps));
  if (rotary_tables_ != 0)
    notes.push_back(
        fmt::format("{} rotary_emb.inv_freq tables ignored: the configuration gives them", rotary_tables_));
  if (other_parts_ != 0)
    notes.push_back(fmt::format("{} tensors of other parts than the language model left out", other_parts_));
}

}  // namespace amphora::package
