// The `arch` object of a CMF header (docs/formats/cmf.md §2) to and from a ModelSpec.
#pragma once

#include "amphora/json.h"
#include "amphora/package.h"
#include "amphora/result.h"

namespace amphora::package {

/// Reads `arch`. Faults have the codes Missing and Parse and the path of the key; an activation that this
/// program does not have is kUnsupported, by name. Known keys that ModelSpec has no field for go to `other`,
/// the rest to `unknown`.
Result<ModelSpec> decode_arch(const json::Value& arch);

/// Writes `arch`. Neutral optional values are left out; spec.other follows at the end.
json::Value encode_arch(const ModelSpec& spec);

}  // namespace amphora::package
