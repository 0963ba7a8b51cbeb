// Numbers out of text and other values: what Python's int() and float() accept.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

// Each spends steps for the text.

/// Python's int(text, base); empty where that is a ValueError. Refused: what no float can hold, and in other
/// bases than ten what does not fit 64 bits.
Result<std::optional<Value>> parse_integer(Budget* budget, std::string_view text, int64_t base);
/// Python's float(text); empty where that is a ValueError.
std::optional<double> parse_float(Budget* budget, std::string_view text);

/// Python's int(value) and float(value); an error where they raise one.
Result<Value> to_integer(Budget* budget, const Value& value);
Result<double> to_float(Budget* budget, const Value& value);

}  // namespace amphora::text::jinja
