// Rotary settings of a GGUF file.
#pragma once

#include <array>
#include <string_view>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/gguf_architectures.h"
#include "package/gguf_metadata.h"

namespace amphora::package {

/// The tensors that hold factors of the rotary frequencies. The first (Llama 3) becomes
/// ModelSpec::rope_freq_factors, the others (LongRoPE) ModelSpec::longrope.
inline constexpr std::string_view kRopeFactorsTensor = "rope_freqs.weight";
inline constexpr std::string_view kLongFactorsTensor = "rope_factors_long.weight";
inline constexpr std::string_view kShortFactorsTensor = "rope_factors_short.weight";
inline constexpr std::array kRopeTensors = {kRopeFactorsTensor, kLongFactorsTensor, kShortFactorsTensor};

/// Reads the keys under `rope.` and the factors tensors into the rotary fields of `spec`, whose dimensions
/// and layers are set already. A kind of scaling that is not reproduced here is kUnsupported, by name.
Status decode_gguf_rope(const gguf::Directory& directory, const GgufArchitecture& architecture,
                        MetadataReader& in, ModelSpec& spec);

}  // namespace amphora::package
