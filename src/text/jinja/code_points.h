// Text as Python sees it: code points of well-formed UTF-8, their classes and their cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace amphora::text::jinja {

bool is_well_formed_utf8(std::string_view text);
size_t count_code_points(std::string_view text);
/// The code point that starts at `offset`, which moves past it. Ill-formed bytes count as one code point
/// each.
char32_t next_code_point(std::string_view text, size_t& offset);
void append_code_point(std::string& text, char32_t code_point);
std::u32string to_code_points(std::string_view text);
std::string to_utf8(std::u32string_view code_points);
/// Byte offset of the code point with that index, or the size if the text is shorter.
size_t offset_of_code_point(std::string_view text, size_t index);

// Python's str.isspace() and so on, for one character.
bool is_space(char32_t c);
bool is_decimal(char32_t c);  ///< isdecimal
bool is_digit(char32_t c);    ///< isdigit: superscripts too
bool is_numeric(char32_t c);
bool is_alpha(char32_t c);
bool is_alnum(char32_t c);
bool is_identifier_start(char32_t c);  ///< isidentifier of the character alone
bool is_identifier_part(char32_t c);   ///< isidentifier of a letter and the character
bool is_printable(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_titlecase(char32_t c);
bool is_cased(char32_t c);

/// Python's str.upper() and so on: full case mappings ("ß" becomes "SS").
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);
std::string to_capitalized(std::string_view text);
std::string to_swapped_case(std::string_view text);
std::string to_casefolded(std::string_view text);

/// The text without leading / trailing white space, as str.strip() without an argument.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace amphora::text::jinja
