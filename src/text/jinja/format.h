// Python's two ways to format text: "%s" % x and "{}".format(x).
#pragma once

#include <string_view>

#include "amphora/result.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

Result<Value> format_percent(Runtime& runtime, const Value& format, const Value& arguments);
Result<Value> format_braces(Runtime& runtime, const Value& format, const CallArguments& arguments);

}  // namespace amphora::text::jinja
