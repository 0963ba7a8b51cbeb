// Dates as Python's strftime writes them in the C locale.
#pragma once

#include <cstdint>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/budget.h"

namespace amphora::text::jinja {

/// UTC. Directives that Python's own documentation does not list stay as they are.
Result<std::string> format_time(Budget& budget, int64_t unix_seconds, std::string_view format);

}  // namespace amphora::text::jinja
