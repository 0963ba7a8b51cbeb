// Attention and gated DeltaNet: names, sizes and orders of rows.
#include "package/gguf_mixers.h"

#include "package/gguf_latent_keys.h"

namespace amphora::package {
namespace {

/// Rows of the three projections, and how they are stored.
struct Projections {
  uint64_t query_rows, key_rows;
  uint64_t head_dim;
  bool paired;

  RowOrder order(uint64_t first) const {
    return paired ? halves_of_pairs(head_dim, first) : RowOrder::from(first);
  }
};

/// The weights (`columns` wide) or biases (0) of q, k and v.
void claim_projections(LayerClaims& layer, const Projections& sizes, const std::string& suffix,
                       uint64_t columns) {
  const uint64_t queries = sizes.query_rows, keys = sizes.key_rows;
  const std::string fused = "attn_qkv" + suffix;
  if (layer.has(fused)) {
    layer.claims.take(
        layer.stored(fused), LayerClaims::Size{queries + 2 * keys, columns}.shape(),
        {layer.part("self_attn.q_proj" + suffix, {queries, columns}, sizes.order(0)),
         layer.part("self_attn.k_proj" + suffix, {keys, columns}, sizes.order(queries)),
         layer.part("self_attn.v_proj" + suffix, {keys, columns}, RowOrder::from(queries + keys))});
    return;
  }
  layer.take("attn_q" + suffix, "self_attn.q_proj" + suffix, {queries, columns}, sizes.order(0));
  layer.take("attn_k" + suffix, "self_attn.k_proj" + suffix, {keys, columns}, sizes.order(0));
  layer.take("attn_v" + suffix, "self_attn.v_proj" + suffix, {keys, columns});
}

/// Dimensions of gated DeltaNet, and the order of what belongs to its value heads.
struct Delta {
  uint64_t key_heads, heads_per_key, key_dim, value_dim;
  bool tiled;

  explicit Delta(const LayerClaims& layer)
      : key_heads(*layer.spec().linear_num_key_heads),
        heads_per_key(*layer.spec().linear_num_value_heads / key_heads),
        key_dim(*layer.spec().linear_key_head_dim),
        value_dim(*layer.spec().linear_value_head_dim),
        tiled(layer.architecture().mixer == GgufMixer::kTiledDelta && key_heads > 1 && heads_per_key > 1) {}

  uint64_t value_heads() const { return key_heads * heads_per_key; }
  uint64_t keys() const { return key_heads * key_dim; }
  uint64_t values() const { return value_heads() * value_dim; }
  /// Of `rows` rows for each value head, behind `before` others.
  RowOrder order(uint64_t rows, uint64_t before = 0) const {
    return tiled ? grouped_heads(key_heads, heads_per_key, rows, before) : RowOrder::from(0);
  }
};

/// Older files of Qwen3-Next: q, k, v and z of one key head after the other.
void claim_joint_projections(LayerClaims& layer, const Delta& delta, uint64_t hidden) {
  const uint64_t group_values = delta.heads_per_key * delta.value_dim;
  const uint64_t group_rows = 2 * delta.key_dim + 2 * group_values;
  const std::pair<uint64_t, uint64_t> parts[] = {
      {0, delta.key_dim}, {delta.key_dim, delta.key_dim}, {2 * delta.key_dim, group_values}};
  std::vector<RowOrder::Run> runs;
  for (const auto& [first, rows] : parts)
    for (uint64_t key = 0; key < delta.key_heads; ++key) runs.push_back({key * group_rows + first, rows});
  const uint64_t rows = delta.key_heads * group_rows;
  layer.claims.take(layer.stored("ssm_in.weight"), {rows, hidden},
                    {layer.part("linear_attn.in_proj_qkv.weight", {2 * delta.keys() + delta.values(), hidden},
                                RowOrder(std::move(runs), rows)),
                     layer.part("linear_attn.in_proj_z.weight", {delta.values(), hidden},
                                part_of_groups(2 * delta.key_dim + group_values, group_values, group_rows))});
}

}  // namespace

void claim_attention(LayerClaims& layer) {
  const ModelSpec& spec = layer.spec();
  const uint64_t heads_rows = uint64_t{spec.num_attention_heads} * spec.head_dim;
  const uint64_t key_rows = uint64_t{spec.num_kv_heads} * spec.head_dim;
  const bool gated = has_delta_layers(layer.architecture());  // per head [query | gate]
  const Projections sizes{gated ? 2 * heads_rows : heads_rows, key_rows, spec.head_dim,
                          layer.architecture().paired_rows};
  claim_projections(layer, sizes, ".weight", spec.hidden_size);
  if (layer.has("attn_qkv.bias") || layer.has("attn_q.bias") || layer.has("attn_k.bias") ||
      layer.has("attn_v.bias"))
    claim_projections(layer, sizes, ".bias", 0);
  layer.take("attn_output.weight", "self_attn.o_proj.weight", {spec.hidden_size, heads_rows},
             RowOrder::from(0), layer.output_change());
  const bool whole = layer.architecture().norms == GgufNorms::kAfter;
  if (whole || layer.has("attn_q_norm.weight"))
    layer.take_norm("attn_q_norm.weight", "self_attn.q_norm.weight", whole ? heads_rows : spec.head_dim);
  if (whole || layer.has("attn_k_norm.weight"))
    layer.take_norm("attn_k_norm.weight", "self_attn.k_norm.weight", whole ? key_rows : spec.head_dim);
}

void claim_latent_attention(LayerClaims& layer) {
  const ModelSpec& spec = layer.spec();
  const MlaSpec& mla = *spec.mla;
  const uint64_t hidden = spec.hidden_size, heads = spec.num_attention_heads;
  const uint64_t query_rows = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  const RowOrder queries = rope_in_front(mla.qk_nope_head_dim, mla.qk_rope_head_dim);
  if (mla.q_lora_rank) {
    const uint64_t rank = *mla.q_lora_rank;
    layer.take("attn_q_a.weight", "self_attn.q_a_proj.weight", {rank, hidden});
    layer.take_norm("attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight", rank);
    layer.take("attn_q_b.weight", "self_attn.q_b_proj.weight", {query_rows, rank}, queries);
  } else {
    layer.take("attn_q.weight", "self_attn.q_proj.weight", {query_rows, hidden}, queries);
  }
  layer.take("attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight",
             {mla.kv_lora_rank + mla.qk_rope_head_dim, hidden},
             rope_behind(mla.kv_lora_rank, mla.qk_rope_head_dim));
  layer.take_norm("attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight", mla.kv_lora_rank);
  if (layer.has("attn_kv_b.weight"))
    layer.take("attn_kv_b.weight", "self_attn.kv_b_proj.weight",
               {heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank});
  else
    claim_latent_keys(layer);
  layer.take("attn_output.weight", "self_attn.o_proj.weight", {hidden, heads * mla.v_head_dim});
}

void claim_gated_delta_net(LayerClaims& layer) {
  const Delta delta(layer);
  const uint64_t hidden = layer.spec().hidden_size, value_heads = delta.value_heads();
  const uint64_t keys = delta.keys(), values = delta.values(), taps = *layer.spec().linear_conv_kernel_dim;
  if (layer.has("ssm_in.weight")) {
    claim_joint_projections(layer, delta, hidden);
  } else {
    layer.take("attn_qkv.weight", "linear_attn.in_proj_qkv.weight", {2 * keys + values, hidden},
               delta.order(delta.value_dim, 2 * keys));
    layer.take("attn_gate.weight", "linear_attn.in_proj_z.weight", {values, hidden},
               delta.order(delta.value_dim));
  }
  if (layer.has("ssm_ba.weight")) {  // the rows of b, then those of a, for one key head after the other
    const uint64_t rows = delta.heads_per_key;
    layer.claims.take(
        layer.stored("ssm_ba.weight"), {2 * value_heads, hidden},
        {layer.part("linear_attn.in_proj_b.weight", {value_heads, hidden}, part_of_groups(0, rows, 2 * rows)),
         layer.part("linear_attn.in_proj_a.weight", {value_heads, hidden},
                    part_of_groups(rows, rows, 2 * rows))});
  } else {
    layer.take("ssm_beta.weight", "linear_attn.in_proj_b.weight", {value_heads, hidden}, delta.order(1));
    layer.take("ssm_alpha.weight", "linear_attn.in_proj_a.weight", {value_heads, hidden}, delta.order(1));
  }
  layer.take("ssm_a", "linear_attn.A_log", {value_heads}, delta.order(1), {ValueChange::Kind::kLogOfNegated});
  layer.take("ssm_dt.bias", "linear_attn.dt_bias", {value_heads}, delta.order(1));
  layer.claims.take(layer.stored("ssm_conv1d.weight"), {2 * keys + values, taps},
                    {StoredPart{layer.canonical("linear_attn.conv1d.weight"),
                                {2 * keys + values, 1, taps},
                                delta.order(delta.value_dim, 2 * keys),
                                taps}});
  layer.take("ssm_norm.weight", "linear_attn.norm.weight", {delta.value_dim});  // x̂·w in every style
  // The columns belong to value heads: what is reordered are pieces of rows.
  layer.claims.take(layer.stored("ssm_out.weight"), {hidden, values},
                    {StoredPart{layer.canonical("linear_attn.out_proj.weight"),
                                {hidden, values},
                                delta.order(1),
                                delta.tiled ? delta.value_dim : values}});
}

}  // namespace amphora::package
