// The header of a file that a conversion writes.
#pragma once

#include <string_view>

#include "amphora/json.h"
#include "amphora/package.h"

namespace amphora::package {

/// A CMF source's header with everything in it but the shard block, or a new one; with `quant_type`, and a
/// provenance that names `tool` and the last part of the source's path, never times or folders.
json::Value conversion_header(const Package& package, std::string_view tool, std::string_view quant_type);

}  // namespace amphora::package
