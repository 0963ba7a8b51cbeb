// What a task leaves out of a model, read from the masks section (docs/formats/cmf.md §5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

/// What lives of a layer in one pass. A list that is empty leaves nothing out.
struct LayerRestriction {
  bool skipped = false;          ///< the residual passes through
  std::vector<uint8_t> neurons;  ///< [intermediate_size], 0: dead
  std::vector<uint8_t> heads;    ///< [query heads of the layer]
  std::vector<uint8_t> experts;  ///< [num_experts]

  bool leaves_nothing_out() const;
};

struct TaskMask {
  std::string name;
  bool measured = false;                 ///< it carries a quality measurement
  std::vector<LayerRestriction> visits;  ///< per pass and layer, pass-major
};

/// The mask of that name. kUsage, with the names that there are, if no mask bears it; kCorrupt for a section
/// that breaks the format's rules.
Result<TaskMask> find_task_mask(const Package& package, std::string_view name);

}  // namespace amphora
