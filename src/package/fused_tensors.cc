// Matrices that a checkpoint stores as one.
#include "package/fused_tensors.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "package/tensor_views.h"

namespace amphora::package {
namespace {

struct FusedPart {
  std::string_view name;
  uint64_t (*rows)(const ModelSpec& spec);
};
struct Fusion {
  std::string_view name;
  std::array<FusedPart, 3> parts;  ///< the last may be empty
};

uint64_t query_rows(const ModelSpec& spec) { return uint64_t{spec.num_attention_heads} * spec.head_dim; }
uint64_t kv_rows(const ModelSpec& spec) { return uint64_t{spec.num_kv_heads} * spec.head_dim; }
uint64_t ffn_rows(const ModelSpec& spec) { return spec.intermediate_size; }

constexpr std::array kFusions = {
    Fusion{".self_attn.qkv_proj.",
           {FusedPart{".self_attn.q_proj.", query_rows}, FusedPart{".self_attn.k_proj.", kv_rows},
            FusedPart{".self_attn.v_proj.", kv_rows}}},
    Fusion{".mlp.gate_up_proj.",
           {FusedPart{".mlp.gate_proj.", ffn_rows}, FusedPart{".mlp.up_proj.", ffn_rows}, FusedPart{}}},
};

}  // namespace

Result<std::vector<PackageTensor>> split_fused(const PackageTensor& tensor, const ModelSpec& spec) {
  for (const Fusion& fusion : kFusions) {
    const size_t at = tensor.name.find(fusion.name);
    if (at == std::string::npos) continue;
    uint64_t wanted = 0;
    for (const FusedPart& part : fusion.parts) wanted += part.name.empty() ? 0 : part.rows(spec);
    if (tensor.shape.empty() || tensor.shape[0] != wanted)
      return fail_at(Fault::kCorrupt, "Shape", tensor.name, std::nullopt,
                     fmt::format("tensor {} has {} rows, config.json wants {}", tensor.name,
                                 tensor.shape.empty() ? 0 : tensor.shape[0], wanted));
    const uint64_t columns = tensor.elements() / wanted;
    std::vector<PackageTensor> parts;
    uint64_t first = 0;
    for (const FusedPart& part : fusion.parts) {
      if (part.name.empty()) continue;
      std::vector<uint64_t> shape = tensor.shape;
      shape[0] = part.rows(spec);
      parts.push_back(element_range(tensor, first * columns, std::move(shape)));
      parts.back().name.replace(at, fusion.name.size(), part.name);
      first += part.rows(spec);
    }
    return parts;
  }
  return std::vector<PackageTensor>();
}

}  // namespace amphora::package
