// Rotary position embedding: inverse frequencies of every scaling kind, and the cosines and sines of
// positions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "amphora/package.h"

namespace amphora::model {

/// One set of frequencies: dimension pair i of a head turns by position · inverse[i].
struct RopeFrequencies {
  std::vector<float> inverse;  ///< rotary dimensions / 2
  float scale = 1;             ///< multiplies cosines and sines (YaRN, LongRoPE)
};

/// All frequencies of a model.
struct RopePlan {
  RopeFrequencies global;
  RopeFrequencies local;  ///< of layers with a sliding window
  /// LongRoPE: with more positions than `long_threshold` in the sequence, these replace `global` and `local`,
  /// for every position (as Hugging Face does, which recomputes its cache at the threshold).
  std::optional<RopeFrequencies> long_global, long_local;
  size_t long_threshold = 0;
};

/// kCorrupt for values that have no meaning (a base that is not positive, a factor list of the wrong length
/// …).
Result<RopePlan> plan_rope(const ModelSpec& spec);

/// 1 / base^(2i / rotary_dim) with the roundings of torch in float32.
std::vector<float> default_inverse_frequencies(double base, size_t rotary_dim);

/// cosines and sines [tokens, inverse.size()] of positions first_position ….
void fill_rope(const RopeFrequencies& frequencies, size_t first_position, size_t tokens, float* cosines,
               float* sines);

}  // namespace amphora::model
