// Records of operators: see arch_operators.h.
#include "package/arch_operators.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "package/name_table.h"

namespace amphora::package {
namespace {

constexpr std::array kLinearCores = {
    NamedValue<LinearCore>{"gated_delta_net", LinearCore::kGatedDeltaNet},
    NamedValue<LinearCore>{"vmf_phase", LinearCore::kVmfPhase},
};

Result<MoeSpec> decode_moe(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  MoeSpec moe;
  moe.num_experts = in.read_integer("num_experts");
  moe.top_k = in.read_integer("top_k");
  moe.moe_intermediate_size = in.read_integer("moe_intermediate_size");
  moe.norm_topk_prob = in.find_bool("norm_topk_prob").value_or(moe.norm_topk_prob);
  moe.shared_expert_intermediate_size = in.find_integer("shared_expert_intermediate_size");
  moe.router_sigmoid = in.find_bool("router_sigmoid").value_or(moe.router_sigmoid);
  moe.routed_scaling_factor = in.find_number("routed_scaling_factor").value_or(moe.routed_scaling_factor);
  moe.router_resonance = in.find_bool("router_resonance").value_or(moe.router_resonance);
  moe.n_group = in.find_integer("n_group");
  moe.topk_group = in.find_integer("topk_group");
  AMPHORA_TRY(in.status());
  return moe;
}

Result<MlaSpec> decode_mla(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  MlaSpec mla;
  mla.kv_lora_rank = in.read_integer("kv_lora_rank");
  mla.qk_rope_head_dim = in.read_integer("qk_rope_head_dim");
  mla.qk_nope_head_dim = in.read_integer("qk_nope_head_dim");
  mla.v_head_dim = in.read_integer("v_head_dim");
  mla.q_lora_rank = in.find_integer("q_lora_rank");
  mla.nope = in.find_bool("nope").value_or(mla.nope);
  AMPHORA_TRY(in.status());
  return mla;
}

Result<LinearCoreSpec> decode_linear_core(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  LinearCoreSpec core;
  const std::string kind = in.read_string("kind");
  if (const LinearCore* known = find_value(kLinearCores, kind))
    core.kind = *known;
  else
    in.reject("kind", fmt::format("unknown kind '{}'", kind));
  core.num_heads = in.read_integer("num_heads");
  core.value_head_dim = in.read_integer("value_head_dim");
  core.nphase = in.find_integer("nphase");
  AMPHORA_TRY(in.status());
  return core;
}

json::Value integer(uint32_t value) { return json::Value::unsigned_integer(value); }

void set_if(json::Value& out, std::string_view key, const std::optional<uint32_t>& value) {
  if (value) out.set(key, integer(*value));
}

json::Value encode_moe(const MoeSpec& moe) {
  json::Value out = json::Value::object();
  out.set("num_experts", integer(moe.num_experts));
  out.set("top_k", integer(moe.top_k));
  out.set("moe_intermediate_size", integer(moe.moe_intermediate_size));
  out.set("norm_topk_prob", json::Value::boolean(moe.norm_topk_prob));
  set_if(out, "shared_expert_intermediate_size", moe.shared_expert_intermediate_size);
  if (moe.router_sigmoid) out.set("router_sigmoid", json::Value::boolean(true));
  if (moe.routed_scaling_factor != 1)
    out.set("routed_scaling_factor", json::Value::number(moe.routed_scaling_factor));
  if (moe.router_resonance) out.set("router_resonance", json::Value::boolean(true));
  set_if(out, "n_group", moe.n_group);
  set_if(out, "topk_group", moe.topk_group);
  return out;
}

json::Value encode_mla(const MlaSpec& mla) {
  json::Value out = json::Value::object();
  out.set("kv_lora_rank", integer(mla.kv_lora_rank));
  out.set("qk_rope_head_dim", integer(mla.qk_rope_head_dim));
  out.set("qk_nope_head_dim", integer(mla.qk_nope_head_dim));
  out.set("v_head_dim", integer(mla.v_head_dim));
  set_if(out, "q_lora_rank", mla.q_lora_rank);
  if (mla.nope) out.set("nope", json::Value::boolean(true));
  return out;
}

json::Value encode_mtp(const MtpSpec& mtp) {
  json::Value out = json::Value::object();
  out.set("num_layers", integer(mtp.num_layers));
  out.set("share_lm_head", json::Value::boolean(mtp.share_lm_head));
  out.set("share_embed", json::Value::boolean(mtp.share_embed));
  if (!mtp.hidden_normed) out.set("hidden_normed", json::Value::boolean(false));
  return out;
}

json::Value encode_linear_core(const LinearCoreSpec& core) {
  json::Value out = json::Value::object();
  out.set("kind", name_value(kLinearCores, core.kind));
  out.set("num_heads", integer(core.num_heads));
  out.set("value_head_dim", integer(core.value_head_dim));
  set_if(out, "nphase", core.nphase);
  return out;
}

/// Reads the record under `key` into its field, if it is there.
template <class Spec>
Status decode_record(ObjectReader& arch, std::string_view key,
                     Result<Spec> (*decode)(const json::Value&, std::string), std::optional<Spec>& field) {
  const json::Value* record = arch.find_object(key);
  if (record == nullptr) return {};
  AMPHORA_ASSIGN(field, decode(*record, arch.place(key)));
  return {};
}

}  // namespace

Result<MtpSpec> decode_mtp(const json::Value& object, std::string path) {
  ObjectReader in(object, std::move(path));
  MtpSpec mtp;
  mtp.num_layers = in.read_integer("num_layers");
  mtp.share_lm_head = in.find_bool("share_lm_head").value_or(mtp.share_lm_head);
  mtp.share_embed = in.find_bool("share_embed").value_or(mtp.share_embed);
  mtp.hidden_normed = in.find_bool("hidden_normed").value_or(mtp.hidden_normed);
  AMPHORA_TRY(in.status());
  return mtp;
}

Status decode_operators(ObjectReader& arch, ModelSpec& spec) {
  AMPHORA_TRY(decode_record(arch, "moe", decode_moe, spec.moe));
  AMPHORA_TRY(decode_record(arch, "mla", decode_mla, spec.mla));
  AMPHORA_TRY(decode_record(arch, "mtp", decode_mtp, spec.mtp));
  AMPHORA_TRY(decode_record(arch, "linear_core", decode_linear_core, spec.linear_core));
  return {};
}

void encode_operators(const ModelSpec& spec, json::Value& arch) {
  if (spec.linear_core) arch.set("linear_core", encode_linear_core(*spec.linear_core));
  if (spec.moe) arch.set("moe", encode_moe(*spec.moe));
  if (spec.mla) arch.set("mla", encode_mla(*spec.mla));
  if (spec.mtp) arch.set("mtp", encode_mtp(*spec.mtp));
}

}  // namespace amphora::package
