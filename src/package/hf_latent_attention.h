// Latent attention of Hugging Face checkpoints.
#pragma once

#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// With what transformers norms the latent vectors, whatever rms_norm_eps says (DeepseekV3Attention).
inline constexpr double kLatentNormEps = 1e-6;

/// Puts the rows of latent attention into the order of MlaSpec (amphora/package.h): those of a head's
/// query (q_proj or q_b_proj) from [nope | rope] to [rope | nope], and if rotated pairs are neighbours
/// (`interleaved`), the rope rows, also the last ones of kv_a_proj_with_mqa, from (0, 1), (2, 3) … to
/// 0, 2 … 1, 3 …. Without `spec.mla` nothing is touched. `Shape` if a tensor's rows are not as many as `spec`
/// wants.
Status reorder_latent_attention(const ModelSpec& spec, bool interleaved, std::vector<PackageTensor>& tensors);

}  // namespace amphora::package
