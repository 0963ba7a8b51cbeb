// Regular expressions as tokenizer.json holds them (Oniguruma's syntax), translated for PCRE2.
#include "text/tokenizer/oniguruma.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "unicode/ranges.h"

namespace amphora::text {
namespace {

// What `\s` stands for inside a bracket. PCRE2's own also holds U+180E, which is no white space since
// Unicode 6.3.
constexpr std::string_view kSpaceItems = "\\x09-\\x0d\\x85\\p{Z}";
constexpr std::string_view kHexItems = "0-9A-Fa-f";

// General categories, each with those whose younger members belong to it.
struct Category {
  std::string_view name;
  std::array<std::string_view, 7> members;
};
constexpr Category kCategories[] = {
    {"L", {"Ll", "Lm", "Lo", "Lu"}},
    {"M", {"Mc", "Mn"}},
    {"N", {"Nd", "Nl", "No"}},
    {"P", {"Pc", "Pd", "Pe", "Po", "Ps"}},
    {"S", {"Sc", "Sk", "Sm", "So"}},
    {"Z", {}},
    {"Ll", {"Ll"}},
    {"Lm", {"Lm"}},
    {"Lo", {"Lo"}},
    {"Lt", {}},
    {"Lu", {"Lu"}},
    {"Mc", {"Mc"}},
    {"Me", {}},
    {"Mn", {"Mn"}},
    {"Nd", {"Nd"}},
    {"Nl", {"Nl"}},
    {"No", {"No"}},
    {"Pc", {"Pc"}},
    {"Pd", {"Pd"}},
    {"Pe", {"Pe"}},
    {"Pf", {}},
    {"Pi", {}},
    {"Po", {"Po"}},
    {"Ps", {"Ps"}},
    {"Sc", {"Sc"}},
    {"Sk", {"Sk"}},
    {"Sm", {"Sm"}},
    {"So", {"So"}},
    {"Zl", {}},
    {"Zp", {}},
    {"Zs", {}},
    {"Cc", {}},
};

void append_younger(std::string& items, std::string_view name) {
  for (const unicode::Range& range : unicode::younger_than_unicode_14(name)) {
    items += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(range.first));
    if (range.last != range.first) items += fmt::format("-\\x{{{:X}}}", static_cast<uint32_t>(range.last));
  }
}

// The bracket items of a property, or nothing if its meaning here is not known to be Oniguruma's.
std::optional<std::string> property_items(std::string_view name) {
  if (name == "Han") {  // by script, as Oniguruma has it; PCRE2's plain \p{Han} means script extensions
    std::string items = "\\p{sc:Han}";
    append_younger(items, name);
    return items;
  }
  for (const Category& category : kCategories) {
    if (category.name != name) continue;
    std::string items = fmt::format("\\p{{{}}}", name);
    for (const std::string_view member : category.members) append_younger(items, member);
    return items;
  }
  return std::nullopt;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) AMPHORA_TRY(step());
    return std::move(out_);
  }

 private:
  std::unexpected<Error> refuse(std::string_view what) const {
    return fail(Fault::kUnsupported,
                fmt::format("tokenizer: regular expression '{}': {} at byte {} is not supported",
                            shown_pattern(pattern_), what, at_));
  }

  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char peek(size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }

  void begin_atom() {
    atom_ = out_.size();
    branch_is_empty_ = false;
  }

  Status step() {
    switch (peek()) {
      case '\\': begin_atom(); return escape();
      case '[': begin_atom(); return bracket();
      case '(': return open_group();
      case ')': return close_group();
      case '{': return braces();
      case '*':
      case '+':
      case '?': {
        out_ += peek();  // possessive and reluctant suffixes mean the same in both
        ++at_;
        if (peek() == '+' || peek() == '?') out_ += pattern_[at_++];
        return {};
      }
      case '|':
        branch_is_empty_ = true;
        out_ += pattern_[at_++];
        return {};
      default:
        begin_atom();
        out_ += pattern_[at_++];
        // A character's continuation bytes are part of the atom.
        while (at_ < pattern_.size() && (static_cast<uint8_t>(peek()) & 0xC0) == 0x80)
          out_ += pattern_[at_++];
        return {};
    }
  }

  Status open_group() {
    group_starts_.push_back(out_.size());
    if (!next_is("(?")) {
      branch_is_empty_ = true;
      out_ += pattern_[at_++];
      return {};
    }
    for (const std::string_view plain : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
      if (!next_is(plain)) continue;
      out_ += plain;
      at_ += plain.size();
      branch_is_empty_ = true;
      return {};
    }
    if (next_is("(?i:") || next_is("(?-i:")) {
      const size_t end = pattern_.find(':', at_);
      out_ += pattern_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      branch_is_empty_ = true;
      return {};
    }
    // (?i) binds to the rest of its group, alternatives included; only at the group's start do both engines
    // agree.
    if (next_is("(?i)") && branch_is_empty_ && (at_ == 0 || pattern_[at_ - 1] != '|')) {
      group_starts_.pop_back();
      out_ += "(?i)";
      at_ += 4;
      return {};
    }
    return refuse("this kind of group");
  }

  Status close_group() {
    if (group_starts_.empty()) return refuse("an unmatched ')'");
    atom_ = group_starts_.back();
    group_starts_.pop_back();
    branch_is_empty_ = false;
    out_ += pattern_[at_++];
    return {};
  }

  // A quantifier in braces, or a plain '{'.
  Status braces() {
    const size_t close = pattern_.find('}', at_);
    const std::string_view inside =
        close == std::string_view::npos ? std::string_view() : pattern_.substr(at_ + 1, close - at_ - 1);
    const size_t comma = inside.find(',');
    const auto all_digits = [](std::string_view text) {
      return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::string_view low = inside.substr(0, comma);
    const std::string_view high =
        comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
    if (inside.empty() || inside == "," || !all_digits(low) || !all_digits(high)) {
      begin_atom();
      out_ += "\\{";
      ++at_;
      return {};
    }
    at_ = close + 1;
    out_ += fmt::format("{{{}{}}}", low.empty() ? "0" : low, inside.substr(low.size()));
    // After braces '+' is a further quantifier; so is '?' after {n}, which has no range to be reluctant
    // about.
    if (peek() == '+' || (peek() == '?' && comma == std::string_view::npos)) {
      out_.insert(atom_, "(?:");
      out_ += ')';
    } else if (peek() == '?') {
      out_ += pattern_[at_++];
    }
    return {};
  }

  Status escape() {
    const char kind = peek(1);
    switch (kind) {
      case 's': return set(kSpaceItems, false);
      case 'S': return set(kSpaceItems, true);
      case 'h': return set(kHexItems, false);
      case 'H': return set(kHexItems, true);
      case 'd':
      case 'D': return set(*property_items("Nd"), kind == 'D');
      case 'p':
      case 'P': {
        AMPHORA_ASSIGN(const Property property, read_property());
        out_ += fmt::format("[{}{}]", property.negated ? "^" : "", property.items);
        return {};
      }
      case 'A':
      case 'z':
        out_ += pattern_.substr(at_, 2);
        at_ += 2;
        return {};
      default: return character_escape();
    }
  }

  Status set(std::string_view items, bool negated) {
    out_ += fmt::format("[{}{}]", negated ? "^" : "", items);
    at_ += 2;
    return {};
  }

  struct Property {
    std::string items;
    bool negated;
  };
  Result<Property> read_property() {
    const size_t close = pattern_.find('}', at_);
    if (peek(2) != '{' || close == std::string_view::npos) return refuse("a property without braces");
    bool negated = peek(1) == 'P';
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    auto items = property_items(name);
    if (!items) return refuse(fmt::format("the property '{}'", name));
    at_ = close + 1;
    return Property{*std::move(items), negated};
  }

  // An escape that stands for one character, inside brackets or out.
  Status character_escape() {
    const char kind = peek(1);
    const auto hexadecimal = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    switch (kind) {
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        out_ += pattern_.substr(at_, 2);
        at_ += 2;
        return {};
      case 'v':
        out_ += "\\x0b";
        at_ += 2;
        return {};
      case 'u':
        for (size_t i = 2; i < 6; ++i)
          if (!hexadecimal(peek(i))) return refuse("'\\u' without four hexadecimal digits");
        out_ += fmt::format("\\x{{{}}}", pattern_.substr(at_ + 2, 4));
        at_ += 6;
        return {};
      case 'x': {
        if (peek(2) == '{') {
          const size_t close = pattern_.find('}', at_);
          if (close == std::string_view::npos) return refuse("'\\x{' without '}'");
          const std::string_view digits = pattern_.substr(at_ + 3, close - at_ - 3);
          if (digits.empty() || digits.size() > 8 || !std::ranges::all_of(digits, hexadecimal))
            return refuse("'\\x{' without hexadecimal digits");
          out_ += pattern_.substr(at_, close + 1 - at_);
          at_ = close + 1;
          return {};
        }
        if (!hexadecimal(peek(2)) || !hexadecimal(peek(3)) || peek(2) >= '8')
          return refuse("'\\x' with anything but two digits below 80");  // above, Oniguruma means a raw byte
        out_ += pattern_.substr(at_, 4);
        at_ += 4;
        return {};
      }
      default: {
        const auto byte = static_cast<uint8_t>(kind);
        const bool alphanumeric =
            (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
        if (byte == 0 || byte >= 0x80 || alphanumeric) return refuse(fmt::format("'\\{}'", kind));
        out_ += pattern_.substr(at_, 2);
        at_ += 2;
        return {};
      }
    }
  }

  Status bracket() {
    out_ += '[';
    ++at_;
    if (peek() == '^') {
      out_ += '^';
      ++at_;
    }
    if (peek() == ']') return refuse("a bracket that begins with ']'");
    while (peek() != ']') {
      if (at_ >= pattern_.size()) return refuse("a bracket without end");
      if (next_is("&&")) return refuse("'&&' in a bracket");
      if (peek() == '[') return refuse("a bracket in a bracket");
      if (peek() != '\\') {
        out_ += pattern_[at_++];
        continue;
      }
      switch (peek(1)) {
        case 's': AMPHORA_TRY(items(kSpaceItems)); break;
        case 'h': AMPHORA_TRY(items(kHexItems)); break;
        case 'd': AMPHORA_TRY(items(*property_items("Nd"))); break;
        case 'p':
        case 'P': {
          AMPHORA_ASSIGN(const Property property, read_property());
          if (property.negated) return refuse("a negated property in a bracket");
          out_ += property.items;
          break;
        }
        default: AMPHORA_TRY(character_escape());
      }
    }
    out_ += ']';
    ++at_;
    return {};
  }

  Status items(std::string_view text) {
    out_ += text;
    at_ += 2;
    return {};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  size_t atom_ = 0;                   // where in out_ the last atom begins
  std::vector<size_t> group_starts_;  // likewise, of the groups that are open
  bool branch_is_empty_ = true;       // nothing matched yet in this branch
};

}  // namespace

Result<std::string> translate_oniguruma(std::string_view pattern) { return Translator(pattern).run(); }

std::string shown_pattern(std::string_view pattern) {
  constexpr size_t kMost = 1000;  // the longest published pattern has about 500 bytes
  if (pattern.size() <= kMost) return std::string(pattern);
  size_t end = kMost;
  while (end > 0 && (static_cast<uint8_t>(pattern[end]) & 0xC0) == 0x80) --end;
  return std::string(pattern.substr(0, end)) + "…";
}

}  // namespace amphora::text
