// A multiplier of residual branches, which the container has no place for, as a part of the weights.
#pragma once

#include "amphora/package.h"

namespace amphora::package {

/// Multiplies the weights and biases of what each branch ends with (self_attn.o_proj, mlp.down_proj) by
/// `multiplier`, with a note. 1 changes nothing.
void fold_residual_multiplier(double multiplier, Package& package);

}  // namespace amphora::package
