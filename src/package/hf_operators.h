// Operators of Hugging Face configurations that not every family has.
#pragma once

#include "amphora/package.h"
#include "package/hf_families.h"
#include "package/object_reader.h"

namespace amphora::package {

/// Reads the routing of a mixture of experts into `spec.moe`. `spec.intermediate_size` becomes that of an
/// expert if neither the configuration nor the family has one: all layers are mixtures then. Which layers are
/// mixtures (mlp_only_layers, decoder_sparse_step, first_k_dense_replace) the tensors say. A router that
/// chooses in another way than the family's is kUnsupported, by name.
void read_experts(ObjectReader& in, const ExpertDefaults& defaults, ModelSpec& spec);

/// Reads the dimensions of latent attention into `spec.mla`. The head dimension of such a model is what turns
/// of a head, qk_rope_head_dim, as in transformers (all else about a head is in `spec.mla`), and it has as
/// many key and value heads as attention heads.
void read_latent_attention(ObjectReader& in, const LatentDefaults& defaults, ModelSpec& spec);

/// Reads the dimensions of gated DeltaNet layers: `spec.linear_core` and the linear_* counts.
void read_delta_net(ObjectReader& in, ModelSpec& spec);

/// Reads Granite's multipliers of embeddings, attention and logits into `spec`. Gives that of the residual
/// branches, for which `spec` has no field.
double read_multipliers(ObjectReader& in, ModelSpec& spec);

/// kUnsupported if rope is off in a layer (no_rope_layers, no_rope_layer_interval): `spec` cannot say that.
void expect_rope_everywhere(ObjectReader& in, const ModelSpec& spec);

}  // namespace amphora::package
