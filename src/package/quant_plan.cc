// The policy, and its exceptions by name and shape.
#include "package/quant_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quant/codec.h"

namespace amphora {
namespace {

using quant::Codec;
using quant::find_codec;

constexpr uint64_t kFewestElements = 32;

/// Small matrices that decide a lot: a router's choice, a gate, the decay of a recurrence.
constexpr std::array<std::string_view, 5> kDelicate = {
    "mlp.gate.weight",
    "shared_expert_gate.weight",
    "conv1d.weight",
    "linear_attn.in_proj_a.weight",
    "linear_attn.in_proj_b.weight",
};
constexpr std::array<std::string_view, 2> kVocabularyMatrices = {"model.embed_tokens.weight",
                                                                 "lm_head.weight"};

bool is_plain_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_below_8_bits(DType dtype) {
  return !is_plain_float(dtype) && dtype != DType::kU8 && dtype != DType::kQ8Row && dtype != DType::kQ82F;
}

DType kept_type(const PackageTensor& tensor) {
  if (tensor.dtype) return *tensor.dtype;
  // Rows that were reordered on the way in are no longer the stored payload, but still of that type.
  if (tensor.stored_type == "F32") return DType::kF32;
  if (tensor.stored_type == "BF16") return DType::kBF16;
  return DType::kF16;
}

struct Choice {
  DType dtype;
  bool fallback = false;
};

Choice choose(const PackageTensor& tensor, const QuantPlanOptions& options) {
  if (tensor.dtype == DType::kU8) return {DType::kU8};  // text of a configuration, not numbers
  const auto rule = std::ranges::find_if(
      options.rules.rbegin(), options.rules.rend(),
      [&](const QuantRule& candidate) { return candidate.pattern.found_in(tensor.name); });
  const bool by_rule = rule != options.rules.rend();
  const QuantTarget target = by_rule ? rule->target : options.target;
  if (!target.dtype) return {kept_type(tensor)};
  if (is_plain_float(*target.dtype)) return {*target.dtype};

  if (tensor.shape.size() != 2 || tensor.elements() < kFewestElements) return {DType::kF16};
  if (!by_rule) {
    const auto ends_name = [&](std::string_view suffix) { return tensor.name.ends_with(suffix); };
    if (std::ranges::any_of(kDelicate, ends_name)) return {DType::kF16};
    if (is_below_8_bits(*target.dtype) &&
        std::ranges::find(kVocabularyMatrices, tensor.name) != kVocabularyMatrices.end())
      return {DType::kQ8Row};
  }
  if (!find_codec(*target.dtype)->check_place(tensor.name, tensor.shape)) return {DType::kQ82F, true};
  return {*target.dtype};
}

Result<PlannedTensor> plan_tensor(const PackageTensor& tensor, const QuantPlanOptions& options) {
  const Choice choice = choose(tensor, options);
  const Codec& codec = *find_codec(choice.dtype);
  PlannedTensor planned{.source = &tensor, .dtype = choice.dtype, .fallback = choice.fallback};
  if (tensor.dtype == choice.dtype) {
    planned.verbatim = true;
    planned.bytes = tensor.stored.size();
    return planned;
  }
  if (!codec.can_encode() || codec.payload_bytes == nullptr)
    return fail_at(Fault::kUnsupported, "", tensor.name, std::nullopt,
                   fmt::format("tensor {}: this version cannot write {}", tensor.name, codec.name));
  if (const Status place = codec.check_place(tensor.name, tensor.shape); !place)
    return fail_at(
        Fault::kUnsupported, "", tensor.name, std::nullopt,
        fmt::format("tensor {}: {} cannot carry it: {}", tensor.name, codec.name, place.error().message));
  const auto bytes = codec.payload_bytes(tensor.shape);
  if (!bytes)
    return fail_at(Fault::kRefused, "", tensor.name, std::nullopt,
                   fmt::format("tensor {}: its size overflows", tensor.name));
  planned.bytes = *bytes;
  return planned;
}

std::string known_targets() {
  std::string names;
  for (const Codec& codec : quant::codecs())
    if (codec.can_encode() && codec.payload_bytes != nullptr && !codec.cli_name.empty())
      names += std::string(codec.cli_name) + " ";
  return names + "keep";
}

}  // namespace

Result<QuantTarget> parse_quant_target(std::string_view name) {
  if (name == "keep") return QuantTarget{};
  const Codec* codec = find_codec(name);
  if (codec == nullptr || codec->dtype == DType::kU8)
    return fail(Fault::kUsage,
                fmt::format("there is no element type '{}' (known: {})", name, known_targets()));
  if (!codec->can_encode() || codec->payload_bytes == nullptr)
    return fail(Fault::kUnsupported,
                fmt::format("this version cannot write {} (it can: {})", codec->name, known_targets()));
  return QuantTarget{codec->dtype};
}

Result<QuantRule> parse_quant_rule(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Fault::kUsage, fmt::format("'{}' is not a rule: wanted REGEX=TYPE", text));
  AMPHORA_ASSIGN(NamePattern pattern, NamePattern::compile(text.substr(0, equals)));
  AMPHORA_ASSIGN(const QuantTarget target, parse_quant_target(text.substr(equals + 1)));
  return QuantRule{std::move(pattern), target, std::string(text)};
}

Result<std::vector<PlannedTensor>> plan_quantisation(const Package& package,
                                                     const QuantPlanOptions& options) {
  std::vector<PlannedTensor> plan;
  plan.reserve(package.tensors.size());
  std::vector<std::string_view> fallen_back;
  for (const PackageTensor& tensor : package.tensors) {
    AMPHORA_ASSIGN(plan.emplace_back(), plan_tensor(tensor, options));
    if (plan.back().fallback) fallen_back.push_back(tensor.name);
  }
  if (options.no_fallback && !fallen_back.empty())
    return fail_at(Fault::kRefused, "", std::string(fallen_back.front()), std::nullopt,
                   fmt::format("{} tensors cannot have the type asked for, and falling back is forbidden: {}",
                               fallen_back.size(), fmt::join(fallen_back, ", ")));
  return plan;
}

}  // namespace amphora
