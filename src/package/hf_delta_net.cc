// Rows of a key head's group to rows of all heads.
#include "package/hf_delta_net.h"

#include <fmt/format.h>

#include <string_view>

#include "package/tensor_views.h"

namespace amphora::package {
namespace {

constexpr std::string_view kQkvz = ".linear_attn.in_proj_qkvz.";
constexpr std::string_view kBa = ".linear_attn.in_proj_ba.";

/// A part of every group: `rows` of them, behind `skipped` others.
struct DeltaPart {
  uint64_t skipped, rows;
};

/// Rows of a part, group after group.
class GroupedRows {
 public:
  GroupedRows(DeltaPart part, uint64_t group_rows) : part_(part), group_rows_(group_rows) {}
  uint64_t operator()(uint64_t row) const {
    return row / part_.rows * group_rows_ + part_.skipped + row % part_.rows;
  }

 private:
  DeltaPart part_;
  uint64_t group_rows_;
};

struct Dimensions {
  uint64_t groups, key_rows, value_rows, value_heads;  ///< but for `groups`, of one group

  explicit Dimensions(const ModelSpec& spec)
      : groups(*spec.linear_num_key_heads),
        key_rows(*spec.linear_key_head_dim),
        value_rows(uint64_t{*spec.linear_num_value_heads} / groups * *spec.linear_value_head_dim),
        value_heads(*spec.linear_num_value_heads / groups) {}
};

Status check_rows(const PackageTensor& tensor, uint64_t wanted) {
  if (!tensor.shape.empty() && tensor.shape[0] == wanted) return {};
  return fail_at(Fault::kCorrupt, "Shape", tensor.name, std::nullopt,
                 fmt::format("tensor {} has {} rows, config.json wants {}", tensor.name,
                             tensor.shape.empty() ? 0 : tensor.shape[0], wanted));
}

PackageTensor renamed(PackageTensor tensor, std::string_view part, std::string_view replacement) {
  tensor.name.replace(tensor.name.find(part), part.size(), replacement);
  return tensor;
}

Result<std::vector<PackageTensor>> split_qkvz(const PackageTensor& tensor, const Dimensions& d) {
  const uint64_t group = 2 * d.key_rows + 2 * d.value_rows;
  AMPHORA_TRY(check_rows(tensor, d.groups * group));
  const GroupedRows q({0, d.key_rows}, group), k({d.key_rows, d.key_rows}, group);
  const GroupedRows v({2 * d.key_rows, d.value_rows}, group);
  const GroupedRows z({2 * d.key_rows + d.value_rows, d.value_rows}, group);
  const uint64_t keys = d.groups * d.key_rows, values = d.groups * d.value_rows;
  const auto qkv = [=](uint64_t row) {
    if (row < keys) return q(row);
    return row < 2 * keys ? k(row - keys) : v(row - 2 * keys);
  };
  return std::vector{
      renamed(gathered_rows(tensor, 2 * keys + values, qkv), kQkvz, ".linear_attn.in_proj_qkv."),
      renamed(gathered_rows(tensor, values, z), kQkvz, ".linear_attn.in_proj_z."),
  };
}

Result<std::vector<PackageTensor>> split_ba(const PackageTensor& tensor, const Dimensions& d) {
  const uint64_t group = 2 * d.value_heads, rows = d.groups * d.value_heads;
  AMPHORA_TRY(check_rows(tensor, d.groups * group));
  const GroupedRows b({0, d.value_heads}, group), a({d.value_heads, d.value_heads}, group);
  return std::vector{
      renamed(gathered_rows(tensor, rows, b), kBa, ".linear_attn.in_proj_b."),
      renamed(gathered_rows(tensor, rows, a), kBa, ".linear_attn.in_proj_a."),
  };
}

}  // namespace

Result<std::vector<PackageTensor>> split_delta_net(const PackageTensor& tensor, const ModelSpec& spec) {
  if (!spec.linear_core) return std::vector<PackageTensor>();
  if (tensor.name.find(kQkvz) != std::string::npos) return split_qkvz(tensor, Dimensions(spec));
  if (tensor.name.find(kBa) != std::string::npos) return split_ba(tensor, Dimensions(spec));
  return std::vector<PackageTensor>();
}

}  // namespace amphora::package
