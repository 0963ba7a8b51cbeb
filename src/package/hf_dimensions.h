// A dimension in a configuration: read the same way wherever it stands.
#pragma once

#include <cstdint>
#include <string_view>

#include "package/object_reader.h"

namespace amphora::package {

/// A number in 1 … limit. `otherwise` is what its absence means; 0: it must be there. Beyond the limit is
/// kRefused.
uint32_t read_dimension(ObjectReader& in, std::string_view key, uint32_t otherwise, uint32_t limit);

}  // namespace amphora::package
