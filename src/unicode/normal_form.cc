// Unicode normal forms, over utf8proc.
#include "unicode/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "unicode/ranges.h"
#include "unicode/utf8.h"

namespace amphora::unicode {
namespace {

using Buffer = std::vector<utf8proc_int32_t>;

// No form changes a text whose code points all lie below this.
constexpr char32_t first_affected(NormalForm form) {
  switch (form) {
    case NormalForm::kC: return 0x300;
    case NormalForm::kD: return 0xC0;
    case NormalForm::kKc:
    case NormalForm::kKd: return 0xA0;
  }
  return 0;
}

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void decompose(char32_t code_point, bool compatibility, Buffer& out) {
  constexpr size_t kLongest = 18;  // U+FDFA, the longest decomposition there is
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatibility ? UTF8PROC_COMPAT : 0));
  const size_t start = out.size();
  out.resize(start + kLongest);
  int boundary_state = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), out.data() + start,
                                             kLongest, options, &boundary_state);
  if (count < 0 ||
      static_cast<size_t>(count) > kLongest) {  // cannot be: only an unassigned code point is refused
    out.resize(start);
    out.push_back(static_cast<utf8proc_int32_t>(code_point));
    return;
  }
  out.resize(start + static_cast<size_t>(count));
}

// Canonical order. utf8proc has it too, but by swapping neighbours, which is quadratic in hostile runs of
// marks.
void order_marks(Buffer& buffer) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  for (auto at = buffer.begin(); at != buffer.end();) {
    if (is_starter(*at)) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, buffer.end(), is_starter);
    if (end - at > 1)
      std::stable_sort(at, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
}

void flush(Buffer& buffer, bool compose, std::string& out) {
  order_marks(buffer);
  auto count = static_cast<utf8proc_ssize_t>(buffer.size());
  if (compose)
    count = utf8proc_normalize_utf32(buffer.data(), count,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(out, static_cast<char32_t>(buffer[static_cast<size_t>(i)]));
  buffer.clear();
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  const char32_t limit = first_affected(form);
  const bool compatibility = form == NormalForm::kKc || form == NormalForm::kKd;
  const bool compose = form == NormalForm::kC || form == NormalForm::kKc;
  std::string out;
  out.reserve(text.size());
  Buffer buffer;
  for (const CodePoint c : CodePoints(text)) {
    // A character that the reference does not know is a wall: nothing is ordered or composed across it.
    if (c.value >= limit && is_inert_in_normal_form(c.value, compatibility)) {
      flush(buffer, compose, out);
      out.append(text, c.offset, c.bytes);
      continue;
    }
    // ASCII begins a new combining sequence and composes with nothing before it: what is buffered is
    // complete.
    if (c.value < 0x80 && !buffer.empty() && buffer.size() > 1) flush(buffer, compose, out);
    decompose(c.value, compatibility, buffer);
  }
  flush(buffer, compose, out);
  return out;
}

}  // namespace amphora::unicode
