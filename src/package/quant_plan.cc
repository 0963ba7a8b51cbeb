// The policy, and its exceptions by name and shape.
#include "package/quant_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "package/tensor_names.h"

namespace amphora {
namespace {

using quant::Codec;
using quant::find_codec;

constexpr uint64_t kFewestElements = 32;
/// The narrowest and the widest row of vbit: a mean beyond them cannot be met.
constexpr double kLeastBudget = 3, kMostBudget = 8;

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
  DType wanted = dtype;
  std::optional<double> vbit_budget = {};
};

/// `own_name` is that of the tensor which a skill's tensor replaces; else the tensor's.
Choice choose(const PackageTensor& tensor, std::string_view own_name, const QuantPlanOptions& options) {
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
    const auto ends_name = [&](std::string_view suffix) { return own_name.ends_with(suffix); };
    if (std::ranges::any_of(kDelicate, ends_name)) return {DType::kF16};
    if (is_below_8_bits(*target.dtype) &&
        std::ranges::find(kVocabularyMatrices, own_name) != kVocabularyMatrices.end())
      return {DType::kQ8Row};
  }
  const bool fits = find_codec(*target.dtype)->check_place(tensor.name, tensor.shape).has_value();
  return {fits ? *target.dtype : DType::kQ82F, !fits, *target.dtype, target.vbit_budget};
}

/// Exact bytes, or 0 for vbit, whose size its values decide.
Result<uint64_t> size_of(const PackageTensor& tensor, const Codec& codec) {
  if (!codec.can_encode())
    return fail_at(Fault::kUnsupported, "", tensor.name, std::nullopt,
                   fmt::format("tensor {}: this version cannot write {}", tensor.name, codec.name));
  if (const Status place = codec.check_place(tensor.name, tensor.shape); !place)
    return fail_at(
        Fault::kUnsupported, "", tensor.name, std::nullopt,
        fmt::format("tensor {}: {} cannot carry it: {}", tensor.name, codec.name, place.error().message));
  if (is_vbit(codec.dtype)) return 0;
  const auto bytes = quant::encoded_bytes(codec, tensor.shape, {});
  if (!bytes)
    return fail_at(Fault::kRefused, "", tensor.name, std::nullopt,
                   fmt::format("tensor {}: its size overflows", tensor.name));
  return *bytes;
}

Result<PlannedTensor> plan_tensor(const PackageTensor& tensor, std::string_view own_name,
                                  const QuantPlanOptions& options) {
  const Choice choice = choose(tensor, own_name, options);
  PlannedTensor planned;
  planned.source = &tensor;
  planned.dtype = choice.dtype;
  planned.fallback = choice.fallback;
  planned.vbit_budget = choice.vbit_budget.value_or(quant::kDefaultVbitBudget);
  if (tensor.dtype == choice.dtype && !choice.vbit_budget) {
    planned.verbatim = true;
    planned.bytes = tensor.stored.size();
  } else {
    AMPHORA_ASSIGN(planned.bytes, size_of(tensor, *find_codec(choice.dtype)));
  }
  // A payload that is copied promises what it holds.
  const bool has_content = planned.verbatim && tensor.elements() != 0;
  planned.nominal_bits =
      has_content ? 8.0 * static_cast<double>(planned.bytes) / static_cast<double>(tensor.elements())
                  : nominal_bits(choice.wanted, planned.vbit_budget);
  return planned;
}

std::string known_targets() {
  std::string names;
  for (const Codec& codec : quant::codecs()) {
    if (!codec.can_encode() || codec.dtype == DType::kU8) continue;
    if (codec.dtype == DType::kVbit)
      names += "vbit[:bits] ";
    else if (!codec.cli_name.empty())
      names += std::string(codec.cli_name) + " ";
  }
  return names + "keep";
}

Result<double> parse_budget(std::string_view text) {
  double budget = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), budget);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(budget >= kLeastBudget && budget <= kMostBudget))
    return fail(Fault::kUsage,
                fmt::format("'{}' is not a number of bits from {} to {}", text, kLeastBudget, kMostBudget));
  return budget;
}

}  // namespace

double nominal_bits(DType dtype, double vbit_budget) {
  constexpr std::array<uint64_t, 2> kLarge = {4096, 4096};
  constexpr uint8_t kWidth = 4;  // any width: the budget takes its place
  const std::vector<uint8_t> widths(is_vbit(dtype) ? kLarge[0] : 0, kWidth);
  const auto bytes = quant::encoded_bytes(*find_codec(dtype), kLarge,
                                          quant::EncodeOptions{.importance = {}, .row_widths = widths});
  const double bits =
      8.0 * static_cast<double>(bytes.value_or(0)) / static_cast<double>(kLarge[0] * kLarge[1]);
  return is_vbit(dtype) ? bits - kWidth + vbit_budget : bits;
}

Result<QuantTarget> parse_quant_target(std::string_view name) {
  if (name == "keep") return QuantTarget{};
  const size_t colon = name.find(':');
  const std::string_view type = name.substr(0, colon);
  const Codec* codec = find_codec(type);
  if (codec == nullptr || codec->dtype == DType::kU8)
    return fail(Fault::kUsage,
                fmt::format("there is no element type '{}' (known: {})", type, known_targets()));
  if (!codec->can_encode())
    return fail(Fault::kUnsupported,
                fmt::format("this version cannot write {} (it can: {})", codec->name, known_targets()));
  QuantTarget target{codec->dtype};
  if (colon == std::string_view::npos) return target;
  if (!is_vbit(codec->dtype))
    return fail(Fault::kUsage, fmt::format("'{}': only vbit takes a number of bits", name));
  AMPHORA_ASSIGN(target.vbit_budget, parse_budget(name.substr(colon + 1)));
  return target;
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
  const std::vector<std::string> skills = package::skill_ids(package);
  for (const PackageTensor& tensor : package.tensors) {
    AMPHORA_ASSIGN(plan.emplace_back(), plan_tensor(tensor, package::own_name(tensor.name, skills), options));
    if (plan.back().fallback) fallen_back.push_back(tensor.name);
  }
  if (options.no_fallback && !fallen_back.empty())
    return fail_at(Fault::kRefused, "", std::string(fallen_back.front()), std::nullopt,
                   fmt::format("{} tensors cannot have the type asked for, and falling back is forbidden: {}",
                               fallen_back.size(), fmt::join(fallen_back, ", ")));
  return plan;
}

}  // namespace amphora
