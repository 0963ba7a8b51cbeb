// str() and repr(): see python_text.h.
#include "text/jinja/python_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"

namespace amphora::text::jinja {
namespace {

void append_items(TextBuilder& out, const std::vector<Value>& items) {
  bool first = true;
  for (const Value& item : items) {
    if (!out.ok()) return;
    if (!first) out.append(", ");
    first = false;
    append_repr(out, item);
  }
}

void append_entries(TextBuilder& out, const DictObject& dict) {
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!out.ok()) return;
    if (!first) out.append(", ");
    first = false;
    append_repr(out, key);
    out.append(": ");
    append_repr(out, value);
  }
}

void append_view(TextBuilder& out, const Value& value) {
  const auto& view = value.as<DictViewObject>();
  out.append(type_name(value) + "([");
  bool first = true;
  for (const auto& [key, item] : view.dict.dict().entries) {
    if (!out.ok()) return;
    if (!first) out.append(", ");
    first = false;
    const bool both = view.part == DictViewObject::Part::kItems;
    if (both) out.append("(");
    if (view.part != DictViewObject::Part::kValues) append_repr(out, key);
    if (both) out.append(", ");
    if (view.part != DictViewObject::Part::kKeys) append_repr(out, item);
    if (both) out.append(")");
  }
  out.append("])");
}

void append_namespace(TextBuilder& out, const NamespaceObject& object) {
  if (object.is_being_shown) return out.append("<Namespace {...}>");
  object.is_being_shown = true;
  out.append("<Namespace {");
  bool first = true;
  for (const auto& [name, value] : object.attributes) {
    if (!first) out.append(", ");
    first = false;
    out.append(repr_of_text(name));
    out.append(": ");
    append_repr(out, value);
  }
  out.append("}>");
  object.is_being_shown = false;
}

void append_macro(TextBuilder& out, const MacroObject& macro) {
  const std::string& name = macro.callable->name;
  out.append("<Macro " + (name.empty() ? std::string("anonymous") : repr_of_text(name)) + ">");
}

}  // namespace

std::string repr_of_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);  // shortest
  std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  const std::string_view exponent_text = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);  // C++ and Python write the exponent alike
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string result(buffer, fixed.ptr);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

std::string repr_of_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (size_t offset = 0; offset < text.size();) {
    const size_t start = offset;
    const char32_t c = next_code_point(text, offset);
    if (c == static_cast<char32_t>(quote) || c == U'\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (c == U'\n') {
      result += "\\n";
    } else if (c == U'\r') {
      result += "\\r";
    } else if (c == U'\t') {
      result += "\\t";
    } else if ((c >= 0x20 && c < 0x7F) || (c >= 0x80 && is_printable(c))) {
      result += text.substr(start, offset - start);
    } else {
      const auto code = static_cast<uint32_t>(c);
      result += c < 0x100     ? fmt::format("\\x{:02x}", code)
                : c < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
  }
  return result + quote;
}

void append_repr(TextBuilder& out, const Value& value) {
  const TextBuilder::Level level(out);  // namespaces may hold themselves
  if (!out.ok()) return;
  switch (value.kind()) {
    case Kind::kNone: return out.append("None");
    case Kind::kUndefined: return out.append("Undefined");
    case Kind::kBool: return out.append(value.as_bool() ? "True" : "False");
    case Kind::kInteger: return out.append(std::to_string(value.as_integer()));
    case Kind::kBigInteger: return out.append(value.as<BigIntegerObject>().digits);
    case Kind::kFloat: return out.append(repr_of_float(value.as_float()));
    case Kind::kString:
      return out.append(value.is_markup() ? "Markup(" + repr_of_text(value.text()) + ")"
                                          : repr_of_text(value.text()));
    case Kind::kList:
      out.append("[");
      append_items(out, value.items());
      return out.append("]");
    case Kind::kTuple:
      out.append("(");
      append_items(out, value.items());
      return out.append(value.items().size() == 1 ? ",)" : ")");
    case Kind::kDict:
      out.append("{");
      append_entries(out, value.dict());
      return out.append("}");
    case Kind::kDictView: return append_view(out, value);
    case Kind::kRange: {
      const auto& range = value.as<RangeObject>();
      return out.append(range.step == 1
                            ? fmt::format("range({}, {})", range.start, range.stop)
                            : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
    }
    case Kind::kNamespace: return append_namespace(out, value.as<NamespaceObject>());
    case Kind::kLoop: {
      auto& loop = value.as<LoopObject>();
      if (const Status status = loop.look_ahead(SIZE_MAX); !status) return out.refuse(status.error().message);
      return out.append(fmt::format("<LoopContext {}/{}>", loop.index + 1, loop.items.size()));
    }
    case Kind::kMacro: return append_macro(out, value.as<MacroObject>());
    case Kind::kIterator:
    case Kind::kFunction:
    case Kind::kCycler:
    case Kind::kJoiner:
      return out.refuse("the text of a " + type_name(value) +
                        " is not supported: Python shows its address, which no template can mean");
  }
}

void append_str(TextBuilder& out, const Value& value) {
  if (value.is_string()) return out.append(value.text(), value.as<StringObject>().quoted);
  if (value.is_undefined()) return;
  const size_t start = out.size();
  if (value.is(Kind::kNamespace)) {
    append_namespace(out, value.as<NamespaceObject>());
  } else {
    append_repr(out, value);
  }
  if (value.quotes()) out.quote_from(start);
}

Result<std::string> to_str(Budget& budget, const Value& value) {
  if (value.is_string()) return std::string(value.text());
  TextBuilder out(&budget);
  append_str(out, value);
  AMPHORA_TRY(budget.status());
  return out.take();
}

Result<std::string> to_repr(Budget& budget, const Value& value) {
  TextBuilder out(&budget);
  append_repr(out, value);
  AMPHORA_TRY(budget.status());
  return out.take();
}

void append_escaped(TextBuilder& out, const Value& string) {
  const std::string_view text = string.text();
  size_t end = 0;
  for (const QuotedRange& range : string.as<StringObject>().quoted) {
    out.append(escape_html(text.substr(end, range.begin - end)));
    const size_t start = out.size();
    out.append(escape_html(text.substr(range.begin, range.end - range.begin)));
    out.quote_from(start);
    end = range.end;
  }
  out.append(escape_html(text.substr(end)));
}

std::string escape_html(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '\'': result += "&#39;"; break;
      case '"': result += "&#34;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace amphora::text::jinja
