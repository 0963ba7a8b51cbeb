// What the tests of this room share: cases in files of JSON lines.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "text/tokenizer.h"

namespace amphora::testing {

/// The values of a file of JSON lines.
inline std::vector<json::Value> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::vector<json::Value> lines;
  for (std::string line; std::getline(in, line);) {
    auto value = json::parse(line);
    EXPECT_TRUE(value) << path << ": " << (value ? "" : value.error().message);
    if (value) lines.push_back(*std::move(value));
  }
  return lines;
}

inline std::vector<text::TokenId> ids_of(const json::Value& array) {
  std::vector<text::TokenId> ids;
  for (const json::Value& id : array.items()) ids.push_back(static_cast<text::TokenId>(*id.as_unsigned()));
  return ids;
}

}  // namespace amphora::testing
