// Looks into a directory.
#include "package/directory_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace amphora::package {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
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
