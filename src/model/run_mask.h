// What a run leaves out: layers, neurons, heads and experts that a task mask or a restriction forbids.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernels.h"

namespace amphora::model {

/// One visit of a layer (docs/formats/cmf.md §5.8).
struct VisitMask {
  bool skipped = false;  ///< the residual passes through
  /// The neurons of a dense feed-forward part that live; absent: all.
  std::optional<std::vector<kernels::RowRange>> neurons;
  std::vector<uint8_t> heads;    ///< [heads], 0: the head's output is 0; empty: all live
  std::vector<uint8_t> experts;  ///< [experts], 0: the router cannot choose it; empty: all allowed
};

/// One entry per visit of the plan.
struct RunMask {
  std::vector<VisitMask> visits;
};

}  // namespace amphora::model
