"""Writes src/text/tokenizer/character_classes.cc: classes of characters that only some components know, as Hugging Face
`tokenizers` answers for every code point.

usage: make_tokenizer_classes.py > src/text/tokenizer/character_classes.cc      (needs tokenizers==0.23.3)
"""
import charsmap
from tokenizers import normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def bert(**flags):
    every = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**every, **flags})


def precompiled(mapping):
    return normalizers.Precompiled(charsmap.build(mapping))


# BertNormalizer and StripAccents
clean, chinese, accents, marks = bert(clean_text=True), bert(handle_chinese_chars=True), bert(strip_accents=True), normalizers.StripAccents()
white = {c for c in POINTS if clean.normalize_str("a%sa" % chr(c)) == "a a"}
space_split = pre_tokenizers.WhitespaceSplit()
dropped = {c for c in POINTS if clean.normalize_str("a%sa" % chr(c)) == "aa"}
assert white == {c for c in POINTS if len(space_split.pre_tokenize_str("a%sa" % chr(c))) == 2} - dropped
ideographs = {c for c in POINTS if chinese.normalize_str(chr(c)) == " %s " % chr(c)}
nonspacing = {c for c in POINTS if accents.normalize_str(chr(c)) == ""}
combining = {c for c in POINTS if marks.normalize_str(chr(c)) == ""}
bert_words, punctuation = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Punctuation()
white_space = white | {0x85}
bert_punctuation = {c for c in POINTS if c not in white_space and len(bert_words.pre_tokenize_str("a%sa" % chr(c))) == 3}
known_punctuation = {c for c in POINTS if len(punctuation.pre_tokenize_str("a%sa" % chr(c))) == 3}
assert bert_punctuation == known_punctuation, [hex(c) for c in bert_punctuation ^ known_punctuation]

# UnicodeScripts. Characters of the script "Any" never begin a word.
scripts = pre_tokenizers.UnicodeScripts()
parts = lambda text: len(scripts.pre_tokenize_str(text))
named = [c for c in POINTS if parts("a%sa" % chr(c)) != 1 or parts("\u3042%s\u3042" % chr(c)) != 1]
runs = []  # [first, last, script]
for c in named:
    if runs and runs[-1][1] == c - 1 and parts(chr(c - 1) + chr(c)) == 1:
        runs[-1][1] = c
    else:
        runs.append([c, c, None])
known = []
for run in runs:
    for number, first in enumerate(known):
        if parts(chr(first) + chr(run[0])) == 1:
            run[2] = number + 1
            break
    else:
        known.append(run[0])
        run[2] = len(known)
merged = []
for first, last, script in runs:
    if merged and merged[-1][1] == first - 1 and merged[-1][2] == script:
        merged[-1][1] = last
    else:
        merged.append([first, last, script])

# Grapheme clusters, seen through Precompiled: a cluster of less than six bytes is replaced as a whole by what its
# shortest mapped prefix is mapped to.
plain = precompiled({"a": "X", "\u00a9": "Y"})
extending = {c for c in POINTS if plain.normalize_str("a" + chr(c)) == "X" and c not in (0, ord("a"))}
pictographic = {c for c in POINTS if plain.normalize_str("\u00a9\u200d" + chr(c)).startswith("Y\u200d") and c not in extending}
prepended = set()
candidates = [c for c in POINTS if 0x600 <= c < 0x3000 or 0xA000 <= c < 0xAC00 or 0x10000 <= c < 0x20000]
for start in range(0, len(candidates), 4000):
    group = [c for c in candidates[start:start + 4000] if c not in extending]
    table = precompiled({chr(c): "Z" for c in group})
    prepended |= {c for c in group if table.normalize_str(chr(c) + "a") == "Z"}
# Indic conjuncts: in "consonant linker consonant mark" the last two are a cluster of five bytes of their own unless the
# first two hold on to them.
candidates = [c for c in POINTS if 0x800 <= c < 0x3000 or 0xA000 <= c < 0xB000]
candidates = [c for c in candidates if c not in extending and c not in prepended]
table = precompiled({chr(c): "Z" for c in candidates})
consonants = {c for c in candidates if table.normalize_str("\u0915\u094d%s\u0301" % chr(c)) == "Z\u094dZ\u0301"}
joined = precompiled({"\u0915": "Z"})
linkers = {c for c in extending if joined.normalize_str("\u0915%s\u0915\u0301" % chr(c)) == "Z%sZ\u0301" % chr(c)}
# Of what extends a cluster, only what may stand between consonant, linker and consonant; the rest are spacing marks.
passed = {c for c in extending if joined.normalize_str("\u0915\u094d%s\u0915\u0301" % chr(c)) == "Z\u094d%sZ\u0301" % chr(c)}
# And what may stand between a pictographic character and its joiner.
kept = {c for c in extending if plain.normalize_str("\u00a9%s\u200d\u00a9" % chr(c)).endswith("Y") and
        plain.normalize_str("\u00a9%s\u200d\u00a9\u0301" % chr(c)) == "Y%s\u200dY\u0301" % chr(c)}
# A mark stands alone behind a control character: two of them are then a cluster of four bytes.
lone_mark = precompiled({"\u0301": "Z"})
controls = {c for c in POINTS if lone_mark.normalize_str(chr(c) + "\u0301\u0301") == chr(c) + "Z"}
JOINER, NON_JOINER = 0x200D, 0x200C
assert kept - passed == {NON_JOINER} and passed - kept == {JOINER} and linkers < kept and kept | {JOINER} < extending
CLASSES = {"kControl": controls, "kExtend": kept - linkers - {NON_JOINER}, "kNonJoiner": {NON_JOINER}, "kJoiner": {JOINER}, "kLinker": linkers,
           "kSpacingMark": extending - kept - {JOINER}, "kPrepend": prepended, "kPictographic": pictographic, "kConsonant": consonants - controls}
assert sum(len(members) for members in CLASSES.values()) == len(set().union(*CLASSES.values()))
clusters = sorted((first, last, name) for name, members in CLASSES.items() for first, last in ranges(members))


def emit(name, kind, items, per_line=6):
    print("constexpr %s %s[] = {" % (kind, name))
    for i in range(0, len(items), per_line):
        print("    " + " ".join("{%s}," % ", ".join(v if isinstance(v, str) else "0x%X" % v for v in item) for item in items[i:i + per_line]))
    print("};\n")


print("""// Classes of characters as Hugging Face `tokenizers` 0.23.3 sees them. Written by tests/oracle/make_tokenizer_classes.py.
#include "text/tokenizer/character_classes.h"

#include <algorithm>
#include <span>

#include "unicode/ranges.h"

namespace amphora::text {
namespace {

using unicode::Range;
using enum ClusterClass;

struct ScriptRange {
  char32_t first, last;
  uint8_t script;
};
struct ClusterRange {
  char32_t first, last;
  ClusterClass value;
};

// clang-format off""")
emit("kDropped", "Range", ranges(dropped))
emit("kIdeographs", "Range", ranges(ideographs))
emit("kNonspacing", "Range", ranges(nonspacing))
emit("kCombining", "Range", ranges(combining))
emit("kScripts", "ScriptRange", merged)
emit("kClusters", "ClusterRange", clusters, 4)
print("""// clang-format on

template <class Ranges>
auto find(const Ranges& ranges, char32_t c) {
  const auto at = std::ranges::lower_bound(ranges, c, {}, [](const auto& range) { return range.last; });
  return at != std::end(ranges) && at->first <= c ? &*at : nullptr;
}

}  // namespace

bool is_dropped_by_cleaning(char32_t c) { return find(kDropped, c) != nullptr; }
bool is_cjk_ideograph(char32_t c) { return find(kIdeographs, c) != nullptr; }
bool is_nonspacing_mark(char32_t c) { return find(kNonspacing, c) != nullptr; }
bool is_combining_mark(char32_t c) { return find(kCombining, c) != nullptr; }

uint8_t script_of(char32_t c) {
  const auto* range = find(kScripts, c);
  return range == nullptr ? kAnyScript : range->script;
}

ClusterClass cluster_class(char32_t c) {
  const auto* range = find(kClusters, c);
  return range == nullptr ? kOther : range->value;
}

}  // namespace amphora::text""")
