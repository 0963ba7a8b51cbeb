// Keys of operators: transformers 5.24, configuration_*.py and the routers in modeling_*.py.
#include "package/hf_operators.h"

#include <fmt/format.h>

#include <optional>

#include "package/hf_dimensions.h"
#include "package/limits.h"

namespace amphora::package {
namespace {

/// The number of experts under either of its names, which must then agree.
uint32_t read_expert_count(ObjectReader& in, const ExpertDefaults& defaults) {
  std::string_view key = defaults.count_key;
  if (!defaults.count_alias.empty() && in.object().find_present(defaults.count_alias) != nullptr) {
    const auto count = in.find_integer(defaults.count_key);
    const auto alias = in.find_integer(defaults.count_alias);
    if (count && alias && *count != *alias)
      in.reject(defaults.count_alias,
                fmt::format("{} here and {} as {}", *alias, *count, defaults.count_key));
    key = defaults.count_alias;
  }
  return read_dimension(in, key, defaults.num_experts, kMaxExperts);
}

/// A key that names an algorithm: only one of them is meant here.
void expect_method(ObjectReader& in, std::string_view key, std::string_view wanted) {
  if (wanted.empty()) return;
  const std::string* found = in.find_string(key);
  if (found != nullptr && *found != wanted)
    in.reject(key, fmt::format("'{}' is not supported (supported: {})", *found, wanted), Fault::kUnsupported);
}

/// Shared experts are counted or have a size of their own. A count that is null or 0 is none.
std::optional<uint32_t> read_shared_size(ObjectReader& in, const ExpertDefaults& defaults,
                                         uint32_t expert_size) {
  if (defaults.shared_expert_intermediate_size != 0)
    return read_dimension(in, "shared_expert_intermediate_size", defaults.shared_expert_intermediate_size,
                          kMaxDimension);
  if (defaults.n_shared_experts == 0) return std::nullopt;
  constexpr std::string_view kCount = "n_shared_experts";
  const bool absent = in.object().find(kCount) == nullptr;
  const uint32_t count = in.find_integer(kCount).value_or(absent ? defaults.n_shared_experts : 0);
  if (count == 0) return std::nullopt;
  const uint64_t size = uint64_t{count} * expert_size;
  if (size > kMaxDimension)
    in.reject(
        kCount,
        fmt::format("{} of {} neurons each are more than the limit of {}", count, expert_size, kMaxDimension),
        Fault::kRefused);
  return static_cast<uint32_t>(size);
}

/// Groups of neighbouring experts, of which some are chosen from (DeepSeek-V3): a group is judged by its two
/// best experts.
void read_groups(ObjectReader& in, const ExpertDefaults& defaults, MoeSpec& moe) {
  const uint32_t groups = read_dimension(in, "n_group", defaults.n_group, kMaxExperts);
  const uint32_t chosen = read_dimension(in, "topk_group", defaults.topk_group, kMaxExperts);
  if (!in.ok() || groups == 1) return;
  if (moe.num_experts % groups != 0 || moe.num_experts / groups < 2)
    in.reject("n_group",
              fmt::format("{} experts do not make {} groups of at least two", moe.num_experts, groups));
  else if (chosen > groups)
    in.reject("topk_group", fmt::format("{} of {} groups", chosen, groups));
  else if (moe.top_k > moe.num_experts / groups * chosen)
    in.reject("topk_group", fmt::format("{} experts are chosen, but {} groups hold only {}", moe.top_k,
                                        chosen, moe.num_experts / groups * chosen));
  moe.n_group = groups;
  moe.topk_group = chosen;
}

}  // namespace

void read_experts(ObjectReader& in, const ExpertDefaults& defaults, ModelSpec& spec) {
  MoeSpec moe;
  moe.num_experts = read_expert_count(in, defaults);
  moe.top_k = read_dimension(in, "num_experts_per_tok", defaults.top_k, kMaxExperts);
  if (in.ok() && moe.top_k > moe.num_experts)
    in.reject("num_experts_per_tok", fmt::format("{} of {} experts", moe.top_k, moe.num_experts));
  moe.moe_intermediate_size =
      defaults.intermediate_size == 0
          ? spec.intermediate_size
          : read_dimension(in, "moe_intermediate_size", defaults.intermediate_size, kMaxDimension);
  if (spec.intermediate_size == 0) spec.intermediate_size = moe.moe_intermediate_size;
  moe.norm_topk_prob = defaults.norm_topk_prob;
  if (defaults.norm_is_fixed && !defaults.norm_topk_prob && in.find_bool("norm_topk_prob").value_or(false))
    in.reject("norm_topk_prob", "implementations of this family disagree on what it does",
              Fault::kUnsupported);
  if (!defaults.norm_is_fixed)
    moe.norm_topk_prob = in.find_bool("norm_topk_prob").value_or(defaults.norm_topk_prob);
  moe.shared_expert_intermediate_size = read_shared_size(in, defaults, moe.moe_intermediate_size);
  moe.router_sigmoid = defaults.sigmoid;
  if (!defaults.scoring.empty()) {
    moe.routed_scaling_factor =
        in.find_number("routed_scaling_factor").value_or(defaults.routed_scaling_factor);
    if (!(moe.routed_scaling_factor > 0)) in.reject("routed_scaling_factor", "is not above 0");
  }
  expect_method(in, "scoring_func", defaults.scoring);
  expect_method(in, "topk_method", defaults.topk_method);
  if (defaults.sigmoid) read_groups(in, defaults, moe);
  spec.moe = moe;
}

void read_latent_attention(ObjectReader& in, const LatentDefaults& defaults, ModelSpec& spec) {
  MlaSpec mla;
  mla.kv_lora_rank = read_dimension(in, "kv_lora_rank", defaults.kv_lora_rank, kMaxDimension);
  const json::Value* rank = in.object().find("q_lora_rank");
  const bool whole = rank != nullptr && rank->is_null();  // null is a statement here, absence is not
  if (!whole) mla.q_lora_rank = read_dimension(in, "q_lora_rank", defaults.q_lora_rank, kMaxDimension);
  mla.qk_rope_head_dim = read_dimension(in, "qk_rope_head_dim", defaults.qk_rope_head_dim, kMaxHeadDimension);
  mla.qk_nope_head_dim = read_dimension(in, "qk_nope_head_dim", defaults.qk_nope_head_dim, kMaxHeadDimension);
  mla.v_head_dim = read_dimension(in, "v_head_dim", defaults.v_head_dim, kMaxHeadDimension);
  if (mla.qk_rope_head_dim % 2 != 0)
    in.reject("qk_rope_head_dim", fmt::format("{} is odd", mla.qk_rope_head_dim));
  spec.num_kv_heads = spec.num_attention_heads;
  spec.head_dim = mla.qk_rope_head_dim;
  spec.mla = mla;
}

void read_delta_net(ObjectReader& in, ModelSpec& spec) {
  const uint32_t key_heads = read_dimension(in, "linear_num_key_heads", 16, kMaxHeads);
  const uint32_t value_heads = read_dimension(in, "linear_num_value_heads", 32, kMaxHeads);
  const uint32_t key_dim = read_dimension(in, "linear_key_head_dim", 128, kMaxHeadDimension);
  const uint32_t value_dim = read_dimension(in, "linear_value_head_dim", 128, kMaxHeadDimension);
  if (in.ok() && value_heads % key_heads != 0)
    in.reject("linear_num_value_heads",
              fmt::format("{} key heads do not divide {} value heads", key_heads, value_heads));
  spec.linear_core = LinearCoreSpec{LinearCore::kGatedDeltaNet, value_heads, value_dim, std::nullopt};
  spec.linear_conv_kernel_dim = read_dimension(in, "linear_conv_kernel_dim", 4, kMaxHeadDimension);
  spec.linear_num_key_heads = key_heads;
  spec.linear_num_value_heads = value_heads;
  spec.linear_key_head_dim = key_dim;
  spec.linear_value_head_dim = value_dim;
}

double read_multipliers(ObjectReader& in, ModelSpec& spec) {
  const auto positive = [&](std::string_view key) {
    const double value = in.find_number(key).value_or(1);
    if (!(value > 0)) in.reject(key, fmt::format("{} is not above 0", value));
    return value;
  };
  spec.embed_multiplier = positive("embedding_multiplier");
  spec.logit_multiplier = 1 / positive("logits_scaling");
  const double attention = positive("attention_multiplier");
  spec.query_pre_attn_scalar = 1 / (attention * attention);
  return positive("residual_multiplier");
}

void expect_rope_everywhere(ObjectReader& in, const ModelSpec& spec) {
  constexpr std::string_view kLayers = "no_rope_layers";  // 1 where there is rope, in spite of the name
  if (in.object().find_present(kLayers) != nullptr) {
    const std::vector<uint32_t> rotated = in.find_integers(kLayers);
    if (in.ok() && rotated.size() < spec.num_layers)
      in.reject(kLayers, fmt::format("has {} elements for {} layers", rotated.size(), spec.num_layers));
    for (uint32_t layer = 0; in.ok() && layer < spec.num_layers; ++layer)
      if (rotated[layer] == 0)
        in.reject(kLayers,
                  fmt::format("layer {} has no rope, which the container cannot say of a layer", layer),
                  Fault::kUnsupported);
    return;
  }
  constexpr std::string_view kInterval = "no_rope_layer_interval";
  const uint32_t interval = in.find_integer(kInterval).value_or(4);
  if (interval == 0) in.reject(kInterval, "0 is no interval");
  if (interval <= spec.num_layers)
    in.reject(
        kInterval,
        fmt::format("every layer number {} has no rope, which the container cannot say of a layer", interval),
        Fault::kUnsupported);
}

}  // namespace amphora::package
