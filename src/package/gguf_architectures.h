// The model architectures that are read from GGUF files: how they differ from one another.
#pragma once

#include <optional>
#include <string_view>

#include "amphora/package.h"

namespace amphora::package {

struct GgufArchitecture {
  std::string_view name;       ///< general.architecture, and the prefix of its keys
  std::string_view arch_name;  ///< ModelSpec::arch_name: Hugging Face's model_type
  bool permuted_rope;          ///< rows of q and k are stored for rotation of neighbouring pairs
  bool gemma;  ///< norms have the 1 of 1+w baked in, sandwich norms, scaled embeddings, GELU, sliding windows
};

/// By general.architecture, or null.
const GgufArchitecture* find_gguf_architecture(std::string_view name);
/// "llama, qwen2, …", for messages.
std::string_view supported_gguf_architectures();

}  // namespace amphora::package
