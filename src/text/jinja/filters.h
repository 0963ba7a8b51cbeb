// The filters of the template language: jinja2's, with Hugging Face's tojson.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Null if there is no such filter.
NativeFunction find_filter(std::string_view name);

using FunctionEntry = std::pair<std::string_view, NativeFunction>;
// The parts of the filter table, by what they work on.
std::span<const FunctionEntry> text_filters();
std::span<const FunctionEntry> number_filters();
std::span<const FunctionEntry> sequence_filters();
std::span<const FunctionEntry> selection_filters();

}  // namespace amphora::text::jinja
