"""Writes the tokenizer goldens of tests/data/tokenizers/ with Hugging Face `tokenizers`.

usage: make_tokenizer_cases.py     (needs tokenizers==0.23.3; run from the repository's root)

components.jsonl: small tokenizers made for one component or one interplay each. The first line holds the models that
they share; every other line is a tokenizer (`model` by name, or its own) with its cases:
  encode: [text, ids, ids without special tokens added, ids with special tokens in the text as ordinary text]
  decode: [ids, text, text without special tokens]
  pairs: [text, text, ids, type ids, ids without special tokens added, their type ids]
NAME.jsonl for the tokenizers that the repository carries: the same two kinds of cases, one object a line.
trained/NAME/golden.jsonl: the ids and texts in it anew. The tokenizer.json beside it stays: it was trained once for these
tests, on the texts of CPython's pydoc_data.topics and a few sentences in other languages, with the trainer of `tokenizers`
(wordpiece) or of sentencepiece 0.2.3 (unigram_t5: nmt_nfkc, unigram_albert: nfkc).
"""
import base64
import json
import random
import charsmap
from tokenizers import Tokenizer

OUT = "tests/data/tokenizers/"
TEXTS = [
    "", " ", "  ", "a", " a", "a ", "Hello, world!", "Hey my <s>how are you", " x", "don't I'M we'LL it's 's 've", "  lead  and trail  ",
    "x1 22 333 4444 \u0664\u0665 \u00bd \u2167", "tab\tand\nnew\r\nlines\n\n", "\u00a0nb\u3000wide\u2028line\u0085nel\u180emvs", "caf\u00e9 e\u0301 \u212b \ufb01 \uac01\u1100\u1161",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\U0001f469\u200d\U0001f4bb ok", "!?.,;:-_()[]{}\u00bf\u00a1\u2026\u201cq\u201d $+<=>^`|~\u00a9", "<s>a</s> <s> b<mask>c <mask> d",
    "Stra\u00dfe \u0130I \u1e9e \u03a3\u03a3", "a\u2581b \u2581 \u2581\u2581x", "<mask> <mask>", "x<pad><pad>y", "word wordy aword word", "  <lr>  t  <lr>", "<S> LOW low",
    "aaaa aaaaa aaaaaa", "abababab", "q\u0323\u0307 q\u0307\u0323", "\U0001e030\u32ff\ua7f2",
]
ALPHABET = list("abcxyzABZ019 .,!'-_<>/") + ["  ", "\n", "\t", "\u00e9", "e\u0301", "\u2581", "\u4f60", "\u3042", "\u0664", "\u00bd", "\U0001f600", "\u200d", "\u00a0",
                                              "\u3000", "\u0323", "\u0307", "\u017f", "\u212a", "<s>", "</s>", "<mask>", "<lr>", "word", "low", "\u02b0", "\u20ac", "\u0300", "\ud7a3"]
rng = random.Random(20240607)
RANDOM = ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 16))) for _ in range(24)]


def bpe(vocab, merges=(), **options):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    model.update(options)
    model.update(vocab={piece: i for i, piece in enumerate(vocab)}, merges=list(merges))
    return model


characters = sorted({c for text in TEXTS + ALPHABET for c in text} | {chr(c) for c in range(0x21, 0x7F)} | {"\u0120", "\u010a", "\u0109", "\u00c2", "\u00c3", "\u0142"})
specials = ["<unk>", "<s>", "</s>"]
MODELS = {
    # the last character of each word is another piece: shows where words end
    "ends": bpe(specials + characters + [c + "$" for c in characters], unk_token="<unk>", end_of_word_suffix="$"),
    "bytes": bpe(specials + ["<0x%02X>" % b for b in range(256)] + list("abcdehlorstuwxy\u2581") +
                 ["ab", "abab", "aa", "aaaa", "\u2581a", "he", "ll", "hell", "hello", "\u2581hello", "o\u2581w", "\u2581\u2581", "\u2581\u2581\u2581\u2581"],
                 ["a b", "ab ab", "a a", "aa aa", "\u2581 a", "h e", "l l", "he ll", "hell o", "\u2581 hello", "\u2581 \u2581", "\u2581\u2581 \u2581\u2581"],
                 unk_token="<unk>", fuse_unk=True, byte_fallback=True),
}
REPLACE_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
QWEN = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def metaspace(scheme="always", **more):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, **more}


def added(content, id, **flags):
    token = {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    token.update(flags)
    return token


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def template(single):
    return {"type": "TemplateProcessing", "single": single, "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}, "two": {"id": "two", "ids": [2, 1], "tokens": ["</s>", "<s>"]}}}


A = {"Sequence": {"id": "A", "type_id": 0}}
BOS = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TWO = {"SpecialToken": {"id": "two", "type_id": 0}}
N = len(MODELS["ends"]["vocab"])
NB = len(MODELS["bytes"]["vocab"])
MARKS = [added("<s>", 1, special=True), added("</s>", 2, special=True)]

CASES = []


def case(name, model="ends", **parts):
    CASES.append((name, model, parts))


case("no parts at all")
for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase"):
    case("normalizer " + form, normalizer={"type": form})
case("normalizer Sequence", normalizer=sequence("normalizers", {"type": "NFD"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "\u2581"}, REPLACE_SPACE))
case("normalizer empty Sequence", normalizer=sequence("normalizers"))
for left, right in ((True, True), (True, False), (False, True)):
    case("normalizer Strip %s %s" % (left, right), normalizer={"type": "Strip", "strip_left": left, "strip_right": right})
case("normalizer Replace regex", normalizer={"type": "Replace", "pattern": {"Regex": " {2,}|[aeiou]"}, "content": "$1"})
case("normalizer Replace regex that may be empty", normalizer={"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"})
case("normalizer Replace empty string", normalizer={"type": "Replace", "pattern": {"String": ""}, "content": "-"})
for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
    case("Split string " + behavior, pre_tokenizer=split(" ", behavior, kind="String"))
    case("Split regex " + behavior, pre_tokenizer=split("[ao ]", behavior))
    case("Split inverted " + behavior, pre_tokenizer=split("\\w+".replace("\\w", "[a-z]"), behavior, True))
case("Split special characters as string", pre_tokenizer=split(".,", kind="String"))
case("Split empty string", pre_tokenizer=split("", kind="String"))
for name, pattern in {
    "Qwen": QWEN, "Llama 3": QWEN.replace("\\p{N}|", "\\p{N}{1,3}|"),
    "possessive": "[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
    "categories": "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*",
    "white space": "\\s", "no white space": "\\S+", "hexadecimal": "\\h+", "not hexadecimal": "[^\\h]\\H", "digits": "\\d+|\\D",
    "lazy": "a+?|b{1,2}?|x{2}?", "up to": "a{,2}", "brace": "a{|\\{", "lines": "^.|.$", "vertical tab": "\\v|[\\v\\f]", "escapes": "\\u0061|\\x62|\\x{4f60}|[\\u3042\\t]",
    "Han": "\\p{Han}+|[\\p{Han}a]", "negated property": "\\P{L}+|\\p{^L}", "punctuation and symbols": "[\\p{P}\\p{S}]+|\\p{P}", "lookbehind": "(?<=a)b|(?<!a)b", "atomic": "(?>a+)b|a",
    "empty": "x*", "case folding": "(?i:k|s)", "case at the start": "(?i)ab|z", "alternatives in a group": "(a|b)+|(?:x|y){2}+", "DeepSeek": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
}.items():
    case("regex " + name, pre_tokenizer=split(pattern))
for prefix in (False, True):
    for regex in (False, True):
        case("ByteLevel %s %s" % (prefix, regex), pre_tokenizer={**GPT2, "add_prefix_space": prefix, "use_regex": regex})
case("ByteLevel behind Split", pre_tokenizer=sequence("pretokenizers", split(QWEN), {**GPT2, "use_regex": False}))
case("Digits", pre_tokenizer={"type": "Digits", "individual_digits": False})
case("Digits individual", pre_tokenizer={"type": "Digits", "individual_digits": True})
for kind in ("Whitespace", "WhitespaceSplit"):
    case(kind, pre_tokenizer={"type": kind})
for behavior in ("Isolated", "Removed", "Contiguous"):
    case("Punctuation " + behavior, pre_tokenizer={"type": "Punctuation", "behavior": behavior})
case("Sequence of four", pre_tokenizer=sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation"}, {"type": "Digits", "individual_digits": True}, metaspace("first")))
for scheme in ("always", "first", "never"):
    for split_too in (True, False):
        case("Metaspace %s %s" % (scheme, split_too), pre_tokenizer=metaspace(scheme, split=split_too), decoder=metaspace(scheme, split=split_too), added_tokens=MARKS)
case("Metaspace old", pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}, decoder={"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}, added_tokens=MARKS)
case("Metaspace never, old flag", pre_tokenizer=metaspace("never", add_prefix_space=False), decoder=metaspace("never", add_prefix_space=False), added_tokens=MARKS)
case("Metaspace first behind a normalizer", normalizer=sequence("normalizers", {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "NFKC"}), pre_tokenizer=metaspace("first"), added_tokens=MARKS)
case("Metaspace first behind Prepend", normalizer={"type": "Prepend", "prepend": "z"}, pre_tokenizer=sequence("pretokenizers", split(" ", "Removed", kind="String"), metaspace("first")), added_tokens=MARKS)

FLAGGED = MARKS + [added("<mask>", N, lstrip=True, special=True), added("<pad>", N + 1, rstrip=True, special=True), added("word", N + 2, single_word=True),
                   added("<lr>", N + 3, lstrip=True, rstrip=True), added("<S>", N + 4, normalized=True, special=True), added("low", N + 5, normalized=True), added("xy", N + 6), added("xyz", N + 7),
                   added("  ", N + 8)]
case("added tokens", added_tokens=FLAGGED)
case("added tokens, normalized", normalizer=sequence("normalizers", {"type": "Lowercase"}, REPLACE_SPACE), added_tokens=FLAGGED)
case("added tokens and a template", pre_tokenizer={"type": "WhitespaceSplit"}, added_tokens=FLAGGED, post_processor=template([BOS, A, TWO]))
case("template without start", post_processor=template([A, BOS]), added_tokens=MARKS)
case("template twice the text", post_processor=template([BOS, A, BOS, A]), added_tokens=MARKS)
case("ByteLevel before a template", pre_tokenizer=GPT2, decoder=GPT2, added_tokens=MARKS, post_processor=sequence("processors", {**GPT2, "trim_offsets": False}, template([BOS, A])))

LLAMA2 = sequence("decoders", {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0})
case("Llama 2 style", "bytes", normalizer=sequence("normalizers", {"type": "Prepend", "prepend": "\u2581"}, REPLACE_SPACE), decoder=LLAMA2, added_tokens=MARKS, post_processor=template([BOS, A]))
case("Gemma style", "bytes", normalizer=REPLACE_SPACE, pre_tokenizer=split(" ", "MergedWithPrevious", kind="String"), decoder=sequence("decoders", *LLAMA2["decoders"][:3]), added_tokens=MARKS, post_processor=template([BOS, A]))
case("bytes, no decoder", "bytes")
case("strip both ends", "bytes", decoder={"type": "Strip", "content": "a", "start": 1, "stop": 1})
case("strip fused", "bytes", decoder=sequence("decoders", {"type": "Fuse"}, {"type": "Strip", "content": "a", "start": 2, "stop": 0}))
case("strip the end fused", "bytes", decoder=sequence("decoders", {"type": "Fuse"}, {"type": "Strip", "content": "o", "start": 0, "stop": 2}))
case("replace fused", "bytes", decoder=sequence("decoders", {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "aab"}, "content": "<>"}, {"type": "Replace", "pattern": {"Regex": "l+|\\s"}, "content": "_"}))
case("fallback behind fuse", "bytes", decoder=sequence("decoders", {"type": "Fuse"}, {"type": "ByteFallback"}))

plain = list("ab") + ["ab", "aba", "bab", "ba"]
case("unknown characters are dropped", bpe(plain, ["a b", "ab a", "b a", "b ab"]))
case("unknown, not fused", bpe(["<unk>"] + plain, ["a b"], unk_token="<unk>"))
case("unknown, fused", bpe(["<unk>"] + plain, ["b a", "ba b"][:1], unk_token="<unk>", fuse_unk=True))
case("fallback with holes", bpe(["<unk>", "a", "b"] + ["<0x%02X>" % b for b in range(0x80, 0xC4)], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
case("prefix and suffix", bpe(["<unk>", "a", "b", "##a", "##b", "a/", "##a/", "##b/", "ab", "##ab/", "abab/", "aa/"], ["a ##b", "##a ##b/", "ab ##ab/", "a ##a/"], unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="/"),
     pre_tokenizer={"type": "WhitespaceSplit"})
case("ignore merges", bpe(list("abcd") + ["ab", "abcd", "cd", "bc"], ["b c", "a b", "c d"], ignore_merges=True), pre_tokenizer={"type": "WhitespaceSplit"})
case("merges as pairs", bpe(list("ab ") + ["ab", " a", "ab "], [["a", "b"], [" ", "a"], ["ab", " "]]))
case("a merge that comes twice", bpe(list("abc") + ["ab", "bc", "abc"], ["a b", "b c", "a b", "ab c"]))
case("a later rank first", bpe(list("abc") + ["ab", "abc", "bc"], ["ab c", "b c", "a b"]))
case("marks inside pieces", bpe(list("ab\u2581") + ["a\u2581", "a\u2581b", "\u2581\u2581"], ["a \u2581", "a\u2581 b", "\u2581 \u2581"]), normalizer=REPLACE_SPACE)

# Models besides BPE. The last piece of a tie, the fusing of unknown characters and the text "<unk>" itself are in TEXTS_UNIGRAM.
def unigram(pieces, unk_id=0, **options):
    return {"type": "Unigram", "unk_id": unk_id, "vocab": [list(p) for p in pieces], "byte_fallback": False, **options}


UNIGRAM = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)] + [(c, -5.0 - i / 8) for i, c in enumerate("abcdehlorstuwxyz\u2581.,!'")] + [
    ("ab", -6.5), ("aba", -9.25), ("ba", -6.5), ("bab", -10.0), ("\u2581a", -5.5), ("hello", -11.0), ("\u2581hello", -11.5), ("he", -7.0), ("ll", -7.0), ("llo", -8.0),
    ("\u2581\u2581", -6.0), ("\u00e9", -8.0), ("\u4f60\u597d", -7.5), ("aa", -10.0), ("aaa", -15.0), ("aaaa", -20.0), ("zx", -12.875), ("k\u00f6", -6.0)]
BYTES = [("<0x%02X>" % b, -30.0) for b in range(256)]
UNIGRAM_TEXTS = ["aaaaa aaaaaaa", "abababa bababab", "hello\u2581hello", "q<unk>q", "<unk>", "qqq<unk>", "\u4f60\u597d\u4f60", "zxzx", "k\u00f6k", "a" * 60 + "q" * 40]
META = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
case("Unigram", unigram(UNIGRAM), pre_tokenizer=META, decoder=META, added_tokens=MARKS)
case("Unigram, whole text", unigram(UNIGRAM), normalizer=REPLACE_SPACE, added_tokens=MARKS)
case("Unigram, bytes", unigram(UNIGRAM + BYTES, byte_fallback=True), pre_tokenizer=META, added_tokens=MARKS)
case("Unigram, some bytes", unigram(UNIGRAM + BYTES[0x80:0xC4], byte_fallback=True), pre_tokenizer=META)
case("Unigram, positive scores", unigram([("<unk>", 3.0), ("a", 1.0), ("b", 2.0), ("ab", 2.5), ("abab", 6.0)]))
# Scores that only the reference's way to read numbers makes equal or different.
case("Unigram, scores of 17 digits", unigram([("<unk>", -20.0), ("a", -0.30000000000000004), ("b", -3.4071562957316835), ("ab", -3.7071562957316838), ("ba", -3.7071562957316833),
                                              ("aba", -4.0071562957316836), ("c", -9.946100234985352), ("cc", -19.892200469970703), ("ccc", -29.838300704956055)]))
WORDS = ["[UNK]", "<s>", "</s>"] + list("abcdehlorstuwxyz0123.,!'") + ["##" + c for c in "abcdehlorstuwxyz"] + ["hello", "##llo", "he", "##ab", "ab", "aba", "##aba", "word", "\u4f60", "##\u4f60", "\u00e9", "##e\u0301", "##"]


def word_piece(vocab, **options):
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(vocab)}, **options}


WHITE = {"type": "WhitespaceSplit"}
UNIGRAM_TEXTS += ["hellohello abab ababa words", "w" * 100, "w" * 101, "\u4f60\u4f60\u4f60", "## ##a a##b", "do not I 'm he 's x , y . z ' a n't"]
case("WordPiece", word_piece(WORDS), pre_tokenizer=WHITE, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}, added_tokens=MARKS)
case("WordPiece, not cleaned up", word_piece(WORDS), pre_tokenizer=WHITE, decoder={"type": "WordPiece", "prefix": "##", "cleanup": False})
case("WordPiece, short words", word_piece(WORDS, max_input_chars_per_word=3), pre_tokenizer=WHITE)
case("WordPiece, no prefix", word_piece(WORDS, continuing_subword_prefix=""), pre_tokenizer=WHITE)
case("WordLevel", {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {piece: i for i, piece in enumerate(WORDS)}}, pre_tokenizer=WHITE)
case("BPE decoder", bpe(list("abc") + ["a/", "b/", "ab/", "ab", "/"], ["a b/", "a b"], end_of_word_suffix="/"), pre_tokenizer=WHITE, decoder={"type": "BPEDecoder", "suffix": "/"})
for cleanup in (True, False):
    case("CTC %s" % cleanup, {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {piece: i for i, piece in enumerate(WORDS + ["<pad>", "|", "a<pad>", " .", "a|b"])}}, pre_tokenizer=WHITE,
         decoder={"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": cleanup})

# Normalizers and pre-tokenizers besides those above.
for flags in ((True, True, None, True), (True, True, None, False), (False, True, True, False), (True, False, False, True), (False, False, True, True)):
    case("BertNormalizer %s" % (flags,), normalizer=dict(zip(("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), ("BertNormalizer",) + flags)), pre_tokenizer={"type": "BertPreTokenizer"})
for kind in ("StripAccents", "Nmt", "ByteLevel"):
    case("normalizer " + kind, normalizer={"type": kind})
case("StripAccents behind NFKD", normalizer=sequence("normalizers", {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}))
CHARSMAP = {"e": "E", "\u00e9": "e", "e\u0301": "x", "\ufb01": "fi", "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\u0301": "'", "\u2026": "...", "\u00bd": "1\u20442", "\u200d": "", "\u200b": "",
            "\u0915": "k", "\u00a9": "(c)", "\r": "R", "\u1161": "A", "\u1100": "G", "l": "l", "lo": "0", "\u0600": "n", "\u212b": "\u00c5", "q\u0323": "Q"}
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap.build(CHARSMAP)).decode()}
SPACES = ["<mask>  a", "<mask> x", "a  <mask>  ", "<mask>  <mask>  b"]
CLUSTERS = ["e\u0301\u0301 e e\u200d\u0301 \ufb01\u0301", "\u00a9\u200d\u00a9\u0301 \u00a9\u200da \u00a9\u0301\u200d\u2026", "\u0915\u094d\u0915\u0301 \u0915\u0915\u0301 \u0915\u0301\u094d\u0915\u0301", "\r\n\r\u0301 \n\u0301",
            "\u1100\u1161\u0301 \u1161\u0301 \u11a8\u1161\u0301 \uac00\u1161\u0301", "\u0600e\u0301 \u0600\u0600", "\u0301\u0301", "\u00bdx\u00bd lolo", "\u200b\u200bx y", "\u2026 word", "\u0915\u200c\u094d\u0915\u0301", "q\u0323\u0307e", "a</s>\u00a9 \u2026b</s>\u2026", "\t\u00a9\u200d\u00ae\u0301", "\u200b\t\u2026x", "\ufb01\u200d\tb", "e\u0301\u0301 b", "\t\ufb01 x", "x\u200b \u200b\u2026 c"]
for scheme in ("always", "first"):
    case("Precompiled, Metaspace " + scheme, normalizer=PRECOMPILED, pre_tokenizer=sequence("pretokenizers", split(" ", "Removed", kind="String"), metaspace(scheme)), added_tokens=MARKS)
case("Precompiled in a sequence", normalizer=sequence("normalizers", {"type": "Nmt"}, PRECOMPILED, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}))
case("CharDelimiterSplit", pre_tokenizer={"type": "CharDelimiterSplit", "delimiter": "o"})
case("UnicodeScripts", pre_tokenizer={"type": "UnicodeScripts"})
case("UnicodeScripts behind spaces", pre_tokenizer=sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"}, metaspace("first")))
case("FixedLength", pre_tokenizer={"type": "FixedLength", "length": 3})
for behavior in ("MergedWithPrevious", "MergedWithNext"):
    case("Punctuation " + behavior, pre_tokenizer={"type": "Punctuation", "behavior": behavior})
case("added tokens that take each other's space", added_tokens=MARKS + [added("<mask>", N, rstrip=True), added("  ", N + 1, lstrip=True), added(" x", N + 2)])
case("Metaspace first on parts of the first character", pre_tokenizer=sequence("pretokenizers", {**GPT2, "add_prefix_space": True}, split("[^a-z]", "Isolated"), metaspace("first")))
case("BertProcessing", added_tokens=MARKS, post_processor={"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]})
case("RobertaProcessing", pre_tokenizer={**GPT2, "add_prefix_space": True}, added_tokens=MARKS, post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": True})


PAIRS = [("abc word", "low x"), ("", "a")]


def run(tokenizer, texts, ids_to_decode):
    encode, decode = [], []
    for text in texts:
        tokenizer.encode_special_tokens = False
        ids, plain = tokenizer.encode(text).ids, tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = True
        encode.append([text, ids, plain, tokenizer.encode(text).ids])
    tokenizer.encode_special_tokens = False
    pairs = []
    for first, second in PAIRS:
        both, alone = tokenizer.encode(first, second), tokenizer.encode(first, second, add_special_tokens=False)
        pairs.append([first, second, both.ids, both.type_ids, alone.ids, alone.type_ids])
    for ids in [e[1] for e in encode if e[0]] + ids_to_decode:
        try:
            decode.append([ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids, skip_special_tokens=True)])
        except BaseException as panic:  # Strip of a piece that is nothing but what is stripped, at both ends
            assert "slice index starts" in str(panic) or "out of bounds" in str(panic), panic
    return {"encode": encode, "decode": decode, "pairs": pairs}


def random_ids(limit, count):
    return [[rng.randrange(limit) for _ in range(rng.randrange(1, 9))] for _ in range(count)]


def main():
    with open(OUT + "components.jsonl", "w") as f:
        f.write(json.dumps({"models": MODELS}, separators=(",", ":")) + "\n")
        for name, model, parts in CASES:
            whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
                     "post_processor": None, "decoder": None}
            whole.update(parts)
            whole["model"] = MODELS[model] if isinstance(model, str) else model
            tokenizer = Tokenizer.from_str(json.dumps(whole))
            own = not isinstance(model, str)
            texts = [t for t in TEXTS if not own or len(t) < 30] + (["ab ba abab", "aab bba", "\u0100a\u0141\u0101", "abcd bcd", "b\u00e9a", "a b a  b   a"] if own else []) + RANDOM[: 12 if own else 24] + (UNIGRAM_TEXTS if own and model["type"] != "BPE" else []) + (CLUSTERS if "Precompiled" in name else []) + (SPACES if "each other" in name else [])
            extra = random_ids(tokenizer.get_vocab_size(), 30 if "decoder" in parts else 4)
            if model == "bytes":
                extra += [[3 + b for b in "\u00e9\U0001f600".encode()], [3 + 0xC3, 3 + 0xA9, 3 + 0xFF], [3 + 0xF0, 3 + 0x9F, 259, 3 + 0x98, 3 + 0x80], [3 + 0xFF]]
            f.write(json.dumps({"name": name, "model": model, "parts": parts, **run(tokenizer, texts, extra)}, separators=(",", ":")) + "\n")
    long_texts = ["a" * 500, "ab" * 300, "the quick brown fox " * 40, "\u4e00" * 100, "=" * 130, " " * 77, "\n" * 33 + "x"]
    for name, path in {"tiny-llama": "tests/data/hf/tiny/llama/tokenizer.json", "base-model": "tests/data/base-model/tokenizer.json"}.items():
        tokenizer = Tokenizer.from_file(path)
        result = run(tokenizer, TEXTS + RANDOM + long_texts, random_ids(tokenizer.get_vocab_size(), 60))
        with open(OUT + name + ".jsonl", "w") as f:
            f.write(json.dumps(result, separators=(",", ":")) + "\n")
    for folder in ("wordpiece", "unigram_t5", "unigram_albert"):
        write_trained(OUT + "trained/" + folder)


def write_trained(folder):
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    with open(folder + "/golden.jsonl") as f:
        lines = [json.loads(line) for line in f]
    for line in lines:
        if "pair" in line:
            encoding = tokenizer.encode(*line["pair"])
            line["ids"], line["type_ids"] = encoding.ids, encoding.type_ids
            continue
        if "text" in line:
            line["ids"] = tokenizer.encode(line["text"]).ids
            line["ids_plain"] = tokenizer.encode(line["text"], add_special_tokens=False).ids
            line["decoded_skip"] = tokenizer.decode(line["ids"], skip_special_tokens=True)
        line["decoded"] = tokenizer.decode(line.get("ids_plain", line["ids"]), skip_special_tokens=False)
    with open(folder + "/golden.jsonl", "w") as f:
        f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


main()
