// Files of other people that the tests can use once they have been fetched: see scripts/fetch-*.sh.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

namespace amphora::testing {

/// The path of a fetched file, whether it is there or not.
inline std::filesystem::path fetched(std::string_view name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder = cache != nullptr && *cache != '\0' ? std::filesystem::path(cache)
                                       : home != nullptr ? std::filesystem::path(home) / ".cache"
                                                         : std::filesystem::path();
  return folder / "amphora" / name;
}

}  // namespace amphora::testing

/// Skips the test, and says so among its output as well: ctest shows no reasons for skipping.
#define AMPHORA_SKIP_WITHOUT(file, script)                                                 \
  if (const std::filesystem::path& needed = (file); !std::filesystem::exists(needed)) {    \
    std::cout << "NOT RUN: " << needed.filename() << " in " << needed.parent_path()        \
              << " has not been fetched (" << (script) << ")\n";                           \
    GTEST_SKIP() << "NOT RUN: " << needed << " has not been fetched (" << (script) << ")"; \
  }                                                                                        \
  static_assert(true)
