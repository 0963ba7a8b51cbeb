// Gated DeltaNets of Hugging Face checkpoints.
#pragma once

#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// The matrices in a tensor that Qwen3-Next stores as one, its rows in groups of a key head (transformers,
/// Qwen3NextGatedDeltaNet.fix_query_key_value_ordering). With nk key and nv value heads of dk and dv
/// dimensions and r = nv / nk value heads to a key head:
///
/// - in_proj_qkvz, rows [nk, dk q | dk k | r·dv v | r·dv z], becomes in_proj_qkv, rows [all q | all k | all
/// v],
///   and in_proj_z;
/// - in_proj_ba, rows [nk, r b | r a], becomes in_proj_b and in_proj_a.
///
/// Empty if the tensor is neither, or without `spec.linear_core`. `Shape` if its rows are not as many as
/// `spec` wants.
Result<std::vector<PackageTensor>> split_delta_net(const PackageTensor& tensor, const ModelSpec& spec);

}  // namespace amphora::package
