// Looks into a directory.
#include "package/directory_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "package/file_error.h"
#include "package/limits.h"

namespace amphora::package {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

Result<json::Value> read_object_if_there(const fs::path& path) {
  if (!is_there(path)) return json::Value();
  AMPHORA_ASSIGN(const std::string text, read_small_file(path, kMaxConfigBytes));
  auto root = json::parse(text);
  if (!root) return in_file(path, root.error());
  if (!root->is_object())
    return in_file(path, Error{Fault::kCorrupt, "Parse", "$", std::nullopt, "not an object"});
  return root;
}

Result<std::vector<std::string>> files_ending_in(const fs::path& directory, std::string_view suffix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(suffix)) names.push_back(std::move(name));
  }
  if (error) return fail(Fault::kIo, fmt::format("{}: {}", directory.string(), error.message()));
  std::ranges::sort(names);
  return names;
}

}  // namespace amphora::package
