// The pre-tokenizers of tokenizer.json.
#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>

#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/character_classes.h"
#include "unicode/ranges.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

using BuiltPreTokenizer = Result<std::unique_ptr<PreTokenizer>>;

Status split_words(Stretch& stretch, const Pattern& pattern, SplitBehavior behavior, bool invert) {
  std::vector<Span> words;
  std::vector<Part> parts;
  for (const Span word : stretch.words) {
    AMPHORA_TRY(pattern.find_parts(slice(stretch.text, word), parts));
    append_words(parts, behavior, invert, word.begin, words);
  }
  stretch.words = std::move(words);
  return {};
}

// Builds the stretch's next text word by word.
class Rewriter {
 public:
  explicit Rewriter(Stretch& stretch) : stretch_(stretch) {
    text_.reserve(stretch.text.size() + stretch.words.size());
    words_.reserve(stretch.words.size());
  }
  // A word's new text is `prefix(word)` and what `map(out, part)` appends for its parts. What is put before
  // the first character counts as stemming from it.
  template <class Prefix, class Map>
  void run(const Prefix& prefix, const Map& map) {
    size_t origin_bytes = 0;
    for (const Span word : stretch_.words) {
      const size_t begin = text_.size();
      const size_t cut = std::clamp(stretch_.origin_bytes, word.begin, word.end);
      text_ += prefix(word);
      map(text_, slice(stretch_.text, {word.begin, cut}));
      if (cut > word.begin) origin_bytes = text_.size();
      map(text_, slice(stretch_.text, {cut, word.end}));
      words_.push_back({begin, text_.size()});
    }
    stretch_ = {std::move(text_), std::move(words_), origin_bytes};
  }

 private:
  Stretch& stretch_;
  std::string text_;
  std::vector<Span> words_;
};

class SequencePreTokenizer : public PreTokenizer {
 public:
  static BuiltPreTokenizer build(Component& component) {
    auto sequence = std::make_unique<SequencePreTokenizer>();
    AMPHORA_ASSIGN(auto parts, component.parts("pretokenizers"));
    for (Component& part : parts) {
      AMPHORA_ASSIGN(auto pre_tokenizer, build_pre_tokenizer(part));
      sequence->parts_.push_back(std::move(pre_tokenizer));
    }
    return sequence;
  }
  Status split(Stretch& stretch) const override {
    for (const auto& part : parts_) AMPHORA_TRY(part->split(stretch));
    return {};
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

// Split, Digits, WhitespaceSplit, Whitespace and Punctuation differ only in what they split by.
class PatternPreTokenizer : public PreTokenizer {
 public:
  PatternPreTokenizer(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status split(Stretch& stretch) const override { return split_words(stretch, pattern_, behavior_, invert_); }

  static BuiltPreTokenizer build_split(Component& component) {
    AMPHORA_ASSIGN(Pattern pattern, component.pattern("pattern"));
    AMPHORA_ASSIGN(const SplitBehavior behavior, component.split_behavior("behavior"));
    AMPHORA_ASSIGN(const bool invert, component.boolean("invert"));
    return std::make_unique<PatternPreTokenizer>(std::move(pattern), behavior, invert);
  }
  static BuiltPreTokenizer build_digits(Component& component) {
    AMPHORA_ASSIGN(const bool individual, component.boolean("individual_digits"));
    return std::make_unique<PatternPreTokenizer>(
        Pattern::characters(unicode::is_numeric),
        individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false);
  }
  static BuiltPreTokenizer build_white_space_split(Component&) {
    return std::make_unique<PatternPreTokenizer>(Pattern::characters(unicode::is_white_space),
                                                 SplitBehavior::kRemoved, false);
  }
  static BuiltPreTokenizer build_character_delimiter(Component& component) {
    AMPHORA_ASSIGN(const char32_t delimiter, component.character("delimiter"));
    std::string text;
    unicode::append_utf8(text, delimiter);
    AMPHORA_ASSIGN(Pattern pattern, Pattern::literal(std::move(text)));
    return std::make_unique<PatternPreTokenizer>(std::move(pattern), SplitBehavior::kRemoved, false);
  }
  static BuiltPreTokenizer build_punctuation(Component& component) {
    AMPHORA_ASSIGN(const SplitBehavior behavior,
                   component.split_behavior("behavior", SplitBehavior::kIsolated));
    return std::make_unique<PatternPreTokenizer>(Pattern::characters(unicode::is_punctuation), behavior,
                                                 false);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// White space apart and dropped, punctuation apart.
class BertPreTokenizer : public PreTokenizer {
 public:
  static BuiltPreTokenizer build(Component&) { return std::make_unique<BertPreTokenizer>(); }
  Status split(Stretch& stretch) const override {
    AMPHORA_TRY(
        split_words(stretch, Pattern::characters(unicode::is_white_space), SplitBehavior::kRemoved, false));
    return split_words(stretch, Pattern::characters(unicode::is_punctuation), SplitBehavior::kIsolated,
                       false);
  }
};

// Splits where the script changes; kana counts as Han, and what has no script as that of its neighbour. What
// stands before the first character with a script is dropped, as in the reference.
class UnicodeScriptsPreTokenizer : public PreTokenizer {
 public:
  static BuiltPreTokenizer build(Component&) { return std::make_unique<UnicodeScriptsPreTokenizer>(); }
  Status split(Stretch& stretch) const override {
    std::vector<Span> words;
    for (const Span word : stretch.words) {
      uint8_t last = kAnyScript;
      for (const unicode::CodePoint c : unicode::CodePoints(slice(stretch.text, word))) {
        const uint8_t script = script_of(c.value);
        const size_t begin = word.begin + c.offset;
        if (script != kAnyScript && script != last) words.push_back({begin, begin});
        if (script != kAnyScript) last = script;
        if (last != kAnyScript) words.back().end = begin + c.bytes;
      }
    }
    stretch.words = std::move(words);
    return {};
  }
};

// Words of a fixed number of characters.
class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(uint64_t length) : length_(length) {}
  static BuiltPreTokenizer build(Component& component) {
    AMPHORA_ASSIGN(const uint64_t length, component.count("length"));
    if (length == 0) return component.corrupt("length", "is zero");
    return std::make_unique<FixedLengthPreTokenizer>(length);
  }
  Status split(Stretch& stretch) const override {
    std::vector<Span> words;
    for (const Span word : stretch.words) {
      uint64_t characters = 0;
      for (const unicode::CodePoint c : unicode::CodePoints(slice(stretch.text, word))) {
        const size_t begin = word.begin + c.offset;
        if (characters++ % length_ == 0) words.push_back({begin, begin});
        words.back().end = begin + c.bytes;
      }
    }
    stretch.words = std::move(words);
    return {};
  }

 private:
  uint64_t length_;
};

// Runs of word characters and runs of anything else but white space: `\w+|[^\w\s]+` in Rust's regex crate.
class WhitespacePreTokenizer : public PreTokenizer {
 public:
  static BuiltPreTokenizer build(Component&) { return std::make_unique<WhitespacePreTokenizer>(); }
  Status split(Stretch& stretch) const override {
    enum class Kind { kSpace, kWord, kOther };
    std::vector<Span> words;
    for (const Span word : stretch.words) {
      Kind previous = Kind::kSpace;
      for (const unicode::CodePoint c : unicode::CodePoints(slice(stretch.text, word))) {
        const Kind kind = unicode::is_word(c.value)          ? Kind::kWord
                          : unicode::is_white_space(c.value) ? Kind::kSpace
                                                             : Kind::kOther;
        const size_t begin = word.begin + c.offset;
        if (kind != Kind::kSpace && kind == previous)
          words.back().end = begin + c.bytes;
        else if (kind != Kind::kSpace)
          words.push_back({begin, begin + c.bytes});
        previous = kind;
      }
    }
    stretch.words = std::move(words);
    return {};
  }
};

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, std::optional<Pattern> words)
      : add_prefix_space_(add_prefix_space), words_(std::move(words)) {}

  static BuiltPreTokenizer build(Component& component) {
    AMPHORA_ASSIGN(const bool add_prefix_space, component.boolean("add_prefix_space"));
    AMPHORA_ASSIGN(const bool use_regex, component.boolean("use_regex", true));
    component.ignore("trim_offsets");
    std::optional<Pattern> words;
    if (use_regex) {
      AMPHORA_ASSIGN(words, Pattern::regex(kGpt2Words));
    }
    return std::make_unique<ByteLevelPreTokenizer>(add_prefix_space, std::move(words));
  }

  Status split(Stretch& stretch) const override {
    if (add_prefix_space_)
      Rewriter(stretch).run([&](Span word) { return slice(stretch.text, word).starts_with(' ') ? "" : " "; },
                            [](std::string& out, std::string_view part) { out += part; });
    if (words_) AMPHORA_TRY(split_words(stretch, *words_, SplitBehavior::kIsolated, false));
    Rewriter(stretch).run([](Span) { return ""; },
                          [](std::string& out, std::string_view part) {
                            for (const char byte : part)
                              unicode::append_utf8(out, kByteCharacters[static_cast<uint8_t>(byte)]);
                          });
    return {};
  }

 private:
  static constexpr std::string_view kGpt2Words =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  bool add_prefix_space_;
  std::optional<Pattern> words_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  MetaspacePreTokenizer(MetaspaceOptions options, std::string mark, Pattern pattern)
      : options_(options), mark_(std::move(mark)), pattern_(std::move(pattern)) {}

  static BuiltPreTokenizer build(Component& component) {
    AMPHORA_ASSIGN(const MetaspaceOptions options, read_metaspace(component));
    std::string mark;
    unicode::append_utf8(mark, options.replacement);
    AMPHORA_ASSIGN(Pattern pattern, Pattern::literal(mark));
    return std::make_unique<MetaspacePreTokenizer>(options, std::move(mark), std::move(pattern));
  }

  Status split(Stretch& stretch) const override {
    const auto prefix = [&](Span word) -> std::string_view {
      const std::string_view text = slice(stretch.text, word);
      const bool prepends = options_.prepend == PrependScheme::kAlways ||
                            (options_.prepend == PrependScheme::kFirst && word.begin < stretch.origin_bytes);
      return prepends && !text.starts_with(' ') && !text.starts_with(mark_) ? mark_ : std::string_view();
    };
    Rewriter(stretch).run(prefix, [&](std::string& out, std::string_view part) {
      for (const char byte : part) {
        if (byte == ' ')
          out += mark_;
        else
          out += byte;
      }
    });
    if (!options_.split) return {};
    return split_words(stretch, pattern_, SplitBehavior::kMergedWithNext, false);
  }

 private:
  MetaspaceOptions options_;
  std::string mark_;
  Pattern pattern_;
};

constexpr ComponentKind<PreTokenizer> kPreTokenizers[] = {
    {"Sequence", SequencePreTokenizer::build},
    {"ByteLevel", ByteLevelPreTokenizer::build},
    {"Split", PatternPreTokenizer::build_split},
    {"Metaspace", MetaspacePreTokenizer::build},
    {"Digits", PatternPreTokenizer::build_digits},
    {"Whitespace", WhitespacePreTokenizer::build},
    {"WhitespaceSplit", PatternPreTokenizer::build_white_space_split},
    {"Punctuation", PatternPreTokenizer::build_punctuation},
    {"CharDelimiterSplit", PatternPreTokenizer::build_character_delimiter},
    {"BertPreTokenizer", BertPreTokenizer::build},
    {"UnicodeScripts", UnicodeScriptsPreTokenizer::build},
    {"FixedLength", FixedLengthPreTokenizer::build},
};

}  // namespace

Result<MetaspaceOptions> read_metaspace(Component& component) {
  MetaspaceOptions options{};
  AMPHORA_ASSIGN(options.replacement, component.character("replacement"));
  AMPHORA_ASSIGN(options.split, component.boolean("split", true));
  component.ignore("str_rep");
  // The scheme decides; the older flag must not contradict it.
  AMPHORA_ASSIGN(const bool add_prefix_space, component.boolean("add_prefix_space", true));
  options.prepend = PrependScheme::kAlways;
  if (component.find("prepend_scheme") != nullptr) {
    AMPHORA_ASSIGN(const std::string scheme, component.string("prepend_scheme"));
    if (scheme == "first")
      options.prepend = PrependScheme::kFirst;
    else if (scheme == "never")
      options.prepend = PrependScheme::kNever;
    else if (scheme != "always")
      return component.corrupt("prepend_scheme", "is none of always, first, never");
  }
  if (!add_prefix_space && options.prepend != PrependScheme::kNever)
    return component.corrupt("add_prefix_space", "contradicts 'prepend_scheme'");
  return options;
}

Result<std::unique_ptr<PreTokenizer>> build_pre_tokenizer(Component& component) {
  return build_component<PreTokenizer>(component, kPreTokenizers);
}

}  // namespace amphora::text
