// How many bits each row of the tensors that become vbit gets: the pass over their values before writing
// (docs/formats/cmf.md §3 "Encoders").
#pragma once

#include <span>

#include "amphora/package.h"
#include "base/progress.h"
#include "package/quant_plan.h"
#include "package/route_stats.h"

namespace amphora {

/// Reads every tensor of the plan that is to be encoded as vbit or vbit_ro once, and sets `row_widths` and
/// `bytes`. Experts of one layer and projection share one mean level; `stats`, if not null, has been checked
/// against the package and makes the rows of busy experts louder. The result does not depend on the number of
/// threads. Each of them holds a megabyte of values (or one row, if that is longer), and the pass 8 bytes per
/// row. Refuses values that are not finite, naming tensor and index. `progress` counts bytes of the source.
Status plan_vbit_rows(const Package& package, std::span<PlannedTensor> plan, const RouteStats* stats,
                      size_t threads, const ProgressFunction& progress = {});

}  // namespace amphora
