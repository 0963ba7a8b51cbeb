// The decoders of tokenizer.json.
#include "text/tokenizer/decoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/sentence_piece_decoder.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

using BuiltDecoder = Result<std::unique_ptr<Decoder>>;

// A decoder whose stages are made from its options.
template <class Stage, class... Options>
class DecoderOf : public Decoder {
 public:
  explicit DecoderOf(Options... options) : options_(std::move(options)...) {}
  std::unique_ptr<DecoderStage> start() const override {
    return std::apply([](const Options&... options) { return std::make_unique<Stage>(options...); },
                      options_);
  }

 private:
  std::tuple<Options...> options_;
};

template <class Stage, class... Options>
std::unique_ptr<Decoder> decoder_of(Options... options) {
  return std::make_unique<DecoderOf<Stage, Options...>>(std::move(options)...);
}

// `from` must not be empty.
std::string replace_literal(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t end = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, end)) {
    out.append(text, end, at - end);
    out += to;
    end = at + from.size();
  }
  out.append(text, end);
  return out;
}

// Gathers a piece's parts where a stage has to see it whole.
class WholePieceStage : public DecoderStage {
 public:
  Status push(std::string_view text, bool ends_piece) final {
    if (ends_piece && held_.empty()) return push_piece(text);
    held_ += text;
    if (!ends_piece) return {};
    return push_piece(std::exchange(held_, {}));
  }

 protected:
  virtual Status push_piece(std::string_view piece) = 0;

 private:
  std::string held_;
};

class FuseStage : public DecoderStage {
 public:
  Status push(std::string_view text, bool) override { return pass(text, false); }
  Status finish() override { return pass({}, true); }
};

class JoiningStage : public DecoderStage {
 public:
  Status push(std::string_view text, bool ends_piece) override {
    if (needs_space_) AMPHORA_TRY(pass(" ", false));
    needs_space_ = ends_piece;
    return pass(text, false);
  }

 private:
  bool needs_space_ = false;
};

class ByteLevelStage : public WholePieceStage {
 public:
  Status finish() override { return pass(unicode::replace_ill_formed(bytes_), true); }

 protected:
  Status push_piece(std::string_view piece) override {
    const size_t start = bytes_.size();
    for (const unicode::CodePoint c : unicode::CodePoints(piece)) {
      const auto byte = find_byte(c.value);
      if (!byte) {  // a character that stands for no byte makes the whole piece stand for itself
        bytes_.resize(start);
        bytes_ += piece;
        break;
      }
      bytes_ += static_cast<char>(*byte);
    }
    const size_t certain = bytes_.size() - unicode::incomplete_tail_bytes(bytes_);
    if (certain == 0) return {};
    const std::string text = unicode::replace_ill_formed(std::string_view(bytes_).substr(0, certain));
    bytes_.erase(0, certain);
    return pass(text, false);
  }

 private:
  std::string bytes_;
};

// Pieces "<0x00>" … "<0xFF>" to bytes. A run of them is text only if all of it is: one bad byte turns every
// byte of the run into U+FFFD, so nothing of a run is certain before it ends.
class ByteFallbackStage : public WholePieceStage {
 public:
  Status finish() override { return end_run(); }

 protected:
  Status push_piece(std::string_view piece) override {
    if (const auto byte = find_byte_piece(piece)) {
      run_ += static_cast<char>(*byte);
      return {};
    }
    AMPHORA_TRY(end_run());
    return pass(piece, true);
  }

 private:
  static std::optional<uint8_t> find_byte_piece(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
    const auto digit = [](char c) {
      return c >= '0' && c <= '9'                     ? c - '0'
             : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                      : -1;
    };
    const int high = digit(piece[3]), low = digit(piece[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(high * 16 + low);
  }

  Status end_run() {
    const std::string run = std::exchange(run_, {});
    if (run.empty()) return {};
    if (unicode::is_utf8(run)) return pass(run, true);
    for (size_t i = 0; i < run.size(); ++i) AMPHORA_TRY(pass("\uFFFD", true));
    return {};
  }

  std::string run_;
};

class MetaspaceStage : public DecoderStage {
 public:
  explicit MetaspaceStage(MetaspaceOptions options) : options_(options) {}
  Status push(std::string_view text, bool ends_piece) override {
    std::string out;
    for (const unicode::CodePoint c : unicode::CodePoints(text)) {
      if (c.value != options_.replacement)
        out.append(text, c.offset, c.bytes);
      else if (!first_piece_ || options_.prepend == PrependScheme::kNever)
        out += ' ';
    }
    first_piece_ = first_piece_ && !ends_piece;
    return pass(out, ends_piece);
  }

 private:
  MetaspaceOptions options_;
  bool first_piece_ = true;
};

class StripStage : public DecoderStage {
 public:
  StripStage(std::string content, uint64_t start, uint64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status push(std::string_view text, bool ends_piece) override {
    while (at_start_ && text.starts_with(content_) && removed_ < start_) {
      text.remove_prefix(content_.size());
      ++removed_;
    }
    if (!text.empty()) at_start_ = false;
    // What could be stripped at the piece's end is held back: at most `stop` times the content.
    held_ += text;
    std::string_view kept = held_;
    for (uint64_t i = 0; i < stop_ && kept.ends_with(content_); ++i) kept.remove_suffix(content_.size());
    const std::string out(kept);
    held_.erase(0, out.size());
    if (ends_piece) {
      held_.clear();
      at_start_ = true;
      removed_ = 0;
    }
    return pass(out, ends_piece);
  }

 private:
  std::string content_;
  uint64_t start_, stop_;
  bool at_start_ = true;
  uint64_t removed_ = 0;
  std::string held_;
};

class ReplaceStage : public DecoderStage {
 public:
  ReplaceStage(std::shared_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status push(std::string_view text, bool ends_piece) override {
    held_ += text;
    size_t certain = ends_piece ? held_.size() : 0;
    if (const std::string* literal = pattern_->find_literal(); literal != nullptr && !ends_piece)
      certain = certain_bytes(held_, *literal);
    // A regular expression may look ahead: nothing is certain before the piece ends.
    if (certain == 0 && !ends_piece) return {};
    AMPHORA_ASSIGN(const std::string out,
                   replace_matches(std::string_view(held_).substr(0, certain), *pattern_, content_, nullptr));
    held_.erase(0, certain);
    return pass(out, ends_piece);
  }

 private:
  // The text up to the place where a match may have begun that later text would complete.
  static size_t certain_bytes(std::string_view text, std::string_view literal) {
    size_t end = 0;  // of the last match
    for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, end))
      end = at + literal.size();
    const std::string_view rest = text.substr(end);
    for (size_t begun = std::min(rest.size(), literal.size() - 1); begun > 0; --begun)
      if (rest.ends_with(literal.substr(0, begun))) return text.size() - begun;
    return text.size();
  }

  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
  std::string held_;
};

// English contractions and punctuation are put back together, piece by piece.
std::string clean_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = replace_literal(text, from, to);
  return text;
}

class WordPieceStage : public WholePieceStage {
 public:
  WordPieceStage(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

 protected:
  Status push_piece(std::string_view piece) override {
    std::string text;
    if (!first_ && piece.starts_with(prefix_))
      piece.remove_prefix(prefix_.size());
    else if (!first_)
      text += ' ';
    first_ = false;
    text += piece;
    return pass(cleanup_ ? clean_up(std::move(text)) : text, true);
  }

 private:
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

// The mark of a word's end is a space, but for the last piece: each piece waits for the next.
class BpeStage : public WholePieceStage {
 public:
  explicit BpeStage(std::string suffix) : suffix_(std::move(suffix)) {}
  Status finish() override {
    return held_ ? pass(replace_literal(*std::exchange(held_, {}), suffix_, ""), true) : Status();
  }

 protected:
  Status push_piece(std::string_view piece) override {
    const auto previous = std::exchange(held_, std::string(piece));
    return previous ? pass(replace_literal(*previous, suffix_, " "), true) : Status();
  }

 private:
  std::string suffix_;
  std::optional<std::string> held_;
};

struct CtcOptions {
  std::string pad_token, word_delimiter;
  bool cleanup;
};

// Of equal pieces in a row one counts; padding is left out.
class CtcStage : public WholePieceStage {
 public:
  explicit CtcStage(CtcOptions options) : options_(std::move(options)) {}

 protected:
  Status push_piece(std::string_view piece) override {
    if (previous_ == piece) return {};
    previous_ = piece;
    std::string text = replace_literal(piece, options_.pad_token, "");
    if (options_.cleanup) text = replace_literal(clean_up(std::move(text)), options_.word_delimiter, " ");
    return text.empty() ? Status() : pass(text, true);
  }

 private:
  CtcOptions options_;
  std::optional<std::string> previous_;
};

BuiltDecoder build_word_piece(Component& component) {
  AMPHORA_ASSIGN(std::string prefix, component.string("prefix"));
  AMPHORA_ASSIGN(const bool cleanup, component.boolean("cleanup"));
  return decoder_of<WordPieceStage>(std::move(prefix), cleanup);
}

BuiltDecoder build_bpe(Component& component) {
  AMPHORA_ASSIGN(std::string suffix, component.string("suffix"));
  if (suffix.empty()) return component.corrupt("suffix", "is empty");
  return decoder_of<BpeStage>(std::move(suffix));
}

BuiltDecoder build_ctc(Component& component) {
  CtcOptions options;
  AMPHORA_ASSIGN(options.pad_token, component.string("pad_token"));
  AMPHORA_ASSIGN(options.word_delimiter, component.string("word_delimiter_token"));
  AMPHORA_ASSIGN(options.cleanup, component.boolean("cleanup"));
  if (options.pad_token.empty()) return component.corrupt("pad_token", "is empty");
  if (options.word_delimiter.empty()) return component.corrupt("word_delimiter_token", "is empty");
  return decoder_of<CtcStage>(std::move(options));
}

BuiltDecoder build_byte_level(Component& component) {
  for (const std::string_view key : {"add_prefix_space", "trim_offsets", "use_regex"}) component.ignore(key);
  return decoder_of<ByteLevelStage>();
}

BuiltDecoder build_metaspace(Component& component) {
  AMPHORA_ASSIGN(const MetaspaceOptions options, read_metaspace(component));
  return decoder_of<MetaspaceStage>(options);
}

BuiltDecoder build_strip(Component& component) {
  AMPHORA_ASSIGN(const char32_t character, component.character("content"));
  AMPHORA_ASSIGN(const uint64_t start, component.count("start"));
  AMPHORA_ASSIGN(const uint64_t stop, component.count("stop"));
  std::string content;
  unicode::append_utf8(content, character);
  return decoder_of<StripStage>(content, start, stop);
}

BuiltDecoder build_replace(Component& component) {
  AMPHORA_ASSIGN(Pattern pattern, component.pattern("pattern"));
  AMPHORA_ASSIGN(std::string content, component.string("content"));
  return decoder_of<ReplaceStage>(std::make_shared<const Pattern>(std::move(pattern)), std::move(content));
}

constexpr ComponentKind<Decoder> kDecoders[] = {
    {"ByteLevel", build_byte_level},
    {"ByteFallback", [](Component&) -> BuiltDecoder { return decoder_of<ByteFallbackStage>(); }},
    {"Fuse", [](Component&) -> BuiltDecoder { return decoder_of<FuseStage>(); }},
    {"Metaspace", build_metaspace},
    {"Strip", build_strip},
    {"Replace", build_replace},
    {"WordPiece", build_word_piece},
    {"BPEDecoder", build_bpe},
    {"CTC", build_ctc},
    {"SentencePiece", build_sentence_piece_decoder},
};

}  // namespace

Result<std::vector<std::unique_ptr<Decoder>>> build_decoders(Component& component) {
  std::vector<std::unique_ptr<Decoder>> decoders;
  if (component.type() != "Sequence") {
    AMPHORA_ASSIGN(auto decoder, build_component<Decoder>(component, kDecoders));
    decoders.push_back(std::move(decoder));
    return decoders;
  }
  AMPHORA_ASSIGN(auto parts, component.parts("decoders"));
  AMPHORA_TRY(component.finish());
  for (Component& part : parts) {
    AMPHORA_ASSIGN(auto inner, build_decoders(part));
    std::ranges::move(inner, std::back_inserter(decoders));
  }
  return decoders;
}

std::unique_ptr<Decoder> build_joining_decoder() { return decoder_of<JoiningStage>(); }

class DecoderChain::Sink : public DecoderStage {
 public:
  Status push(std::string_view text, bool) override {
    text_ += text;
    return {};
  }
  std::string text_;
};

DecoderChain::DecoderChain(const std::vector<std::unique_ptr<Decoder>>& decoders) {
  for (const auto& decoder : decoders) stages_.push_back(decoder->start());
  auto sink = std::make_unique<Sink>();
  sink_ = sink.get();
  stages_.push_back(std::move(sink));
  for (size_t i = 0; i + 1 < stages_.size(); ++i) stages_[i]->set_next(stages_[i + 1].get());
}

Status DecoderChain::finish() {
  for (const auto& stage : stages_) AMPHORA_TRY(stage->finish());
  return {};
}

std::string DecoderChain::take() { return std::exchange(sink_->text_, {}); }

}  // namespace amphora::text
