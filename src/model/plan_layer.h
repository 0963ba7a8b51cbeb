// Planning of one layer: which operators its tensors make.
#pragma once

#include <string>

#include "amphora/package.h"
#include "model/findings.h"
#include "model/plan.h"
#include "model/tensor_source.h"

namespace amphora::model {

/// What the planning of every layer has at hand.
struct Planner {
  const ModelSpec& spec;
  const Plan& plan;  ///< its dimensions and constants are set
  TensorSource& tensors;
  Findings& findings;
};

/// Where a layer stands and what `arch` says of it.
struct LayerPlace {
  std::string prefix;  ///< "model.layers.3."
  uint32_t heads = 0;
  bool local = false;
};

/// The token mixer that the tensors under the prefix belong to; plain attention if they tell nothing.
Result<MixerPlan> plan_mixer(Planner& planner, const LayerPlace& place);
/// A mixture if there is a router.
Result<FfnPlan> plan_ffn(Planner& planner, const LayerPlace& place);
/// The layer with its norms: before the branches, on their outputs, or both, as their presence says.
Result<LayerPlan> plan_layer(Planner& planner, const LayerPlace& place);

}  // namespace amphora::model
