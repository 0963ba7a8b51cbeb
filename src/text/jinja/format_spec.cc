// One conversion of a formatted text: see format_spec.h.
#include "text/jinja/format_spec.h"

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Which types can have their digits grouped: by "_" those of other bases too.
bool can_group(char type, char separator) {
  return type == 0 || std::string_view("deEfFgG%").contains(type) ||
         (separator == '_' && std::string_view("boxX").contains(type));
}

}  // namespace

Result<std::optional<uint64_t>> take_number(std::string_view text, size_t& offset) {
  if (offset >= text.size() || text[offset] < '0' || text[offset] > '9') return std::nullopt;
  uint64_t value = 0;
  for (; offset < text.size() && text[offset] >= '0' && text[offset] <= '9'; ++offset) {
    value = value * 10 + static_cast<uint64_t>(text[offset] - '0');
    if (value > kMaxTextBytes)
      return limit_error("limit of text bytes exceeded (" + std::to_string(kMaxTextBytes) + ")");
  }
  return value;
}

Result<FormatSpec> parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t offset = 0;
  size_t after_fill = 0;
  if (!text.empty()) next_code_point(text, after_fill);
  const bool has_fill = after_fill < text.size() && is_align(text[after_fill]);
  if (has_fill) {
    spec.fill = text.substr(0, after_fill);
    spec.align = text[after_fill];
    offset = after_fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    offset = 1;
  }
  const auto next_is = [&](char c) { return offset < text.size() && text[offset] == c; };
  if (next_is('+') || next_is('-') || next_is(' ')) spec.sign = text[offset++];
  if (next_is('z')) spec.coerces_zero = true, ++offset;
  if (next_is('#')) spec.alternate = true, ++offset;
  if (next_is('0') && !has_fill) {
    spec.fill = "0";
    if (spec.align == 0) spec.align = '=';
    ++offset;
  }
  AMPHORA_ASSIGN(const auto width, take_number(text, offset));
  spec.width = width.value_or(0);
  if (next_is(',') || next_is('_')) spec.grouping = text[offset++];
  if (next_is('.')) {
    ++offset;
    AMPHORA_ASSIGN(spec.precision, take_number(text, offset));
    if (!spec.precision) return render_error("Format specifier missing precision");
  }
  if (offset < text.size()) spec.type = text[offset++];
  if (offset != text.size()) return render_error("Invalid format specifier");
  if (spec.grouping != 0 && !can_group(spec.type, spec.grouping))
    return render_error(std::string("Cannot specify '") + spec.grouping + "' with '" + spec.type + "'.");
  return spec;
}

void append_padded(TextBuilder& out, std::string_view text, const FormatSpec& spec, char otherwise) {
  const size_t characters = count_code_points(text);
  const uint64_t padding = spec.width > characters ? spec.width - characters : 0;
  switch (spec.align != 0 ? spec.align : otherwise) {
    case '<': out.append(text); return out.append_repeated(spec.fill, padding);
    case '^':
      out.append_repeated(spec.fill, padding / 2);
      out.append(text);
      return out.append_repeated(spec.fill, padding - padding / 2);
    default: out.append_repeated(spec.fill, padding); return out.append(text);
  }
}

std::string_view cut_to_precision(std::string_view text, const FormatSpec& spec) {
  return spec.precision ? text.substr(0, offset_of_code_point(text, *spec.precision)) : text;
}

}  // namespace amphora::text::jinja
