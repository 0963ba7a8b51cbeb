// Functions that every template can call: Jinja's globals and the two that Hugging Face adds.
#pragma once

#include <string_view>

#include "amphora/result.h"
#include "text/jinja/filters.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Null if there is no such function.
const FunctionEntry* find_global(std::string_view name);

/// Hugging Face's namespaces refuse names that begin with an underscore.
Status check_namespace_attribute(std::string_view name);

}  // namespace amphora::text::jinja
