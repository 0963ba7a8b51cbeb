// Rotary settings of a Hugging Face configuration, in either of its two spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "amphora/json.h"
#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// What a family takes where its configuration is silent.
struct RopeDefaults {
  double theta = 10000;
  /// Base of sliding layers, if the family gives them one of their own; else they turn as the global layers
  /// do.
  std::optional<double> local_theta = {};
  double partial = 1;  ///< partial_rotary_factor
};

/// Reads `rope_parameters` (also with one object per type of layer) or `rope_scaling`, `rope_theta`,
/// `rope_local_base_freq`, `partial_rotary_factor` into the rotary fields of `spec`, whose dimensions, layer
/// types and context length are set already. A kind that this program cannot reproduce is kUnsupported, by
/// name; so are scaled sliding layers, for which the container has no field.
Status decode_rope(const json::Value& config, const std::string& path, const RopeDefaults& defaults,
                   ModelSpec& spec);

}  // namespace amphora::package
