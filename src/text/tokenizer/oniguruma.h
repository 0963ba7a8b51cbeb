// Regular expressions as tokenizer.json holds them (Oniguruma's syntax), translated for PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora::text {

/// The pattern in PCRE2's syntax, for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE.
///
/// Where the two engines differ in meaning, the translation spells Oniguruma's out: `\s` is the property
/// White_Space,
/// `\h` a hexadecimal digit, `\v` the vertical tab, `a{2}+` a repeated repeat, `{,3}` a quantifier, scripts
/// are exact scripts, and categories include what is younger than the library's Unicode tables. Constructs
/// whose meaning is not known to agree (set operations, POSIX brackets, word boundaries, back-references,
/// rare properties …) are refused with kUnsupported: a silently different split would give silently different
/// ids.
Result<std::string> translate_oniguruma(std::string_view pattern);

/// The pattern for a message: whole, or its beginning if it is absurdly long.
std::string shown_pattern(std::string_view pattern);

}  // namespace amphora::text
