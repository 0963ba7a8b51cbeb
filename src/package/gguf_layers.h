// What a GGUF file's tensors are called, and what they are in the Hugging Face model.
#pragma once

#include <string>
#include <vector>

#include "amphora/package.h"
#include "package/gguf_claims.h"
#include "package/gguf_spec.h"

namespace amphora::package {

/// Claims every tensor that the model has by its specification. What is stored together or in another order
/// comes out under canonical names, in canonical layout (docs/formats/cmf.md §9). Says in `model.notes` what
/// was left out, and sets ModelSpec::mtp if there is a predictor.
void claim_model(GgufModel& model, TensorClaims& claims);

}  // namespace amphora::package
