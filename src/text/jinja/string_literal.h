// The escapes of Python string literals, as Jinja applies them to its own.
#pragma once

#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora::text::jinja {

/// The value of the text between the quotes. Errors carry no place yet.
Result<std::string> unescape_string_literal(std::string_view text);

}  // namespace amphora::text::jinja
