// Methods of str: see methods.h.
#include <algorithm>
#include <array>
#include <functional>

#include "text/jinja/arguments.h"
#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"
#include "text/jinja/text_search.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

// ---- Case and classes

template <std::string (*kConvert)(std::string_view)>
Result<Value> convert(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("str method", arguments, {}));
  AMPHORA_TRY(pay_for_case(runtime.budget(), self.text()));
  return same_markup(runtime, kConvert(self.text()), self);
}

template <bool (*kIsOne)(char32_t)>
Result<Value> all_are(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("str method", arguments, {}));
  const std::string_view text = self.text();
  runtime.budget().spend_bytes(text.size());
  for (size_t offset = 0; offset < text.size();)
    if (!kIsOne(next_code_point(text, offset))) return Value::boolean(false);
  return Value::boolean(!text.empty());
}

// islower and isupper: some cased character, and none of the other cases.
template <bool (*kIsOne)(char32_t)>
bool all_cased_are(std::string_view text) {
  bool any = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    if (kIsOne(c)) {
      any = true;
    } else if (is_cased(c)) {
      return false;
    }
  }
  return any;
}

template <bool (*kIsOne)(char32_t)>
Result<Value> is_of_case(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("str method", arguments, {}));
  runtime.budget().spend_bytes(self.text().size());
  return Value::boolean(all_cased_are<kIsOne>(self.text()));
}

Result<Value> is_title(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("istitle", arguments, {}));
  const std::string_view text = self.text();
  runtime.budget().spend_bytes(text.size());
  bool any = false, within_word = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    if (is_upper(c) || is_titlecase(c)) {
      if (within_word) return Value::boolean(false);
      any = within_word = true;
    } else if (is_lower(c)) {
      if (!within_word) return Value::boolean(false);
    } else {
      within_word = false;
    }
  }
  return Value::boolean(any);
}

Result<Value> is_ascii(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("isascii", arguments, {}));
  return Value::boolean(self.as<StringObject>().is_ascii());
}

Result<Value> is_printable_text(Runtime& runtime, const Value& self, Arguments arguments) {
  if (self.text().empty()) return Value::boolean(true);
  return all_are<is_printable>(runtime, self, arguments);
}

Result<Value> is_identifier(Runtime& runtime, const Value& self, Arguments arguments) {
  const std::string_view text = self.text();
  size_t first_end = 0;
  if (text.empty() || !is_identifier_start(next_code_point(text, first_end))) return Value::boolean(false);
  return all_are<is_identifier_part>(runtime, self, arguments);
}

// ---- Parts

template <Side kSide>
Result<Value> strip_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("strip", arguments, 1));
  std::optional<std::string_view> characters;
  if (const Value* chars = bound.find_present(0)) {
    AMPHORA_ASSIGN(characters, expect_string(*chars, "strip arg"));
    // Each character may be looked for in the whole set.
    runtime.budget().spend(self.text().size() / kBytesPerStep * (1 + characters->size() / 8));
    AMPHORA_TRY(runtime.budget().status());
  }
  return runtime.part_of(self, strip(self.text(), characters, kSide));
}

Result<Value> list_of(Runtime& runtime, const std::vector<std::string_view>& parts, const Value& like) {
  if (parts.size() > kMaxParts) runtime.budget().exceed("parts of a text", kMaxParts);
  if (!runtime.budget().allows(parts.size() * (sizeof(Value) + 200))) return runtime.budget().error();
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(runtime.part_of(like, part));
  return runtime.list(std::move(items));
}

template <bool kFromRight>
Result<Value> split_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("split", arguments, {"sep", "maxsplit"}));
  int64_t limit = -1;
  if (const Value* maxsplit = bound.find(1)) {
    AMPHORA_ASSIGN(limit, expect_integer(*maxsplit));
  }
  runtime.budget().spend_bytes(self.text().size());
  const Value* separator_value = bound.find_present(0);
  if (separator_value == nullptr) {
    const auto split = kFromRight ? split_at_spaces_from_right : split_at_spaces;
    return list_of(runtime, split(self.text(), limit), self);
  }
  AMPHORA_ASSIGN(const std::string_view separator, expect_string(*separator_value, "separator"));
  if (separator.empty()) return render_error("empty separator");
  const auto split = kFromRight ? split_at_from_right : split_at;
  return list_of(runtime, split(self.text(), separator, limit), self);
}

Result<Value> split_text_lines(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("splitlines", arguments, {"keepends"}));
  AMPHORA_ASSIGN(const bool keeps_ends, expect_flag(bound.find(0)));
  runtime.budget().spend_bytes(self.text().size());
  return list_of(runtime, split_lines(self.text(), keeps_ends), self);
}

template <bool kFromRight>
Result<Value> partition(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("partition", arguments, 1, 1));
  AMPHORA_ASSIGN(const std::string_view separator, expect_string(*bound.find(0), "separator"));
  if (separator.empty()) return render_error("empty separator");
  const std::string_view text = self.text();
  const size_t offset = kFromRight ? text.rfind(separator) : text.find(separator);
  const bool found = offset != std::string_view::npos;
  const std::array<std::string_view, 3> parts =
      found        ? std::array{text.substr(0, offset), separator, text.substr(offset + separator.size())}
      : kFromRight ? std::array<std::string_view, 3>{"", "", text}
                   : std::array<std::string_view, 3>{text, "", ""};
  std::vector<Value> items;
  items.push_back(runtime.part_of(self, parts[0]));
  items.push_back(same_markup(runtime, std::string(parts[1]), self));
  items.push_back(runtime.part_of(self, parts[2]));
  if (found && !self.is_markup()) {  // the very separator, which may be Markup
    const Value& given = *bound.find(0);
    items[1] = self.quotes() ? same_markup(runtime, std::string(separator), given) : given;
  }
  return runtime.tuple(std::move(items));
}

template <bool kPrefix>
Result<Value> remove_affix(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("removeprefix", arguments, 1, 1));
  AMPHORA_ASSIGN(const std::string_view affix, expect_string(*bound.find(0), "argument"));
  std::string_view text = self.text();
  if (kPrefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!kPrefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return runtime.part_of(self, text);
}

// ---- Search

// The part of a text that optional start and end arguments select, and where it begins.
struct Window {
  std::string_view text;
  size_t start;     ///< in code points
  bool is_in_text;  ///< false if start lies beyond the end: then not even "" is found
};

Result<Window> window_of(const Value& self, const BoundArguments& bound) {
  const auto& string = self.as<StringObject>();
  const auto size = static_cast<int64_t>(string.code_points);
  int64_t start = 0, end = size;
  for (const auto& [index, edge] : {std::pair(size_t{1}, &start), std::pair(size_t{2}, &end)}) {
    const Value* value = bound.find_present(index);
    if (value == nullptr) continue;
    AMPHORA_ASSIGN(*edge, expect_clamped_integer(*value));
    if (*edge < 0) *edge = std::max<int64_t>(0, *edge + size);
  }
  if (start > size || start > end) return Window{{}, 0, false};
  end = std::min(end, size);
  if (start > end) return Window{{}, 0, false};
  const auto offset = [&](int64_t index) {
    return string.is_ascii() ? static_cast<size_t>(index)
                             : offset_of_code_point(string.text, static_cast<size_t>(index));
  };
  const size_t first = offset(start);
  return Window{std::string_view(string.text).substr(first, offset(end) - first), static_cast<size_t>(start),
                true};
}

template <bool kFromRight, bool kMustExist>
Result<Value> find_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("find", arguments, 3, 1));
  AMPHORA_ASSIGN(const std::string_view part, expect_string(*bound.find(0), "argument"));
  AMPHORA_ASSIGN(const Window window, window_of(self, bound));
  runtime.budget().spend_bytes(2 * self.text().size());
  const size_t offset = !window.is_in_text ? std::string_view::npos
                        : kFromRight       ? window.text.rfind(part)
                                           : window.text.find(part);
  if (offset != std::string_view::npos)
    return Value::integer(
        static_cast<int64_t>(window.start + count_code_points(window.text.substr(0, offset))));
  if (kMustExist) return render_error("substring not found");
  return Value::integer(-1);
}

Result<Value> count_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("count", arguments, 3, 1));
  AMPHORA_ASSIGN(const std::string_view part, expect_string(*bound.find(0), "argument"));
  AMPHORA_ASSIGN(const Window window, window_of(self, bound));
  runtime.budget().spend_bytes(self.text().size());
  if (!window.is_in_text) return Value::integer(0);
  if (part.empty()) return Value::integer(static_cast<int64_t>(count_code_points(window.text)) + 1);
  int64_t count = 0;
  for (size_t at = window.text.find(part); at != std::string_view::npos;
       at = window.text.find(part, at + part.size()))
    ++count;
  return Value::integer(count);
}

template <bool kPrefix>
Result<Value> has_affix(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional(kPrefix ? "startswith" : "endswith", arguments, 3, 1));
  AMPHORA_ASSIGN(const Window window, window_of(self, bound));
  const Value& affix = *bound.find(0);
  const auto matches = [&](std::string_view text) {
    return window.is_in_text && (kPrefix ? window.text.starts_with(text) : window.text.ends_with(text));
  };
  if (affix.is_string()) {
    runtime.budget().spend_bytes(affix.text().size());
    return Value::boolean(matches(affix.text()));
  }
  if (affix.is_undefined()) return undefined_error(affix);
  const std::string name = kPrefix ? "startswith" : "endswith";
  if (!affix.is(Kind::kTuple))
    return render_error(name + " first arg must be str or a tuple of str, not " + type_name(affix));
  for (const Value& item : affix.items()) {
    if (!item.is_string())
      return render_error("tuple for " + name + " must only contain str, not " + type_name(item));
    if (matches(item.text())) return Value::boolean(true);
  }
  return Value::boolean(false);
}

// ---- Composition

// Markup takes any value, and escapes its text unless that is Markup itself; other strings take strings.
Result<std::string> for_insertion(Runtime& runtime, const Value& self, const Value& inserted,
                                  std::string_view what) {
  if (self.is_markup() && !inserted.is_markup()) {
    AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), inserted));
    if (!runtime.budget().allows(5 * text.size())) return runtime.budget().error();
    return escape_html(text);
  }
  AMPHORA_ASSIGN(const std::string_view text, expect_string(inserted, what));
  return std::string(text);
}

Result<Value> replace_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("replace", arguments, 3, 2));
  AMPHORA_ASSIGN(const std::string_view before, expect_string(*bound.find(0), "replace() argument 1"));
  AMPHORA_ASSIGN(const std::string after,
                 for_insertion(runtime, self, *bound.find(1), "replace() argument 2"));
  int64_t limit = -1;
  if (const Value* count = bound.find(2)) {
    AMPHORA_ASSIGN(limit, expect_integer(*count));
  }
  runtime.budget().spend_bytes(4 * self.text().size());
  TextBuilder out(&runtime.budget());
  append_replaced(out, self.text(), before, after, limit);
  AMPHORA_TRY(runtime.budget().status());
  return same_markup(runtime, out.take(), self);
}

Result<Value> join_text(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("join", arguments, 1, 1));
  AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime, *bound.find(0)));
  TextBuilder out(&runtime.budget());
  for (size_t i = 0; i < items.size() && out.ok(); ++i) {
    if (i != 0) out.append(self.text(), self.as<StringObject>().quoted);
    if (!items[i].is_string() && self.is_markup()) {
      AMPHORA_ASSIGN(const std::string text, to_str(runtime.budget(), items[i]));
      const size_t start = out.size();
      out.append(escape_html(text));
      if (items[i].quotes()) out.quote_from(start);
      continue;
    }
    if (!items[i].is_string())
      return render_error("sequence item " + std::to_string(i) + ": expected str instance, " +
                          type_name(items[i]) + " found");
    if (self.is_markup() && !items[i].is_markup()) {
      append_escaped(out, items[i]);
    } else {
      append_str(out, items[i]);
    }
  }
  AMPHORA_TRY(runtime.budget().status());
  return runtime.string_of(out.take_quoted(), self.is_markup());
}

enum class Alignment : uint8_t { kLeft, kRight, kCenter };

template <Alignment kAlignment>
Result<Value> justify(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("ljust", arguments, 2, 1));
  AMPHORA_ASSIGN(const int64_t width, expect_integer(*bound.find(0)));
  std::string fill = " ";
  if (const Value* fill_value = bound.find(1)) {
    AMPHORA_ASSIGN(fill, for_insertion(runtime, self, *fill_value, "The fill character"));
  }
  if (count_code_points(fill) != 1)
    return render_error("The fill character must be exactly one character long");
  const int64_t missing =
      std::max<int64_t>(0, width) - static_cast<int64_t>(self.as<StringObject>().code_points);
  const auto padding = static_cast<uint64_t>(std::max<int64_t>(0, missing));
  const uint64_t left = kAlignment == Alignment::kLeft ? 0
                        : kAlignment == Alignment::kRight
                            ? padding
                            : padding / 2 + (padding & static_cast<uint64_t>(width) & 1);
  TextBuilder out(&runtime.budget());
  out.append_repeated(fill, left);
  out.append(self.text());
  out.append_repeated(fill, padding - left);
  AMPHORA_TRY(runtime.budget().status());
  return same_markup(runtime, out.take(), self);
}

Result<Value> fill_with_zeros(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("zfill", arguments, 1, 1));
  AMPHORA_ASSIGN(const int64_t width, expect_integer(*bound.find(0)));
  std::string_view text = self.text();
  const int64_t missing =
      std::max<int64_t>(0, width) - static_cast<int64_t>(self.as<StringObject>().code_points);
  TextBuilder out(&runtime.budget());
  if (text.starts_with('+') || text.starts_with('-')) {
    out.append(text[0]);
    text.remove_prefix(1);
  }
  out.append_repeated("0", static_cast<uint64_t>(std::max<int64_t>(0, missing)));
  out.append(text);
  AMPHORA_TRY(runtime.budget().status());
  return same_markup(runtime, out.take(), self);
}

Result<Value> expand_tabs(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("expandtabs", arguments, {"tabsize"}));
  int64_t tab_size = 8;
  if (const Value* value = bound.find(0)) {
    AMPHORA_ASSIGN(tab_size, expect_integer(*value));
  }
  if (tab_size > INT32_MAX || tab_size < INT32_MIN) return render_error("int too large to convert to C int");
  TextBuilder out(&runtime.budget());
  const std::string_view text = self.text();
  int64_t column = 0;
  for (size_t offset = 0; offset < text.size() && out.ok();) {
    const size_t start = offset;
    const char32_t c = next_code_point(text, offset);
    if (c == U'\t') {
      const int64_t spaces = tab_size > 0 ? tab_size - column % tab_size : 0;
      out.append_repeated(" ", static_cast<uint64_t>(spaces));
      column = 0;  // a tab stop
      continue;
    }
    out.append(text.substr(start, offset - start));
    column = c == U'\n' || c == U'\r' ? 0 : column + 1;
  }
  AMPHORA_TRY(runtime.budget().status());
  return same_markup(runtime, out.take(), self);
}

Result<Value> format_text(Runtime& runtime, const Value& self, Arguments arguments) {
  return format_braces(runtime, self, arguments);
}

}  // namespace

std::span<const FunctionEntry> string_methods() {
  static constexpr FunctionEntry kMethods[] = {
      {"capitalize", convert<to_capitalized>},
      {"casefold", convert<to_casefolded>},
      {"center", justify<Alignment::kCenter>},
      {"count", count_text},
      {"endswith", has_affix<false>},
      {"expandtabs", expand_tabs},
      {"find", find_text<false, false>},
      {"format", format_text},
      {"index", find_text<false, true>},
      {"isalnum", all_are<is_alnum>},
      {"isalpha", all_are<is_alpha>},
      {"isascii", is_ascii},
      {"isdecimal", all_are<is_decimal>},
      {"isdigit", all_are<is_digit>},
      {"isidentifier", is_identifier},
      {"islower", is_of_case<is_lower>},
      {"isnumeric", all_are<is_numeric>},
      {"isprintable", is_printable_text},
      {"isspace", all_are<is_space>},
      {"istitle", is_title},
      {"isupper", is_of_case<is_upper>},
      {"join", join_text},
      {"ljust", justify<Alignment::kLeft>},
      {"lower", convert<to_lower>},
      {"lstrip", strip_text<Side::kLeft>},
      {"partition", partition<false>},
      {"removeprefix", remove_affix<true>},
      {"removesuffix", remove_affix<false>},
      {"replace", replace_text},
      {"rfind", find_text<true, false>},
      {"rindex", find_text<true, true>},
      {"rjust", justify<Alignment::kRight>},
      {"rpartition", partition<true>},
      {"rsplit", split_text<true>},
      {"rstrip", strip_text<Side::kRight>},
      {"split", split_text<false>},
      {"splitlines", split_text_lines},
      {"startswith", has_affix<true>},
      {"strip", strip_text<Side::kBoth>},
      {"swapcase", convert<to_swapped_case>},
      {"title", convert<to_title>},
      {"upper", convert<to_upper>},
      {"zfill", fill_with_zeros},
  };
  return kMethods;
}

}  // namespace amphora::text::jinja
