// One number in a formatted text, as Python's format() and % write it.
#pragma once

#include <string>

#include "amphora/result.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

struct NumberText {
  std::string prefix;  ///< sign and base, such as "-0x": '=' pads behind it
  std::string digits;
};

/// Of an integer or bool; one beyond 64 bits only as a decimal number.
Result<NumberText> format_integer(const Value& value, const FormatSpec& spec);
Result<NumberText> format_float(double value, const FormatSpec& spec);
void append_number(TextBuilder& out, const NumberText& number, const FormatSpec& spec);

}  // namespace amphora::text::jinja
