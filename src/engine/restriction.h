// From a task mask and a choice of experts to what a run leaves out of a plan.
#pragma once

#include <optional>

#include "amphora/result.h"
#include "amphora/session.h"
#include "model/plan.h"
#include "model/run_mask.h"
#include "package/task_mask.h"

namespace amphora {

/// Both restrictions together: what one of them forbids is left out. Neurons, heads and experts that the mask
/// has beyond those of the plan's layer have no meaning there. kRefused if a layer would have no expert left.
Result<model::RunMask> build_run_mask(const model::Plan& plan, const std::optional<TaskMask>& task,
                                      const std::optional<ExpertCover>& cover);

}  // namespace amphora
