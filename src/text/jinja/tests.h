// The tests of the template language: what may follow `is`.
#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Null if there is no such test. A test's result is converted by is_true().
NativeFunction find_test(std::string_view name);

}  // namespace amphora::text::jinja
