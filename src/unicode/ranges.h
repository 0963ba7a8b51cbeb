// Sets of characters as the reference tokenizer library sees them: each part of it has a Unicode version of
// its own.
//
// ranges.cc is written by tests/oracle/make_unicode_ranges.py, which asks Hugging Face `tokenizers` 0.23.3
// about every code point.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace amphora::unicode {

struct Range {
  char32_t first, last;
};

/// Rust's `char::is_whitespace` (the property White_Space).
bool is_white_space(char32_t c);
/// `\w` of Rust's regex crate.
bool is_word(char32_t c);
/// Rust's `char::is_numeric` (Nd, Nl, No).
bool is_numeric(char32_t c);
/// What the pre-tokenizer "Punctuation" takes for punctuation: ASCII's, and category P of Unicode 8.
bool is_punctuation(char32_t c);
/// Whether the reference's normal forms leave the character alone and let nothing pass it.
bool is_inert_in_normal_form(char32_t c, bool compatibility);

/// Rust's `char::to_lowercase`, appended as UTF-8 (U+0130 gives two characters).
void append_lower_case(std::string& out, char32_t c);

/// Characters of a general category ("Lu") or script ("Han") that are younger than Unicode 14.0, which older
/// PCRE2 libraries stop at, but known to the reference's Oniguruma (Unicode 16.0). Empty for names that
/// gained nothing.
std::span<const Range> younger_than_unicode_14(std::string_view category_or_script);

}  // namespace amphora::unicode
