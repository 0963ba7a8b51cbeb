"""Writes src/unicode/ranges.cc: what Hugging Face `tokenizers` thinks of every code point.

usage: make_unicode_ranges.py > src/unicode/ranges.cc      (needs tokenizers==0.23.3; Python's unicodedata must be 14.0)
"""
import unicodedata
from tokenizers import Regex, normalizers, pre_tokenizers

assert unicodedata.unidata_version == "14.0.0"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def isolated_by(pre_tokenizer, base="a", pieces=(2, 3)):
    return {c for c in POINTS if len(pre_tokenizer.pre_tokenize_str(base + chr(c) + base)) in pieces}


def in_class(pattern, base):
    return isolated_by(pre_tokenizers.Split(Regex(pattern), "isolated"), base)


def younger(pattern, base, known):
    return in_class(pattern, base) - {c for c in POINTS if known(c)}


white_space = isolated_by(pre_tokenizers.WhitespaceSplit())
word = set(POINTS) - isolated_by(pre_tokenizers.Whitespace())
numeric = isolated_by(pre_tokenizers.Digits(True))
punctuation = isolated_by(pre_tokenizers.Punctuation())

category = {c: unicodedata.category(chr(c)) for c in POINTS}
CATEGORIES = ["Ll", "Lm", "Lo", "Lu", "Mc", "Mn", "Nd", "Nl", "No", "Pc", "Pd", "Pe", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Cf"]
young = {}
for name in CATEGORIES:
    # a character that merely changed its category stays out: only newly assigned ones are added
    found = younger(r"\p{%s}" % name, "!" if name[0] in "LM" else "a", lambda c: category[c] == name)
    found = {c for c in found if category[c] == "Cn"}
    if found:
        young[name] = ranges(found)
HAN_14 = [(0x2E80, 0x2E99), (0x2E9B, 0x2EF3), (0x2F00, 0x2FD5), (0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B),
          (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFA6D), (0xFA70, 0xFAD9), (0x16FE2, 0x16FE3), (0x16FF0, 0x16FF1),
          (0x20000, 0x2A6DF), (0x2A700, 0x2B738), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0), (0x2F800, 0x2FA1D), (0x30000, 0x3134A)]
young["Han"] = ranges(younger(r"\p{Han}", "a", lambda c: any(a <= c <= b for a, b in HAN_14)))

# Normal forms: younger than the reference's tables (Unicode 9.0).
nfd, nfkd = normalizers.NFD(), normalizers.NFKD()
inert = {0x11930}  # U+11935 U+11930 compose to U+11938 since Unicode 13
for c in POINTS:
    if unicodedata.combining(chr(c)):
        # a known mark of class 240 moves behind every known mark of a lower class; one of class 240 behind class 1
        moves = nfd.normalize_str("\u0345" + chr(c)) != "\u0345" + chr(c) or nfd.normalize_str(chr(c) + "\u0334") != chr(c) + "\u0334"
        same = unicodedata.combining(chr(c)) == 1
        if not moves and not same:
            inert.add(c)
    if unicodedata.normalize("NFD", chr(c)) != chr(c) and nfd.normalize_str(chr(c)) == chr(c):
        inert.add(c)
# Unicode 15 and 15.1 marks and decompositions, which Python's 14.0 tables lack but utf8proc may know.
inert |= {0x10EFD, 0x10EFE, 0x10EFF, 0x11241, 0x11F41, 0x11F42, 0x1E08F, *range(0x1E4EC, 0x1E4F0)}
inert_compatibility = {c for c in POINTS if unicodedata.normalize("NFKD", chr(c)) != chr(c) and nfkd.normalize_str(chr(c)) == chr(c)}
inert_compatibility = (inert_compatibility | set(range(0x1E030, 0x1E06E))) - inert

lower = normalizers.Lowercase()
steps = []  # [first, last, stride, difference]
special = {}
for c in POINTS:
    s = lower.normalize_str(chr(c))
    if s == chr(c):
        continue
    if len(s) != 1:
        assert c == 0x130, hex(c)
        continue
    difference = ord(s) - c
    if steps and steps[-1][3] == difference and (c - steps[-1][1] == steps[-1][2] or (steps[-1][0] == steps[-1][1] and c - steps[-1][1] <= 2)):
        steps[-1][2] = c - steps[-1][1]
        steps[-1][1] = c
    else:
        steps.append([c, c, 1, difference])


def emit(name, items, per_line=6):
    print("constexpr Range %s[] = {" % name)
    for i in range(0, len(items), per_line):
        print("    " + " ".join("{0x%X, 0x%X}," % tuple(r) for r in items[i:i + per_line]))
    print("};\n")


print("""// Sets of characters as Hugging Face `tokenizers` 0.23.3 sees them. Written by tests/oracle/make_unicode_ranges.py.
#include "unicode/ranges.h"

#include <algorithm>

#include "unicode/utf8.h"

namespace amphora::unicode {
namespace {

// clang-format off""")
emit("kWhiteSpace", ranges(white_space))
emit("kWord", ranges(word))
emit("kNumeric", ranges(numeric))
emit("kPunctuation", ranges(punctuation))
emit("kInert", ranges(inert))
emit("kInertInCompatibilityForms", ranges(inert_compatibility))
for name, items in young.items():
    emit("kYounger" + name, items)
print("""// Every `stride`th character from first to last has its lower case at the distance `difference`.
struct LowerCase {
  char32_t first, last;
  uint8_t stride;
  int32_t difference;
};
constexpr LowerCase kLowerCase[] = {""")
for i in range(0, len(steps), 4):
    print("    " + " ".join("{0x%X, 0x%X, %d, %d}," % tuple(s) for s in steps[i:i + 4]))
print("};\n// clang-format on\n")
print("""struct Younger {
  std::string_view name;
  std::span<const Range> ranges;
};
constexpr Younger kYounger[] = {""")
for name in young:
    print('    {"%s", kYounger%s},' % (name, name))
print("""};

bool contains(std::span<const Range> ranges, char32_t c) {
  const auto at = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return at != ranges.end() && at->first <= c;
}

}  // namespace

bool is_white_space(char32_t c) { return contains(kWhiteSpace, c); }
bool is_word(char32_t c) { return contains(kWord, c); }
bool is_numeric(char32_t c) { return contains(kNumeric, c); }
bool is_punctuation(char32_t c) { return contains(kPunctuation, c); }

bool is_inert_in_normal_form(char32_t c, bool compatibility) {
  return contains(kInert, c) || (compatibility && contains(kInertInCompatibilityForms, c));
}

void append_lower_case(std::string& out, char32_t c) {
  if (c == 0x130) {
    out += "i\\u0307";  // the only character whose lower case is longer than one
    return;
  }
  const std::span<const LowerCase> table(kLowerCase);
  const auto at = std::ranges::lower_bound(table, c, {}, &LowerCase::last);
  const bool changes = at != table.end() && at->first <= c && (c - at->first) % at->stride == 0;
  append_utf8(out, changes ? static_cast<char32_t>(static_cast<int32_t>(c) + at->difference) : c);
}

std::span<const Range> younger_than_unicode_14(std::string_view category_or_script) {
  for (const Younger& younger : kYounger)
    if (younger.name == category_or_script) return younger.ranges;
  return {};
}

}  // namespace amphora::unicode""")
