// Matrices that a checkpoint stores as one, and the runtime as several.
#pragma once

#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// The parts of a tensor whose rows are those of several canonical ones behind one another (Phi-3: qkv_proj
/// holds q, k and v; gate_up_proj gate and up), each a view of the same bytes. Empty if the tensor is none of
/// them. kCorrupt if its rows are not as many as `spec` wants.
Result<std::vector<PackageTensor>> split_fused(const PackageTensor& tensor, const ModelSpec& spec);

}  // namespace amphora::package
