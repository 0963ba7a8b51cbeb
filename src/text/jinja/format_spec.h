// How one value of a formatted text is written: width, precision and the rest of Python's format
// specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

struct FormatSpec {
  std::string fill = " ";     ///< one character
  char align = 0;             ///< '<', '>', '^', '=' or 0 for the type's own
  char sign = 0;              ///< '-', '+' or ' '; 0 if not said, which means '-'
  bool coerces_zero = false;  ///< 'z': no sign on a zero
  bool alternate = false;     ///< '#'
  char grouping = 0;          ///< ',' or '_'
  uint64_t width = 0;
  std::optional<uint64_t> precision;
  char type = 0;  ///< conversion letter, or 0
};

/// `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`
Result<FormatSpec> parse_format_spec(std::string_view text);

/// An unsigned decimal number at `offset`, which moves past it; empty if there is none. An error if it is
/// absurd.
Result<std::optional<uint64_t>> take_number(std::string_view text, size_t& offset);

/// The text with fill on the side that `align` (or `otherwise`) leaves; '=' is for numbers.
void append_padded(TextBuilder& out, std::string_view text, const FormatSpec& spec, char otherwise);
/// The first `precision` characters, if there is a precision.
std::string_view cut_to_precision(std::string_view text, const FormatSpec& spec);

}  // namespace amphora::text::jinja
