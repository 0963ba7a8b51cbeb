// Tensor names of GGUF files to those of the Hugging Face model, with the shape that each must have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "package/gguf_architectures.h"

namespace amphora::package {

/// What has to be done to a tensor's values.
enum class GgufChange : uint8_t {
  kNone,
  kUnpermute,    ///< rows, head by head, from neighbouring pairs to halves
  kSubtractOne,  ///< the norm's 1 is baked in
};

struct GgufName {
  std::string name;             ///< canonical
  std::vector<uint64_t> shape;  ///< outermost first; what `spec` makes of it
  GgufChange change = GgufChange::kNone;
};

/// What a tensor of this name is; empty if the architecture has no such tensor.
std::optional<GgufName> map_gguf_name(std::string_view name, const GgufArchitecture& architecture,
                                      const ModelSpec& spec);

/// The GGUF names of all tensors without which the model cannot run.
std::vector<std::string> required_gguf_names(const GgufArchitecture& architecture, const ModelSpec& spec);

}  // namespace amphora::package
