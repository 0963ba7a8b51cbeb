// Errors of a file's content, with the file's name before them.
#pragma once

#include <expected>
#include <filesystem>
#include <utility>

#include "amphora/result.h"

namespace amphora::package {

inline std::unexpected<Error> in_file(const std::filesystem::path& path, Error error) {
  error.message = path.filename().string() + ": " + error.message;
  return std::unexpected(std::move(error));
}

}  // namespace amphora::package
