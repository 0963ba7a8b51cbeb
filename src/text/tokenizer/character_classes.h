// Classes of characters that only some components of tokenizer.json know.
#pragma once

#include <cstdint>

namespace amphora::text {

/// What BertNormalizer's `clean_text` drops: controls, formats, private use and U+FFFD.
bool is_dropped_by_cleaning(char32_t c);
/// The blocks that BertNormalizer's `handle_chinese_chars` puts spaces around (as the reference has them).
bool is_cjk_ideograph(char32_t c);
/// Category Mn, which BertNormalizer strips.
bool is_nonspacing_mark(char32_t c);
/// Category M of Unicode 9, which StripAccents strips.
bool is_combining_mark(char32_t c);

/// A number for each script that UnicodeScripts tells apart; kAnyScript for spaces and unassigned characters.
inline constexpr uint8_t kAnyScript = 0;
uint8_t script_of(char32_t c);

/// What a character does to the borders of grapheme clusters, as far as clusters of less than six bytes can
/// show it: pairs of regional indicators have eight. Hangul is not in it, see grapheme.cc.
enum class ClusterClass : uint8_t {
  kOther,
  kControl,
  kExtend,
  kNonJoiner,  ///< U+200C: extends, but ends a conjunct
  kJoiner,     ///< U+200D
  kLinker,     ///< a virama: extends, and links consonants
  kSpacingMark,
  kPrepend,
  kPictographic,
  kConsonant,
};
ClusterClass cluster_class(char32_t c);

}  // namespace amphora::text
