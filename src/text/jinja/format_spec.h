// One conversion of a formatted text: width, precision and the rest, applied to a value as Python's format()
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

struct FormatSpec {
  std::string fill = " ";  ///< one character
  char align = 0;          ///< '<', '>', '^', '=' or 0 for the type's own
  char sign = 0;           ///< '-', '+' or ' '; 0 if not said, which means '-'
  bool alternate = false;  ///< '#'
  char grouping = 0;       ///< ',' or '_'
  uint64_t width = 0;
  std::optional<uint64_t> precision;
  char type = 0;  ///< conversion letter, or 0
};

/// `[[fill]align][sign][#][0][width][grouping][.precision][type]`
Result<FormatSpec> parse_format_spec(std::string_view text);

/// An unsigned decimal number at `offset`, which moves past it; empty if there is none. An error if it is
/// absurd.
Result<std::optional<uint64_t>> take_number(std::string_view text, size_t& offset);

Result<std::string> format_integer(int64_t value, const FormatSpec& spec);
/// Of an integer's decimal digits; only as a decimal number.
Result<std::string> format_big_integer(std::string_view digits, const FormatSpec& spec);
Result<std::string> format_float(double value, const FormatSpec& spec);
/// The text with fill on the side that `align` (or `otherwise`) leaves; '=' puts it after a number's sign.
void append_padded(TextBuilder& out, std::string_view text, const FormatSpec& spec, char otherwise);
/// The first `precision` characters, if there is a precision.
std::string_view cut_to_precision(std::string_view text, const FormatSpec& spec);

}  // namespace amphora::text::jinja
