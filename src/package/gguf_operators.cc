// Experts, latent attention and gated DeltaNet from GGUF metadata.
#include "package/gguf_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "package/limits.h"

namespace amphora::package {
namespace {

constexpr uint32_t kMaxExperts = 1u << 14;  // of a layer; published models have up to 512
constexpr uint32_t kDefaultAttentionInterval = 4;

// expert_gating_func
constexpr uint32_t kGatingUnsaid = 0, kGatingSoftmax = 1, kGatingSigmoid = 2;

/// Rows of the tensor blk.N.`suffix` of the first layer that has one, expert by expert; 0 if none has.
uint32_t find_rows(const gguf::Directory& directory, const GgufModel& model, std::string_view suffix) {
  for (uint32_t layer = 0; layer < model.spec.num_layers; ++layer) {
    const gguf::Tensor* tensor = directory.find_tensor(fmt::format("blk.{}.{}", layer, suffix));
    if (tensor == nullptr || tensor->shape.size() < 2) continue;
    return static_cast<uint32_t>(std::min<uint64_t>(tensor->shape[tensor->shape.size() - 2], ~0u));
  }
  return 0;
}

/// The width of an expert that the tensors show; 0 if there are none.
uint32_t find_expert_width(const gguf::Directory& directory, const GgufModel& model) {
  if (const uint32_t rows = find_rows(directory, model, "ffn_up_exps.weight")) return rows;
  if (const uint32_t rows = find_rows(directory, model, "ffn_gate_up_exps.weight")) return rows / 2;
  return find_rows(directory, model, "ffn_up.0.weight");
}

bool any_choice_bias(const gguf::Directory& directory) {
  return std::ranges::any_of(directory.tensors, [](const gguf::Tensor& tensor) {
    return tensor.name.ends_with(".exp_probs_b.bias");
  });
}

void read_gating(const gguf::Directory& directory, MetadataReader& in, const GgufMixture& mixture,
                 MoeSpec& moe) {
  const uint32_t function = in.find_integer("expert_gating_func").value_or(kGatingUnsaid);
  // Files from before the key are of softmax routers, but for those with a bias of the choice.
  moe.router_sigmoid =
      function == kGatingUnsaid ? mixture.sigmoid || any_choice_bias(directory) : function == kGatingSigmoid;
  if (function > kGatingSigmoid)
    in.reject("expert_gating_func",
              fmt::format("the function {} is not supported, only {} (softmax) and {} (sigmoid)", function,
                          kGatingSoftmax, kGatingSigmoid),
              Fault::kUnsupported);
  moe.norm_topk_prob = in.find_bool("expert_weights_norm").value_or(mixture.normalised);
  const double scale = in.find_float("expert_weights_scale").value_or(0);
  if (scale < 0) in.reject("expert_weights_scale", fmt::format("{} is negative", scale));
  if (scale != 0) moe.routed_scaling_factor = scale;  // 0: there is none
}

void read_groups(MetadataReader& in, MoeSpec& moe) {
  const uint32_t groups = in.find_integer("expert_group_count").value_or(0);
  const uint32_t chosen = in.find_integer("expert_group_used_count").value_or(0);
  if (groups <= 1) return;
  if (moe.num_experts % groups != 0)
    in.reject("expert_group_count", fmt::format("{} does not divide {} experts", groups, moe.num_experts));
  if (chosen == 0 || chosen > groups)
    in.reject("expert_group_used_count", fmt::format("{} of {} groups", chosen, groups));
  if (!moe.router_sigmoid)
    in.reject("expert_group_count",
              "groups under a softmax router, which are chosen by their best expert (DeepSeek-V2), are not "
              "supported",
              Fault::kUnsupported);
  moe.n_group = groups;
  moe.topk_group = chosen;
}

void read_shared_expert(const gguf::Directory& directory, MetadataReader& in, const GgufModel& model,
                        MoeSpec& moe) {
  const auto width = in.find_uniform("expert_shared_feed_forward_length");
  const auto count = in.find_integer("expert_shared_count");
  uint64_t shared = 0;
  if (width)
    shared = *width;
  else if (count)
    shared = uint64_t{*count} * moe.moe_intermediate_size;
  else
    shared = find_rows(directory, model, "ffn_up_shexp.weight");
  if (shared == 0) return;
  if (shared > kMaxDimension)
    in.reject(
        width ? "expert_shared_feed_forward_length" : "expert_shared_count",
        fmt::format("a shared expert of {} neurons is more than the limit of {}", shared, kMaxDimension),
        Fault::kRefused);
  moe.shared_expert_intermediate_size = static_cast<uint32_t>(shared);
}

/// How many experts there are and how many are chosen; 0 if there are none.
uint32_t read_counts(const gguf::Directory& directory, MetadataReader& in, const GgufModel& model,
                     MoeSpec& moe) {
  const GgufMixture* mixture = model.architecture->mixture;
  const bool required = mixture != nullptr && mixture->required;
  moe.num_experts = required ? in.read_integer("expert_count") : in.find_integer("expert_count").value_or(0);
  moe.top_k = in.find_uniform("expert_used_count").value_or(0);
  if (required || moe.num_experts != 0) in.in_range("expert_count", moe.num_experts, kMaxExperts);
  if (moe.top_k > moe.num_experts)
    in.reject("expert_used_count",
              fmt::format("{} is more than the {} experts there are", moe.top_k, moe.num_experts));
  if (moe.num_experts == 0 || !in.ok()) return 0;
  if (mixture == nullptr)
    in.reject("expert_count",
              fmt::format("{} experts: mixtures are not supported for {}", moe.num_experts,
                          model.architecture->name),
              Fault::kUnsupported);
  if (moe.top_k == 0) in.reject("expert_used_count", fmt::format("none of {} experts", moe.num_experts));
  if (find_expert_width(directory, model) == 0)
    in.reject("expert_count",
              fmt::format("{} experts, but no layer has a tensor ffn_up_exps.weight", moe.num_experts));
  return in.ok() ? moe.num_experts : 0;
}

}  // namespace

void read_experts(const gguf::Directory& directory, MetadataReader& in, GgufModel& model) {
  const auto dense = in.find_integer("leading_dense_block_count");
  model.dense_layers_known = dense.has_value();
  model.dense_layers = dense.value_or(0);
  if (model.dense_layers > model.spec.num_layers)
    in.reject("leading_dense_block_count",
              fmt::format("{} dense layers of {}", model.dense_layers, model.spec.num_layers));
  MoeSpec moe;
  if (read_counts(directory, in, model, moe) == 0) return;
  const auto width = in.find_uniform("expert_feed_forward_length");
  moe.moe_intermediate_size = in.in_range(
      "expert_feed_forward_length", width ? *width : find_expert_width(directory, model), kMaxDimension);
  read_gating(directory, in, *model.architecture->mixture, moe);
  read_groups(in, moe);
  read_shared_expert(directory, in, model, moe);
  model.spec.moe = moe;
}

void read_latent_attention(const gguf::Directory& directory, MetadataReader& in, GgufModel& model) {
  ModelSpec& spec = model.spec;
  MlaSpec mla;
  mla.kv_lora_rank =
      in.in_range("attention.kv_lora_rank", in.read_integer("attention.kv_lora_rank"), kMaxDimension);
  if (directory.find_tensor("blk.0.attn_q.weight") == nullptr)
    mla.q_lora_rank =
        in.in_range("attention.q_lora_rank", in.read_integer("attention.q_lora_rank"), kMaxDimension);
  mla.qk_rope_head_dim =
      in.in_range("rope.dimension_count", in.read_integer("rope.dimension_count"), kMaxHeadDimension);
  if (mla.qk_rope_head_dim % 2 != 0)
    in.reject("rope.dimension_count", fmt::format("{} is odd", mla.qk_rope_head_dim));
  // Files with attn_k_b and attn_v_b give the sizes of latent keys and values under the plain names.
  const auto own_key = in.find_integer("attention.key_length_mla");
  const auto own_value = in.find_integer("attention.value_length_mla");
  const auto plain_key = in.find_integer("attention.key_length");
  const auto plain_value = in.find_integer("attention.value_length");
  const std::string_view key_name = own_key ? "attention.key_length_mla" : "attention.key_length";
  const std::string_view value_name = own_value ? "attention.value_length_mla" : "attention.value_length";
  const uint32_t key = own_key ? *own_key : plain_key ? *plain_key : in.read_integer(key_name);
  const uint32_t value = own_value ? *own_value : plain_value ? *plain_value : in.read_integer(value_name);
  in.in_range(key_name, key, kMaxHeadDimension);
  mla.v_head_dim = in.in_range(value_name, value, kMaxHeadDimension);
  if (key <= mla.qk_rope_head_dim)
    in.reject(key_name,
              fmt::format("{} leaves nothing beside the {} dimensions that turn", key, mla.qk_rope_head_dim));
  mla.qk_nope_head_dim = key - mla.qk_rope_head_dim;
  spec.num_kv_heads = spec.num_attention_heads;
  spec.head_dim = mla.qk_rope_head_dim;
  spec.mla = mla;
}

void read_gated_delta_net(MetadataReader& in, GgufModel& model) {
  ModelSpec& spec = model.spec;
  const auto read = [&](std::string_view key, uint32_t limit) {
    return in.in_range(key, in.read_integer(key), limit);
  };
  spec.linear_conv_kernel_dim = read("ssm.conv_kernel", kMaxHeadDimension);
  spec.linear_num_key_heads = read("ssm.group_count", kMaxHeads);
  spec.linear_key_head_dim = read("ssm.state_size", kMaxHeadDimension);
  const uint32_t value_heads = read("ssm.time_step_rank", kMaxHeads);
  const uint32_t values = read("ssm.inner_size", kMaxHeads * kMaxHeadDimension);
  if (!in.ok()) return;
  if (value_heads % *spec.linear_num_key_heads != 0)
    in.reject("ssm.time_step_rank", fmt::format("{} value heads cannot share {} key heads", value_heads,
                                                *spec.linear_num_key_heads));
  if (values % value_heads != 0)
    in.reject("ssm.inner_size", fmt::format("{} is no multiple of {} value heads", values, value_heads));
  spec.linear_num_value_heads = value_heads;
  spec.linear_value_head_dim = values / value_heads;
  spec.linear_core = LinearCoreSpec{LinearCore::kGatedDeltaNet, value_heads, values / value_heads, {}};

  constexpr std::string_view kLayersKey = "attention.recurrent_layers";
  const uint32_t interval = in.find_integer("full_attention_interval").value_or(kDefaultAttentionInterval);
  if (interval == 0) in.reject("full_attention_interval", "0 is no interval");
  const gguf::Array* flags = in.find_layer_flags(kLayersKey, spec.num_layers + model.predictor_layers);
  if (!in.ok()) return;
  for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
    const bool recurrent =
        flags != nullptr ? flags->numbers[layer] != std::byte{0} : (layer + 1) % interval != 0;
    if (recurrent) spec.layer_types[layer] = LayerType::kLinearAttention;
  }
}

}  // namespace amphora::package
