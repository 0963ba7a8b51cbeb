// Python's two ways to format text: see format.h.
#include "text/jinja/format.h"

#include <algorithm>
#include <limits>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/format_number.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/number.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {
namespace {

// What is put into Markup is escaped, unless it is Markup itself.
Result<std::string> text_for(Runtime& runtime, const Value& target, const Value& value) {
  AMPHORA_ASSIGN(std::string text, to_str(runtime.budget(), value));
  return target.is_markup() && !value.is_markup() ? escape_html(text) : text;
}

std::string escaped_to_ascii(std::string_view text) {
  std::string result;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    static constexpr char kHex[] = "0123456789abcdef";
    if (c < 0x80) {
      result += static_cast<char>(c);
      continue;
    }
    const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
    result += '\\';
    result += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    for (int i = digits - 1; i >= 0; --i) result += kHex[c >> (4 * i) & 0xF];
  }
  return result;
}

/// "%(name)-5.2f": reads the directives of one format and takes their values.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Value& format, const Value& arguments)
      : runtime_(runtime),
        format_(format),
        arguments_(arguments),
        text_(format.text()),
        out_(&runtime.budget()) {}

  Result<Value> run() {
    while (offset_ < text_.size() && out_.ok()) {
      const size_t percent = std::min(text_.find('%', offset_), text_.size());
      out_.append(text_.substr(offset_, percent - offset_));
      offset_ = percent;
      if (offset_ < text_.size()) AMPHORA_TRY(append_directive());
    }
    AMPHORA_TRY(runtime_.budget().status());
    if (taken_ < available() && !has_items(arguments_))
      return render_error("not all arguments converted during string formatting");
    return same_markup(runtime_, out_.take(), format_);
  }

 private:
  // Python cannot tell such an argument from a mapping, whose items need not all be used.
  static bool has_items(const Value& value) {
    return value.is(Kind::kDict) || value.is(Kind::kList) || value.is(Kind::kRange) || value.is_undefined();
  }

  size_t available() const { return arguments_.is(Kind::kTuple) ? arguments_.items().size() : 1; }

  Result<Value> take() {
    if (taken_ >= available()) return render_error("not enough arguments for format string");
    const size_t index = taken_++;
    return arguments_.is(Kind::kTuple) ? arguments_.items()[index] : arguments_;
  }

  // A width or precision: digits, or * for an argument. A negative one is no precision, and a width on the
  // left.
  Result<std::optional<uint64_t>> take_size(bool& is_negative, int64_t largest) {
    if (offset_ < text_.size() && text_[offset_] == '*') {
      ++offset_;
      AMPHORA_ASSIGN(const Value value, take());
      if (!value.is_integral() || format_.is_markup()) return render_error("* wants int");
      if (value.as_integer() > largest || value.as_integer() < -largest - 1)
        return render_error("Python int too large to convert to C int");
      is_negative = value.as_integer() < 0;
      const int64_t size = std::clamp<int64_t>(value.as_integer(), -int64_t{kMaxTextBytes}, kMaxTextBytes);
      return static_cast<uint64_t>(is_negative ? -size : size);
    }
    return take_number(text_, offset_);
  }

  Status append_directive() {
    ++offset_;  // the percent sign
    if (offset_ < text_.size() && text_[offset_] == '%') {
      out_.append(text_[offset_++]);
      return {};
    }
    std::optional<Value> named;
    if (offset_ < text_.size() && text_[offset_] == '(') {
      if (!arguments_.is(Kind::kDict)) return render_error("format requires a mapping");
      const size_t end = text_.find(')', offset_);
      if (end == std::string_view::npos) return render_error("incomplete format key");
      const Value* found =
          arguments_.dict().find(&runtime_.budget(), text_.substr(offset_ + 1, end - offset_ - 1));
      if (found == nullptr)
        return render_error("KeyError: " + repr_of_text(text_.substr(offset_ + 1, end - offset_ - 1)));
      named = *found;
      offset_ = end + 1;
    }
    FormatSpec spec;
    bool zero = false;
    for (; offset_ < text_.size(); ++offset_) {
      const char flag = text_[offset_];
      if (flag == '-')
        spec.align = '<';
      else if (flag == '+')
        spec.sign = '+';
      else if (flag == ' ' && spec.sign == 0)
        spec.sign = ' ';
      else if (flag == '#')
        spec.alternate = true;
      else if (flag == '0')
        zero = true;
      else if (flag != ' ')
        break;
    }
    bool is_left = false;
    AMPHORA_ASSIGN(const auto width, take_size(is_left, std::numeric_limits<int64_t>::max()));
    spec.width = width.value_or(0);
    if (is_left) spec.align = '<';
    if (offset_ < text_.size() && text_[offset_] == '.') {
      ++offset_;
      bool is_none = false;
      AMPHORA_ASSIGN(const auto precision, take_size(is_none, std::numeric_limits<int32_t>::max()));
      spec.precision = is_none ? 0 : precision.value_or(0);
    }
    while (offset_ < text_.size() &&
           (text_[offset_] == 'h' || text_[offset_] == 'l' || text_[offset_] == 'L'))
      ++offset_;
    if (offset_ >= text_.size()) return render_error("incomplete format");
    const char conversion = text_[offset_++];
    if (conversion == '%') return render_error("unsupported format character '%'");
    Value value;
    if (named) {
      value = *std::move(named);
    } else {
      AMPHORA_ASSIGN(value, take());
    }
    return append_converted(value, conversion, spec, zero);
  }

  Status append_converted(const Value& value, char conversion, FormatSpec& spec, bool zero) {
    const auto is_one_of = [&](std::string_view letters) { return letters.contains(conversion); };
    if (is_one_of("sra")) return append_text(value, conversion, spec);
    if (conversion == 'c') return append_character(value, spec);
    if (!is_one_of("diuoxXeEfFgG"))
      return render_error(std::string("unsupported format character '") + conversion + "'");
    if (zero && spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    spec.type = is_one_of("iu") ? 'd' : conversion;
    NumberText number;
    if (is_one_of("diuoxX")) {
      AMPHORA_ASSIGN(const Value integer, integer_for(value, spec.type));
      AMPHORA_ASSIGN(number, format_integer(integer, spec));
      const uint64_t least = spec.precision.value_or(0);  // digits
      if (!runtime_.budget().allows(least)) return runtime_.budget().error();
      if (number.digits.size() < least) number.digits.insert(0, least - number.digits.size(), '0');
    } else {
      AMPHORA_ASSIGN(const double converted, float_for(value));
      AMPHORA_ASSIGN(number, format_float(converted, spec));
    }
    append_number(out_, number, spec);
    return {};
  }

  Status append_text(const Value& value, char conversion, const FormatSpec& spec) {
    std::string text;
    if (conversion == 's') {
      AMPHORA_ASSIGN(text, text_for(runtime_, format_, value));
    } else {
      AMPHORA_ASSIGN(text, to_repr(runtime_.budget(), value));
      if (format_.is_markup()) text = escape_html(text);
    }
    if (conversion == 'a') text = escaped_to_ascii(text);
    append_padded(out_, cut_to_precision(text, spec), spec, '>');
    return {};
  }

  // Markup formats wrapped values, which are no characters and no integers. They can be converted to numbers,
  // as strings can.
  Status append_character(const Value& value, const FormatSpec& spec) {
    if (format_.is_markup()) return render_error("%c requires int or char");
    if (value.is_string() && value.as<StringObject>().code_points == 1) {
      append_padded(out_, value.text(), spec, '>');
      return {};
    }
    if (!value.is_number() || value.is(Kind::kFloat)) return render_error("%c requires int or char");
    FormatSpec plain;
    plain.type = 'c';
    AMPHORA_ASSIGN(const NumberText character, format_integer(value, plain));
    append_padded(out_, character.digits, spec, '>');
    return {};
  }

  Result<Value> integer_for(const Value& value, char type) {
    if (type == 'd' && (value.is(Kind::kFloat) || value.is_undefined() || format_.is_markup()))
      return to_integer(&runtime_.budget(), value);
    if (!value.is_number() || value.is(Kind::kFloat) || format_.is_markup())
      return render_error(std::string("%") + type + " format: a real number is required, not " +
                          type_name(value));
    return value;
  }

  Result<double> float_for(const Value& value) {
    if (!value.is_number() && !value.is_undefined() && !format_.is_markup())
      return render_error("must be real number, not " + type_name(value));
    return to_float(&runtime_.budget(), value);
  }

  Runtime& runtime_;
  const Value& format_;
  const Value& arguments_;
  std::string_view text_;
  size_t offset_ = 0, taken_ = 0;
  TextBuilder out_;
};

/// "{name.part[0]!r:>5}".
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Value& format, const CallArguments& arguments)
      : runtime_(runtime), format_(format), arguments_(arguments), out_(&runtime.budget()) {}

  Result<Value> run() {
    AMPHORA_TRY(append_text(format_.text(), 0));
    AMPHORA_TRY(runtime_.budget().status());
    return same_markup(runtime_, out_.take(), format_);
  }

 private:
  Status append_text(std::string_view text, int level) {
    for (size_t offset = 0; offset < text.size() && out_.ok();) {
      const char c = text[offset];
      const bool doubled = offset + 1 < text.size() && text[offset + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        out_.append(c);
        offset += 2;
      } else if (c == '}') {
        return render_error("Single '}' encountered in format string");
      } else if (c == '{') {
        AMPHORA_ASSIGN(const size_t end, field_end(text, offset));
        AMPHORA_TRY(append_field(text.substr(offset + 1, end - offset - 1), level));
        offset = end + 1;
      } else {
        const size_t end = std::min(text.find_first_of("{}", offset), text.size());
        out_.append(text.substr(offset, end - offset));
        offset = end;
      }
    }
    return {};
  }

  static Result<size_t> field_end(std::string_view text, size_t start) {
    int depth = 0;
    for (size_t offset = start; offset < text.size(); ++offset) {
      if (text[offset] == '{') ++depth;
      if (text[offset] == '}' && --depth == 0) return offset;
    }
    return render_error("expected '}' before end of string");
  }

  Status append_field(std::string_view field, int level) {
    const size_t name_end = std::min(field.find_first_of("!:"), field.size());
    AMPHORA_ASSIGN(Value value, look_up(field.substr(0, name_end)));
    std::string_view rest = field.substr(name_end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        return render_error("expected ':' after conversion specifier");
      const char conversion = rest[1];
      if (conversion != 's' && conversion != 'r' && conversion != 'a')
        return render_error(std::string("Unknown conversion specifier ") + conversion);
      AMPHORA_ASSIGN(std::string text, conversion == 's' ? to_str(runtime_.budget(), value)
                                                         : to_repr(runtime_.budget(), value));
      value = runtime_.string(conversion == 'a' ? escaped_to_ascii(text) : std::move(text));
      rest = rest.substr(2);
    }
    std::string spec_text(rest.empty() ? rest : rest.substr(1));
    if (spec_text.find('{') != std::string::npos) {
      if (level > 0) return render_error("Max string recursion exceeded");
      BraceFormatter nested(runtime_, format_, arguments_);
      nested.next_index_ = next_index_;
      AMPHORA_TRY(nested.append_text(spec_text, level + 1));
      next_index_ = nested.next_index_;
      spec_text = nested.out_.take();
    }
    return append_formatted(value, spec_text);
  }

  // The argument, then its attributes and items.
  Result<Value> look_up(std::string_view path) {
    const size_t first_end = std::min(path.find_first_of(".["), path.size());
    AMPHORA_ASSIGN(Value value, argument(path.substr(0, first_end), first_end == path.size()));
    for (size_t offset = first_end; offset < path.size();) {
      if (path[offset] == '.') {
        const size_t end = std::min(path.find_first_of(".[", offset + 1), path.size());
        AMPHORA_ASSIGN(value, get_attribute(runtime_, value, path.substr(offset + 1, end - offset - 1)));
        offset = end;
        continue;
      }
      const size_t end = path.find(']', offset);
      if (path[offset] != '[' || end == std::string_view::npos)
        return render_error("Missing ']' in format string");
      const std::string_view key = path.substr(offset + 1, end - offset - 1);
      size_t digits = 0;
      AMPHORA_ASSIGN(const auto index, take_number(key, digits));
      const bool is_index = index && digits == key.size();
      AMPHORA_ASSIGN(value, get_item(runtime_, value,
                                     is_index ? Value::integer(static_cast<int64_t>(*index))
                                              : runtime_.string(std::string(key))));
      offset = end + 1;
    }
    return value;
  }

  // Only a field that is nothing but a number, or empty, decides how the fields are numbered.
  Result<Value> argument(std::string_view name, bool is_whole) {
    size_t digits = 0;
    AMPHORA_ASSIGN(const auto given, take_number(name, digits));
    if ((name.empty() && is_whole) || (given && digits == name.size())) {
      if (is_whole) (name.empty() ? numbers_itself_ : is_numbered_) = true;
      if (numbers_itself_ && is_numbered_)
        return render_error("cannot switch between manual field specification and automatic field numbering");
      const uint64_t index = name.empty() ? next_index_++ : *given;
      if (index >= arguments_.positional.size())
        return render_error("Replacement index " + std::to_string(index) +
                            " out of range for positional args tuple");
      return arguments_.positional[index];
    }
    const auto it = std::ranges::find(arguments_.named, name, &NamedValue::first);
    if (it == arguments_.named.end()) return render_error("KeyError: " + repr_of_text(name));
    return it->second;
  }

  Status append_formatted(const Value& value, std::string_view spec_text) {
    if (spec_text.empty()) {
      AMPHORA_ASSIGN(const std::string text, text_for(runtime_, format_, value));
      out_.append(text);
      return {};
    }
    if (!format_.is_markup()) return append_with_spec(out_, value, spec_text);
    if (value.is_markup()) return render_error("Unsupported format specification for Markup.");
    TextBuilder formatted(&runtime_.budget());
    AMPHORA_TRY(append_with_spec(formatted, value, spec_text));
    out_.append(escape_html(formatted.take()));
    return {};
  }

  Status append_with_spec(TextBuilder& out, const Value& value, std::string_view spec_text) {
    AMPHORA_ASSIGN(FormatSpec spec, parse_format_spec(spec_text));
    if (!runtime_.budget().allows(spec.width)) return runtime_.budget().error();
    runtime_.budget().spend_bytes(4 * spec.width);  // zeros are grouped one by one
    if (value.is_string()) return append_string(out, value.text(), spec);
    if (!value.is_number())
      return render_error("unsupported format string passed to " + type_name(value) + ".__format__");
    NumberText number;
    if (value.is(Kind::kFloat) || (spec.type != 0 && std::string_view("eEfFgG%").contains(spec.type))) {
      AMPHORA_ASSIGN(const double converted, to_double(value));
      AMPHORA_ASSIGN(number, format_float(converted, spec));
    } else {
      if (spec.precision) return render_error("Precision not allowed in integer format specifier");
      AMPHORA_ASSIGN(number, format_integer(value, spec));
    }
    append_number(out, number, spec);
    return {};
  }

  static Status append_string(TextBuilder& out, std::string_view text, FormatSpec& spec) {
    if (spec.type != 0 && spec.type != 's')
      return render_error(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
    if (spec.grouping != 0)
      return render_error(std::string("Cannot specify '") + spec.grouping + "' with 's'.");
    if (spec.sign != 0) return render_error("Sign not allowed in string format specifier");
    if (spec.coerces_zero)
      return render_error("Negative zero coercion (z) not allowed in string format specifier");
    if (spec.alternate) return render_error("Alternate form (#) not allowed in string format specifier");
    if (spec.align == '=' && spec.fill != "0")
      return render_error("'=' alignment not allowed in string format specifier");
    if (spec.align == '=') spec.align = '<';  // "05": zeros on the right of text
    append_padded(out, cut_to_precision(text, spec), spec, '<');
    return {};
  }

  Runtime& runtime_;
  const Value& format_;
  const CallArguments& arguments_;
  TextBuilder out_;
  size_t next_index_ = 0;
  bool numbers_itself_ = false, is_numbered_ = false;  ///< "{}" and "{0}": not in one format
};

}  // namespace

Result<Value> format_percent(Runtime& runtime, const Value& format, const Value& arguments) {
  return PercentFormatter(runtime, format, arguments).run();
}

Result<Value> format_braces(Runtime& runtime, const Value& format, const CallArguments& arguments) {
  return BraceFormatter(runtime, format, arguments).run();
}

}  // namespace amphora::text::jinja
