// Latent attention's second matrix of keys and values where a GGUF file holds it as two.
#pragma once

#include "package/gguf_layer_claims.h"

namespace amphora::package {

/// Claims attn_k_b [heads, latent, nope] and attn_v_b [heads, value, latent] as kv_b_proj
/// [heads · (nope + value), latent]: the keys are stored transposed, ready to be applied to the queries.
void claim_latent_keys(LayerClaims& layer);

}  // namespace amphora::package
