// What the tests of this room share: configurations made from a valid one by named edits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "base/testing/test_data.h"

namespace amphora::testing {

/// The text of an object with members set or, where the text is empty, erased.
inline std::string edited(std::string_view object,
                          const std::vector<std::pair<std::string, std::string>>& members) {
  auto root = json::parse(object);
  for (const auto& [key, text] : members) {
    if (text.empty())
      root->erase(key);
    else
      root->set(key, *json::parse(text));
  }
  return json::dump(*root);
}

}  // namespace amphora::testing
