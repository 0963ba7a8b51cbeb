// A place in a template's source, for messages.
#pragma once

#include <cstdint>

namespace amphora::text::jinja {

struct Position {
  uint32_t line = 1;    ///< from 1
  uint32_t column = 1;  ///< from 1, in characters
};

}  // namespace amphora::text::jinja
