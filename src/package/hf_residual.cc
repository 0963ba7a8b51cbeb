// Which tensors end a branch: see hf_residual.h.
#include "package/hf_residual.h"

#include <fmt/format.h>

#include <string_view>

#include "package/tensor_views.h"

namespace amphora::package {
namespace {

bool ends_branch(std::string_view name) {
  const std::string_view stem = name.substr(0, name.rfind('.'));  // without "weight" or "bias"
  return stem.ends_with(".self_attn.o_proj") || stem.ends_with(".mlp.down_proj");
}

}  // namespace

void fold_residual_multiplier(double multiplier, Package& package) {
  if (multiplier == 1) return;
  uint64_t changed = 0;
  for (PackageTensor& tensor : package.tensors) {
    if (!ends_branch(tensor.name)) continue;
    tensor = scaled(tensor, static_cast<float>(multiplier));
    ++changed;
  }
  package.notes.push_back(fmt::format(
      "residual_multiplier {} is folded into the {} tensors that end a branch", multiplier, changed));
}

}  // namespace amphora::package
