// The multi-token predictor of Hugging Face checkpoints.
#pragma once

#include "amphora/package.h"
#include "amphora/result.h"
#include "package/hf_families.h"

namespace amphora::package {

/// Names the tensors of the predictor canonically and sets `spec.mtp`, if there are any:
/// model.mtp.{enorm,hnorm,eh_proj,norm}.weight and model.mtp.layers.0.* (docs/formats/cmf.md §12, mtp).
/// Copies of the embedding and of the head that it brings are left out with a note; ones that differ are
/// kUnsupported, since the container has no place for them. A predictor of more than one layer is left out
/// with a note: only one layer is supported. A layer behind the last that is none of a predictor is `Shape`.
Status place_predictor(PredictorPlace place, Package& package);

}  // namespace amphora::package
