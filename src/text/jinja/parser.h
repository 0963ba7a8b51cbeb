// Template source to syntax tree.
#pragma once

#include <string_view>

#include "amphora/result.h"
#include "text/jinja/ast.h"

namespace amphora::text::jinja {

/// Refuses unknown tags, filters and tests as well as bad syntax; the message names line and column.
Result<ScopedBlock> parse_template(std::string_view source);

}  // namespace amphora::text::jinja
