// Filters on text, tojson among them: see filters.h.
#include <algorithm>

#include "text/jinja/arguments.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"
#include "text/jinja/text_search.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

// soft_str(): text as it is, Markup or not; anything else as str() has it.
Result<Value> as_text(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value;
  AMPHORA_ASSIGN(std::string text, to_str(runtime.budget(), value));
  return runtime.string(std::move(text));
}

Result<Value> call_method(Runtime& runtime, const Value& self, std::string_view method, Arguments arguments) {
  AMPHORA_ASSIGN(const Value text, as_text(runtime, self));
  return find_method(Kind::kString, method)->second(runtime, text, arguments);
}

Result<Value> filter_upper(Runtime& runtime, const Value& self, Arguments arguments) {
  return call_method(runtime, self, "upper", arguments);
}
Result<Value> filter_lower(Runtime& runtime, const Value& self, Arguments arguments) {
  return call_method(runtime, self, "lower", arguments);
}
Result<Value> filter_capitalize(Runtime& runtime, const Value& self, Arguments arguments) {
  return call_method(runtime, self, "capitalize", arguments);
}
Result<Value> filter_trim(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("trim", arguments, {"chars"}));
  const Value* characters = bound.find(0);
  return call_method(runtime, self, "strip", CallArguments{{characters ? *characters : Value()}, {}});
}

Result<Value> filter_center(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("center", arguments, {"width"}));
  const Value width = bound.find(0) == nullptr ? Value::integer(80) : *bound.find(0);
  return call_method(runtime, self, "center", CallArguments{{width}, {}});
}

// Unlike str.title(), words begin after white space and opening brackets only.
Result<Value> filter_title(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("title", arguments, {}));
  AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), self));
  AMPHORA_TRY(pay_for_case(runtime.budget(), text));
  const auto is_separator = [](char32_t c) {
    return is_space(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
  };
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    const size_t start = offset;
    const bool separates = is_separator(next_code_point(text, offset));
    const size_t second = offset;
    while (offset < text.size()) {
      size_t next = offset;
      if (is_separator(next_code_point(text, next)) != separates) break;
      offset = next;
    }
    const std::string_view item = text;
    result += to_upper(item.substr(start, second - start));
    result += to_lower(item.substr(second, offset - second));
  }
  return runtime.string(std::move(result));
}

Result<Value> filter_replace(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("replace", arguments, {"old", "new", "count"}, 2));
  AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), self));
  AMPHORA_ASSIGN(const std::string before, to_str(runtime.budget(), *bound.find(0)));
  AMPHORA_ASSIGN(const std::string after, to_str(runtime.budget(), *bound.find(1)));
  int64_t limit = -1;
  if (const Value* count = bound.find_present(2)) {
    AMPHORA_ASSIGN(limit, expect_integer(*count));
  }
  runtime.budget().spend_bytes(4 * text.size());
  TextBuilder out(&runtime.budget());
  append_replaced(out, text, before, after, limit);
  AMPHORA_TRY(runtime.budget().status());
  return runtime.string(out.take());
}

Result<Value> filter_string(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("string", arguments, {}));
  return as_text(runtime, self);
}

Result<Value> filter_safe(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("safe", arguments, {}));
  AMPHORA_ASSIGN(const Value text, as_text(runtime, self));
  return runtime.string_of({std::string(text.text()), text.as<StringObject>().quoted}, true);
}

Result<Value> filter_force_escape(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("escape", arguments, {}));
  AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), self));
  if (!runtime.budget().allows(text.size() * 5)) return runtime.budget().error();
  return runtime.string(escape_html(text), true);
}

Result<Value> filter_escape(Runtime& runtime, const Value& self, Arguments arguments) {
  if (self.is_markup()) return filter_safe(runtime, self, arguments);
  return filter_force_escape(runtime, self, arguments);
}

Result<Value> filter_format(Runtime& runtime, const Value& self, Arguments arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return render_error("can't handle positional and keyword arguments at the same time");
  AMPHORA_ASSIGN(const Value text, as_text(runtime, self));
  if (arguments.named.empty()) return format_percent(runtime, text, runtime.tuple(arguments.positional));
  std::vector<DictObject::Entry> entries;
  for (const auto& [name, value] : arguments.named) entries.emplace_back(runtime.string(name), value);
  return format_percent(runtime, text, runtime.dict(std::move(entries)));
}

Result<Value> filter_indent(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("indent", arguments, {"width", "first", "blank"}));
  AMPHORA_ASSIGN(const std::string_view text, expect_string(self, "indent() operand"));
  TextBuilder indention(&runtime.budget());
  const Value* width = bound.find(0);
  if (width != nullptr && width->is_string()) {
    indention.append(width->text());
  } else {
    AMPHORA_ASSIGN(const int64_t spaces, width == nullptr ? Result<int64_t>(4) : expect_integer(*width));
    indention.append_repeated(" ", static_cast<uint64_t>(std::max<int64_t>(0, spaces)));
  }
  AMPHORA_TRY(runtime.budget().status());
  const std::string margin = indention.take();
  const bool indents_blank = bound.flag(2, false);
  TextBuilder out(&runtime.budget());
  if (bound.flag(1, false)) out.append(margin);
  const std::string closed = std::string(text) + "\n";  // so that a last line break counts as a line
  const auto lines = split_lines(closed, false);
  if (lines.size() > kMaxParts) runtime.budget().exceed("parts of a text", kMaxParts);
  bool first = true;
  for (const std::string_view line : lines) {
    if (!first) {
      out.append("\n");
      if (indents_blank || !line.empty()) out.append(margin);
    }
    first = false;
    out.append(line);
  }
  AMPHORA_TRY(runtime.budget().status());
  return same_markup(runtime, out.take(), self);
}

Result<Value> filter_truncate(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  int64_t length = 255, leeway = 5;
  if (const Value* value = bound.find(0)) {
    AMPHORA_ASSIGN(length, expect_clamped_integer(*value));
  }
  if (const Value* value = bound.find_present(3)) {
    AMPHORA_ASSIGN(leeway, expect_clamped_integer(*value));
  }
  const Value end = bound.find(2) == nullptr ? runtime.string("...") : *bound.find(2);
  // An undefined one counts as empty, and is an error only where something is cut.
  const auto end_length = end.is_undefined() ? 0 : static_cast<int64_t>(length_of(end).value_or(0));
  if (!end.is_undefined()) AMPHORA_TRY(expect_string(end, "truncate() end"));
  if (length < end_length)
    return render_error("expected length >= " + std::to_string(end_length) + ", got " +
                        std::to_string(length));
  if (leeway < 0) return render_error("expected leeway >= 0, got " + std::to_string(leeway));
  const auto own_length = length_of(self);
  if (!own_length) return render_error("object of type '" + type_name(self) + "' has no len()");
  if (*own_length <= static_cast<uint64_t>(length) + static_cast<uint64_t>(leeway)) return self;
  AMPHORA_ASSIGN(std::string_view kept, expect_string(self, "truncate() operand"));
  kept = kept.substr(0, offset_of_code_point(kept, static_cast<size_t>(length - end_length)));
  if (!bound.flag(1, false)) kept = kept.substr(0, kept.rfind(' '));  // npos: all of it
  return apply_binary(runtime, BinaryOperator::kAdd, same_markup(runtime, std::string(kept), self), end);
}

Result<Value> filter_word_count(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("wordcount", arguments, {}));
  AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), self));
  runtime.budget().spend_bytes(4 * text.size());
  int64_t words = 0;
  bool within_word = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    const bool is_word = c == U'_' || is_alnum(c);
    if (is_word && !within_word) ++words;
    within_word = is_word;
  }
  return Value::integer(words);
}

std::string quote_url(std::string_view text, bool for_query) {
  static constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos || (c == '/' && !for_query)) {
      result += c;
    } else if (c == ' ' && for_query) {
      result += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kHex[byte >> 4], kHex[byte & 0xF]};
    }
  }
  return result;
}

Result<Value> filter_url_encode(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("urlencode", arguments, {}));
  TextBuilder out(&runtime.budget());
  if (self.is_string() || !is_iterable(self)) {
    AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), self));
    out.append(quote_url(text, false));
  } else {
    std::vector<Value> pairs;
    if (self.is(Kind::kDict)) {
      for (const auto& [key, value] : self.dict().entries) pairs.push_back(runtime.tuple({key, value}));
    } else {
      AMPHORA_ASSIGN(pairs, iterate(runtime, self));
    }
    for (size_t i = 0; i < pairs.size() && out.ok(); ++i) {
      AMPHORA_ASSIGN(const std::vector<Value> pair, iterate(runtime, pairs[i]));
      if (pair.size() != 2) return render_error("urlencode wants pairs");
      AMPHORA_ASSIGN(const std::string key, to_str(runtime.budget(), pair[0]));
      AMPHORA_ASSIGN(const std::string value, to_str(runtime.budget(), pair[1]));
      if (i != 0) out.append("&");
      out.append(quote_url(key, true));
      out.append("=");
      out.append(quote_url(value, true));
    }
  }
  AMPHORA_TRY(runtime.budget().status());
  return runtime.string(out.take());
}

// Python would escape what stands beside such a text, some of the time.
Status refuse_markup(const Value& text) {
  if (!text.is_markup()) return {};
  return unsupported_error("safe HTML as an indent or a separator of tojson is not supported");
}

Result<JsonStyle> json_style(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound,
                 bind_arguments("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  // Python does not look at the indention of a text.
  if (const Value* indent = self.is_string() ? nullptr : bound.find_present(1)) {
    AMPHORA_TRY(refuse_markup(*indent));
    if (indent->is_string()) {
      style.indent = indent->text();
    } else {
      AMPHORA_ASSIGN(const int64_t spaces, expect_integer(*indent));
      if (spaces > static_cast<int64_t>(kMaxTextBytes)) return render_error("indent is too large");
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(0, spaces)), ' ');
    }
    style.item_separator = ",";
  }
  if (const Value* separators = bound.find_present(2)) {
    AMPHORA_ASSIGN(const std::vector<Value> pair, iterate(runtime, *separators));
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return render_error("separators must be two strings");
    for (const Value& text : pair) AMPHORA_TRY(refuse_markup(text));
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  return style;
}

// Hugging Face's, not Jinja's: plain json.dumps, without escaping for HTML.
Result<Value> filter_to_json(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const JsonStyle style, json_style(runtime, self, arguments));
  AMPHORA_ASSIGN(std::string text, to_json(runtime.budget(), self, style));
  return runtime.string(std::move(text));
}

}  // namespace

std::span<const FunctionEntry> text_filters() {
  static constexpr FunctionEntry kFilters[] = {
      {"capitalize", filter_capitalize},
      {"center", filter_center},
      {"e", filter_escape},
      {"escape", filter_escape},
      {"forceescape", filter_force_escape},
      {"format", filter_format},
      {"indent", filter_indent},
      {"lower", filter_lower},
      {"replace", filter_replace},
      {"safe", filter_safe},
      {"string", filter_string},
      {"title", filter_title},
      {"tojson", filter_to_json},
      {"trim", filter_trim},
      {"truncate", filter_truncate},
      {"upper", filter_upper},
      {"urlencode", filter_url_encode},
      {"wordcount", filter_word_count},
  };
  return kFilters;
}

}  // namespace amphora::text::jinja
