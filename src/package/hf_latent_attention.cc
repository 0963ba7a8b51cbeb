// The two orders of rows: see hf_latent_attention.h.
#include "package/hf_latent_attention.h"

#include <fmt/format.h>

#include <string_view>

#include "package/tensor_views.h"

namespace amphora::package {
namespace {

/// Rows of queries, or of the latent vector with the shared rope key behind it.
enum class Rows : uint8_t { kQueries, kLatent, kOthers };

Rows rows_of(std::string_view name) {
  const size_t end = name.rfind('.');  // in front of "weight" or "bias"
  const std::string_view stem = name.substr(0, end);
  if (stem.ends_with(".self_attn.q_proj") || stem.ends_with(".self_attn.q_b_proj")) return Rows::kQueries;
  return stem.ends_with(".self_attn.kv_a_proj_with_mqa") ? Rows::kLatent : Rows::kOthers;
}

/// Where the rope rows of one head lie.
struct RopeRows {
  uint64_t count;
  bool interleaved;

  uint64_t source(uint64_t row) const {
    if (!interleaved) return row;
    const uint64_t half = count / 2;
    return row < half ? 2 * row : 2 * (row - half) + 1;
  }
};

}  // namespace

Status reorder_latent_attention(const ModelSpec& spec, bool interleaved,
                                std::vector<PackageTensor>& tensors) {
  if (!spec.mla) return {};
  const RopeRows rope{spec.mla->qk_rope_head_dim, interleaved};
  const uint64_t nope = spec.mla->qk_nope_head_dim, latent = spec.mla->kv_lora_rank;
  const uint64_t head = rope.count + nope;
  for (PackageTensor& tensor : tensors) {
    const Rows rows = rows_of(tensor.name);
    if (rows == Rows::kOthers) continue;
    const uint64_t wanted = rows == Rows::kQueries ? spec.num_attention_heads * head : latent + rope.count;
    if (tensor.shape.empty() || tensor.shape[0] != wanted)
      return fail_at(Fault::kCorrupt, "Shape", tensor.name, std::nullopt,
                     fmt::format("tensor {} has {} rows, config.json wants {}", tensor.name,
                                 tensor.shape.empty() ? 0 : tensor.shape[0], wanted));
    if (rows == Rows::kQueries)
      tensor = gathered_rows(tensor, wanted, [=](uint64_t row) {
        const uint64_t in_head = row % head, start = row - in_head;
        return start + (in_head < rope.count ? nope + rope.source(in_head) : in_head - rope.count);
      });
    else
      tensor = gathered_rows(tensor, wanted, [=](uint64_t row) {
        return row < latent ? row : latent + rope.source(row - latent);
      });
  }
  return {};
}

}  // namespace amphora::package
