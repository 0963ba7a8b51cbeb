// The ladder of a row of q4tp and the rung of each group that give the least squared error.
#pragma once

#include <cstdint>
#include <span>

#include "quant/ladder.h"
#include "quant/scale_search.h"

namespace amphora::quant {

/// Like fit_ladder_row for codes in `range`, with the parameters and codes of the least Σ importance · error²
/// over the row that the search finds; never more than with the plain ones. `importance` has one number for
/// each column or is empty. [columns] → codes [groups]
Result<LadderParameters> search_ladder_row(std::span<const float> weights, std::span<const float> importance,
                                           uint64_t first_index, CodeRange range, std::span<uint8_t> codes);

}  // namespace amphora::quant
