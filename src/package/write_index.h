// The sparse index of a package's task masks (docs/formats/cmf.md §7), written on request.
#pragma once

#include "amphora/bytes.h"
#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora {

/// The section: an entry per mask, in their order, and per physical layer whose gate is on, with the groups
/// of 32 neurons of which the mask leaves one active (in any visit of a looped layer) and the active heads.
/// kRefused if the package has no masks, kUnsupported if a number does not fit its field.
Result<ByteVector> build_sparse_index(const Package& package);

}  // namespace amphora
