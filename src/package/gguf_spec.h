// GGUF metadata to a ModelSpec.
#pragma once

#include <string>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/gguf_architectures.h"

namespace amphora::package {

struct GgufModel {
  const GgufArchitecture* architecture = nullptr;
  ModelSpec spec;
  std::vector<std::string> notes;  ///< keys of the architecture that have no meaning here

  // What the specification of a model has no place for, since the tensors say it.
  uint32_t predictor_layers = 0;    ///< blocks behind the spec's layers that predict further tokens
  uint32_t dense_layers = 0;        ///< leading layers that are no mixtures
  bool dense_layers_known = false;  ///< else every layer's tensors tell whether it is one
  float residual_scale = 1;         ///< multiplies what a branch adds
};

/// Reads and checks `general.architecture` and the keys under its name; takes the vocabulary's size and
/// whether the head is tied from the tensors that exist. An architecture that is not supported is refused by
/// name with what is missing, and so is a setting that would change the results and has no counterpart here.
Result<GgufModel> decode_gguf_spec(const gguf::Directory& directory);

}  // namespace amphora::package
