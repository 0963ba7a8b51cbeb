// How Python writes values: str(), repr(), json.dumps().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

/// Python's str(value), as {{ value }} prints it; "" for undefined.
void append_str(TextBuilder& out, const Value& value);
Result<std::string> to_str(Budget& budget, const Value& value);
/// Python's repr(value).
void append_repr(TextBuilder& out, const Value& value);
Result<std::string> to_repr(Budget& budget, const Value& value);
std::string repr_of_text(std::string_view text);
std::string repr_of_float(double value);

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  ///< of one level; absent: everything on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
/// Python's json.dumps(value). A TypeError for what JSON cannot hold.
Result<std::string> to_json(Budget& budget, const Value& value, const JsonStyle& style);

/// markupsafe.escape for text.
std::string escape_html(std::string_view text);
/// A string, escaped.
void append_escaped(TextBuilder& out, const Value& string);

}  // namespace amphora::text::jinja
