// JSON documents as values of a template.
#pragma once

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Strings must be well-formed UTF-8; with `quoted` all of them, keys too, count as quoted. The values are
/// the caller's: their memory is not charged to any budget.
Result<Value> from_json(const json::Value& value, bool quoted);

}  // namespace amphora::text::jinja
