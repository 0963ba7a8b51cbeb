// Puts kv_b_proj together from its two halves.
#include "package/gguf_latent_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace amphora::package {
namespace {

/// The two stored tensors, and their sizes.
struct Halves {
  const quant::ggml::Type* key_type;
  const quant::ggml::Type* value_type;
  Bytes keys, values;
  uint64_t nope, value, latent;

  Status read(uint64_t first, std::span<float> out) const;
};

/// Row r of a head is column r of its keys, or row r − nope of its values. A head's keys are decoded as a
/// whole: a column of them has one element of each stored row.
Status Halves::read(uint64_t first, std::span<float> out) const {
  const uint64_t head_rows = nope + value;
  std::vector<float> head_keys;
  uint64_t decoded_head = 0;
  while (!out.empty()) {
    const uint64_t row = first / latent, column = first % latent;
    const uint64_t head = row / head_rows, in_head = row % head_rows;
    size_t count = std::min<uint64_t>(latent - column, out.size());
    if (in_head >= nope) {
      count = std::min<uint64_t>((head_rows - in_head) * latent - column, out.size());
      const uint64_t stored = (head * value + in_head - nope) * latent + column;
      AMPHORA_TRY(quant::ggml::decode_elements(*value_type, values, stored, out.first(count)));
    } else {
      if (head_keys.empty() || decoded_head != head) {
        head_keys.resize(latent * nope);
        AMPHORA_TRY(quant::ggml::decode_elements(*key_type, keys, head * latent * nope, head_keys));
        decoded_head = head;
      }
      for (size_t i = 0; i < count; ++i) out[i] = head_keys[(column + i) * nope + in_head];
    }
    first += count;
    out = out.subspan(count);
  }
  return {};
}

}  // namespace

void claim_latent_keys(LayerClaims& layer) {
  const MlaSpec& mla = *layer.spec().mla;
  const uint64_t heads = layer.spec().num_attention_heads;
  const uint64_t nope = mla.qk_nope_head_dim, value = mla.v_head_dim, latent = mla.kv_lora_rank;
  const gguf::Tensor* keys = layer.claims.claim(layer.stored("attn_k_b.weight"), {heads, latent, nope});
  const gguf::Tensor* values = layer.claims.claim(layer.stored("attn_v_b.weight"), {heads, value, latent});
  if (keys == nullptr || values == nullptr) return;
  PackageTensor tensor;
  tensor.name = layer.canonical("self_attn.kv_b_proj.weight");
  tensor.shape = {heads * (nope + value), latent};
  tensor.stored_type = keys->type == values->type
                           ? std::string(keys->type->name)
                           : fmt::format("{}+{}", keys->type->name, values->type->name);
  tensor.stored_bytes = keys->data.size() + values->data.size();
  tensor.stored_offset = keys->offset;
  const Halves halves{keys->type, values->type, keys->data, values->data, nope, value, latent};
  tensor.read = [halves](uint64_t first, std::span<float> out) { return halves.read(first, out); };
  layer.claims.add(*keys, std::move(tensor));
}

}  // namespace amphora::package
