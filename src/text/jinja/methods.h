// Methods of strings, dicts, lists and Jinja's own objects.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/filters.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Null if values of that kind have no such method.
const FunctionEntry* find_method(Kind kind, std::string_view name);

std::span<const FunctionEntry> string_methods();

}  // namespace amphora::text::jinja
