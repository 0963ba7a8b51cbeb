// Rotary settings of a GGUF file.
#pragma once

#include <string_view>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/gguf_architectures.h"
#include "package/gguf_metadata.h"

namespace amphora::package {

/// The tensor that holds factors of the rotary frequencies (Llama 3): it becomes
/// ModelSpec::rope_freq_factors.
inline constexpr std::string_view kRopeFactorsTensor = "rope_freqs.weight";

/// Reads the keys under `rope.` and the factors tensor into the rotary fields of `spec`, whose dimensions are
/// set already. A kind of scaling that is not reproduced here is kUnsupported, by name.
Status decode_gguf_rope(const gguf::Directory& directory, const GgufArchitecture& architecture,
                        MetadataReader& in, ModelSpec& spec);

}  // namespace amphora::package
