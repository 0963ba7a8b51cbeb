// Matrices that a checkpoint stores as one.
#include "package/fused_tensors.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace amphora::package {
namespace {

struct Part {
  std::string_view name;
  uint64_t (*rows)(const ModelSpec& spec);
};
struct Fusion {
  std::string_view name;
  std::array<Part, 3> parts;  ///< the last may be empty
};

uint64_t query_rows(const ModelSpec& spec) { return uint64_t{spec.num_attention_heads} * spec.head_dim; }
uint64_t kv_rows(const ModelSpec& spec) { return uint64_t{spec.num_kv_heads} * spec.head_dim; }
uint64_t ffn_rows(const ModelSpec& spec) { return spec.intermediate_size; }

constexpr std::array kFusions = {
    Fusion{".self_attn.qkv_proj.",
           {Part{".self_attn.q_proj.", query_rows}, Part{".self_attn.k_proj.", kv_rows},
            Part{".self_attn.v_proj.", kv_rows}}},
    Fusion{".mlp.gate_up_proj.",
           {Part{".mlp.gate_proj.", ffn_rows}, Part{".mlp.up_proj.", ffn_rows}, Part{}}},
};

PackageTensor rows_of(const PackageTensor& whole, uint64_t first, uint64_t rows) {
  const uint64_t row_elements = whole.elements() / whole.shape[0];
  const uint64_t row_bytes = whole.mapped.size() / whole.shape[0];
  PackageTensor part = whole;
  part.shape[0] = rows;
  part.mapped = whole.mapped.subspan(first * row_bytes, rows * row_bytes);
  if (part.dtype) part.stored = part.mapped;
  part.stored_bytes = part.mapped.size();
  part.stored_offset += first * row_bytes;
  part.read = [read = whole.read, skipped = first * row_elements](uint64_t from, std::span<float> out) {
    return read(skipped + from, out);
  };
  return part;
}

}  // namespace

Result<std::vector<PackageTensor>> split_fused(const PackageTensor& tensor, const ModelSpec& spec) {
  for (const Fusion& fusion : kFusions) {
    const size_t at = tensor.name.find(fusion.name);
    if (at == std::string::npos) continue;
    uint64_t wanted = 0;
    for (const Part& part : fusion.parts) wanted += part.name.empty() ? 0 : part.rows(spec);
    if (tensor.shape.empty() || tensor.shape[0] != wanted)
      return fail_at(Fault::kCorrupt, "Shape", tensor.name, std::nullopt,
                     fmt::format("tensor {} has {} rows, config.json wants {}", tensor.name,
                                 tensor.shape.empty() ? 0 : tensor.shape[0], wanted));
    std::vector<PackageTensor> parts;
    uint64_t first = 0;
    for (const Part& part : fusion.parts) {
      if (part.name.empty()) continue;
      parts.push_back(rows_of(tensor, first, part.rows(spec)));
      parts.back().name.replace(at, fusion.name.size(), part.name);
      first += part.rows(spec);
    }
    return parts;
  }
  return std::vector<PackageTensor>();
}

}  // namespace amphora::package
