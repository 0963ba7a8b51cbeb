// Experts of Hugging Face checkpoints, however they are stored, as one matrix per expert and role.
#pragma once

#include <cstdint>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// Turns the expert tensors of every layer into `….mlp.experts.{e}.{gate,up,down}_proj.weight`, and puts
/// those of a layer, at the place of its first, in the order of roles: gate_proj of all experts, then
/// up_proj, then down_proj. E experts of I neurons over H channels may be stored as
///
/// - a matrix each;
/// - one tensor of three dimensions for each role: gate_proj and up_proj [E, I, H], down_proj [E, H, I];
/// - gate and up fused: gate_up_proj [E, 2·I, H], the rows of gate first; up_gate_proj, those of up first;
/// - any of the latter two with the last two dimensions of all tensors of a layer exchanged.
///
/// Parts of tensors are views where the layout allows it. Which of the two orders of dimensions it is, the
/// shapes of a layer say together; where they allow both (kUnsupported), or where a tensor's name does not
/// say what it holds (kUnsupported), nothing is guessed. Missing experts and routers are `Missing`, other
/// shapes than `spec` wants `Shape`. Gives how many tensors were split. Without `spec.moe` nothing is
/// touched.
Result<uint64_t> place_experts(const ModelSpec& spec, std::vector<PackageTensor>& tensors);

}  // namespace amphora::package
