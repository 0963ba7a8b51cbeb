// Template source to tokens: see lexer.h. The rules are those of jinja2/lexer.py.
#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/jinja/code_points.h"
#include "text/jinja/errors.h"
#include "text/jinja/limits.h"
#include "text/jinja/string_literal.h"

namespace amphora::text::jinja {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Line breaks become \n, and one at the very end is dropped.
std::string normalized(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      result += source[i];
      continue;
    }
    result += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (offset_ < source_.size()) AMPHORA_TRY(lex_root());
    add(TokenType::kEnd, {}, offset_);
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(offset_); }
  bool looks_at(std::string_view text) const { return rest().starts_with(text); }

  // Offsets only grow, so the place is carried along.
  Position position(size_t offset) {
    for (; scanned_ < offset; ++scanned_) {
      const char c = source_[scanned_];
      if (c == '\n') {
        ++at_.line;
        at_.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++at_.column;
      }
    }
    return at_;
  }

  void add(TokenType type, std::string text, size_t offset) {
    tokens_.push_back({type, std::move(text), position(offset)});
  }

  void add_data(std::string_view text, size_t offset) {
    if (!text.empty()) add(TokenType::kData, std::string(text), offset);
  }

  void skip_spaces() { offset_ = source_.size() - strip_left(rest()).size(); }

  // '-' or '+' after a tag's start, consumed; otherwise a zero.
  char take_sign() {
    if (offset_ >= source_.size() || (source_[offset_] != '-' && source_[offset_] != '+')) return 0;
    return source_[offset_++];
  }

  // What a block's or comment's end takes with it: "-%}" all white space, "%}" one line break, "+%}" nothing.
  bool take_end(std::string_view end) {
    const char sign = looks_at("-") || looks_at("+") ? source_[offset_] : '\0';
    if (!rest().substr(sign != 0).starts_with(end)) return false;
    offset_ += end.size() + (sign != 0);
    if (sign == '-') {
      skip_spaces();
    } else if (sign == 0 && looks_at("\n")) {
      ++offset_;
    }
    return true;
  }

  // Text before a tag: what the tag's sign, or lstrip_blocks, leaves of it.
  std::string_view trimmed_before_tag(size_t start, size_t end, char sign, bool is_variable) const {
    const std::string_view text = std::string_view(source_).substr(start, end - start);
    if (sign == '-') return strip_right(text);
    if (sign == '+' || is_variable) return text;
    const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    const bool starts_line = line > 0 || start == 0 || source_[start - 1] == '\n';
    return starts_line && strip_left(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  // Data up to the next tag, then that tag.
  Status lex_root() {
    const size_t start = offset_;
    size_t tag = start;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        add_data(rest(), start);
        offset_ = source_.size();
        return {};
      }
      const char kind = source_[tag + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++tag;
    }
    const char kind = source_[tag + 1];
    offset_ = tag + 2;
    const char sign = take_sign();
    add_data(trimmed_before_tag(start, tag, sign, kind == '{'), start);
    if (kind == '#') return lex_comment(tag);
    if (kind == '{') return lex_tag(tag, TokenType::kVariableBegin, TokenType::kVariableEnd);
    if (take_raw_begin()) return lex_raw(tag);
    return lex_tag(tag, TokenType::kBlockBegin, TokenType::kBlockEnd);
  }

  Status lex_comment(size_t tag) {
    if (offset_ == source_.size()) return {};  // as jinja2: a comment that begins at the very end is none
    const size_t end = source_.find("#}", offset_);
    if (end == std::string::npos) return syntax_error(position(tag), "Missing end of comment tag");
    const bool signed_end = end > offset_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
    offset_ = end - (signed_end ? 1 : 0);
    take_end("#}");
    return {};
  }

  // "raw %}" or "raw -%}"; unlike other ends, a plain one keeps the line break after it.
  bool take_raw_begin() {
    const size_t before = offset_;
    skip_spaces();
    if (looks_at("raw")) {
      offset_ += 3;
      skip_spaces();
      if (looks_at("%}")) {
        offset_ += 2;
        return true;
      }
      if (looks_at("-%}")) {
        offset_ += 3;
        skip_spaces();
        return true;
      }
    }
    offset_ = before;
    return false;
  }

  Status lex_raw(size_t tag) {
    if (offset_ == source_.size()) return {};
    const size_t start = offset_;
    for (size_t end = source_.find("{%", start); end != std::string::npos;
         end = source_.find("{%", end + 1)) {
      offset_ = end + 2;
      const char sign = take_sign();
      skip_spaces();
      if (!looks_at("endraw")) continue;
      offset_ += 6;
      skip_spaces();
      if (!take_end("%}")) continue;
      add_data(trimmed_before_tag(start, end, sign, false), start);
      return {};
    }
    return syntax_error(position(tag), "Missing end of raw directive");
  }

  bool take_tag_end(TokenType end) {
    const size_t before = offset_;
    if (end == TokenType::kBlockEnd) {
      if (!take_end("%}")) return false;
    } else if (looks_at("}}")) {
      offset_ += 2;
    } else if (looks_at("-}}")) {
      offset_ += 3;
      skip_spaces();
    } else {
      return false;
    }
    add(end, {}, before);
    return true;
  }

  Status lex_tag(size_t tag, TokenType begin, TokenType end) {
    add(begin, {}, tag);
    std::string open;  // brackets that wait for their end
    while (offset_ < source_.size()) {
      if (open.empty() && take_tag_end(end)) return {};
      const size_t before = offset_;
      skip_spaces();
      if (offset_ != before) continue;
      if (lex_number() || lex_name()) continue;
      if (source_[offset_] == '\'' || source_[offset_] == '"') {
        AMPHORA_TRY(lex_string());
        continue;
      }
      AMPHORA_TRY(lex_operator(open));
    }
    return {};  // the parser says what it misses
  }

  // Digits with single underscores between them, from `from`; their end.
  size_t digits_end(size_t from) const {
    size_t end = from;
    while (end < source_.size() &&
           (is_ascii_digit(source_[end]) || (source_[end] == '_' && end > from && source_[end - 1] != '_' &&
                                             end + 1 < source_.size() && is_ascii_digit(source_[end + 1]))))
      ++end;
    return end;
  }

  size_t prefixed_integer_end() const {
    if (source_[offset_] != '0' || offset_ + 1 >= source_.size()) return offset_;
    const char base = static_cast<char>(source_[offset_ + 1] | 0x20);
    const std::string_view allowed = base == 'x'   ? "0123456789abcdefABCDEF"
                                     : base == 'o' ? "01234567"
                                     : base == 'b' ? "01"
                                                   : "";
    size_t end = offset_ + 2;
    while (!allowed.empty() && end < source_.size()) {
      const size_t digit = end + (source_[end] == '_' ? 1 : 0);
      if (digit >= source_.size() || allowed.find(source_[digit]) == std::string_view::npos) break;
      end = digit + 1;
    }
    return end > offset_ + 2 ? end : offset_;
  }

  bool lex_number() {
    if (!is_ascii_digit(source_[offset_])) return false;
    size_t end = digits_end(offset_);
    bool is_float = false;
    if (offset_ == 0 || source_[offset_ - 1] != '.') {
      const size_t fraction = end < source_.size() && source_[end] == '.' ? digits_end(end + 1) : end + 1;
      const size_t mantissa = fraction > end + 1 ? fraction : end;
      size_t exponent = mantissa;
      if (mantissa < source_.size() && (source_[mantissa] | 0x20) == 'e') {
        size_t digits = mantissa + 1;
        if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
        if (const size_t stop = digits_end(digits); stop > digits) exponent = stop;
      }
      if (exponent > end) {
        end = exponent;
        is_float = true;
      }
    }
    if (!is_float) {
      if (const size_t prefixed = prefixed_integer_end(); prefixed > offset_) {
        end = prefixed;
      } else if (source_[offset_] == '0') {  // "007" is three numbers, the second an error of the parser
        end = offset_ + 1;
        while (end < source_.size() &&
               (source_[end] == '0' || (source_[end] == '_' && looks_like_zero(end + 1))))
          ++end;
      }
    }
    std::string digits = source_.substr(offset_, end - offset_);
    std::erase(digits, '_');
    add(is_float ? TokenType::kFloat : TokenType::kInteger, std::move(digits), offset_);
    offset_ = end;
    return true;
  }

  bool looks_like_zero(size_t offset) const { return offset < source_.size() && source_[offset] == '0'; }

  bool lex_name() {
    size_t end = offset_;
    while (end < source_.size()) {
      size_t next = end;
      const char32_t c = next_code_point(source_, next);
      if (c != U'_' && !is_alnum(c)) break;
      end = next;
    }
    if (end == offset_) return false;
    add(TokenType::kName, source_.substr(offset_, end - offset_), offset_);
    offset_ = end;
    return true;
  }

  Status lex_string() {
    const char quote = source_[offset_];
    size_t end = offset_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      return syntax_error(position(offset_),
                          std::string("unexpected char ") + (quote == '"' ? "'\"'" : "\"'\""));
    auto text = unescape_string_literal(std::string_view(source_).substr(offset_ + 1, end - offset_ - 1));
    if (!text) return std::unexpected(located(std::move(text).error(), position(offset_)));
    add(TokenType::kString, *std::move(text), offset_);
    offset_ = end + 1;
    return {};
  }

  Status lex_operator(std::string& open) {
    static constexpr std::array<std::string_view, 6> kDouble = {"**", "//", "==", "!=", ">=", "<="};
    static constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
    const Position at = position(offset_);
    for (const std::string_view text : kDouble) {
      if (!looks_at(text)) continue;
      add(TokenType::kOperator, std::string(text), offset_);
      offset_ += text.size();
      return {};
    }
    const char c = source_[offset_];
    if (kSingle.find(c) == std::string_view::npos) {
      size_t next = offset_;
      next_code_point(source_, next);
      return syntax_error(at, "unexpected char '" + source_.substr(offset_, next - offset_) + "'");
    }
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) return syntax_error(at, std::string("unexpected '") + c + "'");
      if (open.back() != c)
        return syntax_error(at, std::string("unexpected '") + c + "', expected '" + open.back() + "'");
      open.pop_back();
    }
    add(TokenType::kOperator, std::string(1, c), offset_);
    ++offset_;
    return {};
  }

  const std::string source_;
  size_t offset_ = 0;
  size_t scanned_ = 0;
  Position at_;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (source.size() > kMaxSourceBytes)
    return limit_error("limit of template bytes exceeded (" + std::to_string(kMaxSourceBytes) + ")");
  if (!is_well_formed_utf8(source)) return syntax_error({}, "template is not well-formed UTF-8");
  const std::string text = normalized(source);
  return Lexer(text).run();
}

}  // namespace amphora::text::jinja
