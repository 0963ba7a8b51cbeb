// Numbers as the reference reads them.
#pragma once

#include <optional>
#include <string_view>

namespace amphora::text {

/// The value that Rust's serde_json gives a JSON number without its feature "float_roundtrip": the digits as
/// an integer (as many as fit into 64 bits), divided or multiplied by a power of ten. It is off by a bit for
/// about one number of 17 digits in eight, which decides between splits of nearly the same score. Empty if it
/// is no JSON number or out of range.
std::optional<double> read_serde_number(std::string_view token);

}  // namespace amphora::text
