// Members of a large JSON object, found without a tree of values.
#pragma once

#include <optional>
#include <string_view>

#include "amphora/json.h"

namespace amphora::package {

/// The text of the value of the root object's member `key`. Empty if there is none, or if the text is no JSON
/// as far as the search went: whoever reads it all will say so.
std::optional<std::string_view> find_member_text(std::string_view json, std::string_view key);

/// The value itself; null if there is none or if it is no JSON.
json::Value parse_member(std::string_view json, std::string_view key);

}  // namespace amphora::package
