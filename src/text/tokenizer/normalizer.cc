// The normalizers of tokenizer.json.
#include "text/tokenizer/normalizer.h"

#include <algorithm>

#include "text/tokenizer/character_normalizers.h"
#include "text/tokenizer/sentence_piece_normalizer.h"
#include "unicode/ranges.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

using BuiltNormalizer = Result<std::unique_ptr<Normalizer>>;

class SequenceNormalizer : public Normalizer {
 public:
  static BuiltNormalizer build(Component& component) {
    auto sequence = std::make_unique<SequenceNormalizer>();
    AMPHORA_ASSIGN(auto parts, component.parts("normalizers"));
    for (Component& part : parts) {
      AMPHORA_ASSIGN(auto normalizer, build_normalizer(part));
      sequence->parts_.push_back(std::move(normalizer));
    }
    return sequence;
  }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    for (const auto& part : parts_) AMPHORA_TRY(part->normalize(text, origin_bytes));
    return {};
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

template <unicode::NormalForm kForm>
class NormalFormNormalizer : public Normalizer {
 public:
  static BuiltNormalizer build(Component&) { return std::make_unique<NormalFormNormalizer>(); }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    normalize_form(text, origin_bytes, kForm);
    return {};
  }
};

class LowercaseNormalizer : public Normalizer {
 public:
  static BuiltNormalizer build(Component&) { return std::make_unique<LowercaseNormalizer>(); }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    std::string out;
    out.reserve(text.size());
    size_t origin = 0;
    for (const unicode::CodePoint c : unicode::CodePoints(text)) {
      unicode::append_lower_case(out, c.value);
      if (c.offset < origin_bytes) origin = out.size();
    }
    text = std::move(out);
    origin_bytes = origin;
    return {};
  }
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  static BuiltNormalizer build(Component& component) {
    AMPHORA_ASSIGN(Pattern pattern, component.pattern("pattern"));
    AMPHORA_ASSIGN(std::string content, component.string("content"));
    return std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content));
  }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    AMPHORA_ASSIGN(text, replace_matches(text, pattern_, content_, &origin_bytes));
    return {};
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  static BuiltNormalizer build(Component& component) {
    AMPHORA_ASSIGN(std::string prefix, component.string("prepend"));
    return std::make_unique<PrependNormalizer>(std::move(prefix));
  }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    if (text.empty()) return {};
    text.insert(0, prefix_);
    if (origin_bytes != 0) origin_bytes += prefix_.size();
    return {};
  }

 private:
  std::string prefix_;
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  static BuiltNormalizer build(Component& component) {
    AMPHORA_ASSIGN(const bool left, component.boolean("strip_left"));
    AMPHORA_ASSIGN(const bool right, component.boolean("strip_right"));
    return std::make_unique<StripNormalizer>(left, right);
  }
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    size_t begin = text.size(), end = 0;  // of what is not white space
    for (const unicode::CodePoint c : unicode::CodePoints(text)) {
      if (unicode::is_white_space(c.value)) continue;
      begin = std::min(begin, c.offset);
      end = c.offset + c.bytes;
    }
    if (right_) text.resize(end);
    if (!left_) begin = 0;
    text.erase(0, std::min(begin, text.size()));
    origin_bytes = std::min(origin_bytes - std::min(origin_bytes, begin), text.size());
    return {};
  }

 private:
  bool left_, right_;
};

constexpr ComponentKind<Normalizer> kNormalizers[] = {
    {"Sequence", SequenceNormalizer::build},
    {"NFC", NormalFormNormalizer<unicode::NormalForm::kC>::build},
    {"NFD", NormalFormNormalizer<unicode::NormalForm::kD>::build},
    {"NFKC", NormalFormNormalizer<unicode::NormalForm::kKc>::build},
    {"NFKD", NormalFormNormalizer<unicode::NormalForm::kKd>::build},
    {"Lowercase", LowercaseNormalizer::build},
    {"Replace", ReplaceNormalizer::build},
    {"Prepend", PrependNormalizer::build},
    {"Strip", StripNormalizer::build},
    {"StripAccents", build_strip_accents},
    {"BertNormalizer", build_bert_normalizer},
    {"Nmt", build_nmt},
    {"Precompiled", build_precompiled},
    {"ByteLevel", build_byte_level_normalizer},
    {"SentencePiece", build_sentence_piece_normalizer},
};

}  // namespace

void normalize_form(std::string& text, size_t& origin_bytes, unicode::NormalForm form) {
  // The front that has its origin in the first character is a character or its replacement: its own form is
  // as long as its share of the whole's, save for marks that compose with it.
  if (origin_bytes != 0)
    origin_bytes = unicode::normalize(std::string_view(text).substr(0, origin_bytes), form).size();
  text = unicode::normalize(text, form);
  origin_bytes = std::min(origin_bytes, text.size());
}

Result<std::unique_ptr<Normalizer>> build_normalizer(Component& component) {
  return build_component<Normalizer>(component, kNormalizers);
}

}  // namespace amphora::text
