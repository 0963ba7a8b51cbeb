// What a GGUF file's metadata says of experts, latent attention, gated DeltaNet and predictors.
#pragma once

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/gguf_architectures.h"
#include "package/gguf_metadata.h"
#include "package/gguf_spec.h"

namespace amphora::package {

/// Each function reads the keys of one operator into `model`, whose dimensions are set already; faults are
/// those of `in`.

/// Sets ModelSpec::moe if there are experts, and how many leading layers have none. Sizes that the file
/// leaves out are those of the tensors.
void read_experts(const gguf::Directory& directory, MetadataReader& in, GgufModel& model);

/// Sets ModelSpec::mla and the heads' dimensions with it.
void read_latent_attention(const gguf::Directory& directory, MetadataReader& in, GgufModel& model);

/// Sets the linear_… fields, and the layers that are LinearAttention.
void read_gated_delta_net(MetadataReader& in, GgufModel& model);

}  // namespace amphora::package
