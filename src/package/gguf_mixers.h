// What mixes positions in a layer of a GGUF file: attention of any kind, gated DeltaNet.
#pragma once

#include "package/gguf_layer_claims.h"

namespace amphora::package {

/// q, k, v and o, with biases and norms if there are any; q, k and v may be stored as one.
void claim_attention(LayerClaims& layer);

/// Latent attention. The compression's second matrix may be stored as two, one of them transposed.
void claim_latent_attention(LayerClaims& layer);

/// Gated DeltaNet (docs/formats/cmf.md §12, linear_core).
void claim_gated_delta_net(LayerClaims& layer);

}  // namespace amphora::package
