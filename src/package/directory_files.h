// Which files a directory has, the same for all who look for optional ones.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora::package {

/// Whether something stands under this name. A link that leads nowhere counts, and so does what cannot be
/// looked at: only a name that is not there is an absent file, all else is for the caller to open, which
/// fails by name.
bool is_there(const std::filesystem::path& path);

/// A settings file that may be absent: the JSON object in it, or null. One that holds anything else is
/// refused.
Result<json::Value> read_object_if_there(const std::filesystem::path& path);

/// Names in the directory that end in `suffix`, sorted.
Result<std::vector<std::string>> files_ending_in(const std::filesystem::path& directory,
                                                 std::string_view suffix);

}  // namespace amphora::package
