// Normalizers that look at one character or one cluster at a time.
#include "text/tokenizer/character_normalizers.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/base64.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/character_classes.h"
#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/grapheme.h"
#include "unicode/normal_form.h"
#include "unicode/ranges.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

using BuiltNormalizer = Result<std::unique_ptr<Normalizer>>;

// Rewrites the text character by character: `rewrite(out, c)` appends what becomes of c.
template <class Rewrite>
void rewrite_characters(std::string& text, size_t& origin_bytes, const Rewrite& rewrite) {
  std::string out;
  out.reserve(text.size());
  size_t origin = 0;
  for (const unicode::CodePoint c : unicode::CodePoints(text)) {
    rewrite(out, c.value);
    if (c.offset < origin_bytes) origin = out.size();
  }
  text = std::move(out);
  origin_bytes = origin;
}

struct BertOptions {
  bool clean_text, handle_chinese_chars, strip_accents, lowercase;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}

  Status normalize(std::string& text, size_t& origin_bytes) const override {
    if (options_.clean_text)
      rewrite_characters(text, origin_bytes, [](std::string& out, char32_t c) {
        if (!is_dropped_by_cleaning(c)) unicode::append_utf8(out, unicode::is_white_space(c) ? U' ' : c);
      });
    if (options_.handle_chinese_chars)
      rewrite_characters(text, origin_bytes, [](std::string& out, char32_t c) {
        const bool apart = is_cjk_ideograph(c);
        if (apart) out += ' ';
        unicode::append_utf8(out, c);
        if (apart) out += ' ';
      });
    if (options_.strip_accents) {
      normalize_form(text, origin_bytes, unicode::NormalForm::kD);
      rewrite_characters(text, origin_bytes, [](std::string& out, char32_t c) {
        if (!is_nonspacing_mark(c)) unicode::append_utf8(out, c);
      });
    }
    if (options_.lowercase) rewrite_characters(text, origin_bytes, unicode::append_lower_case);
    return {};
  }

 private:
  BertOptions options_;
};

// A normalizer without options that rewrites characters.
class CharacterNormalizer : public Normalizer {
 public:
  using Rewrite = void (*)(std::string& out, char32_t c);
  explicit CharacterNormalizer(Rewrite rewrite) : rewrite_(rewrite) {}
  Status normalize(std::string& text, size_t& origin_bytes) const override {
    rewrite_characters(text, origin_bytes, rewrite_);
    return {};
  }

 private:
  Rewrite rewrite_;
};

void append_without_marks(std::string& out, char32_t c) {
  if (!is_combining_mark(c)) unicode::append_utf8(out, c);
}

// SentencePiece's rules "nmt": drops controls, makes other separators spaces.
void append_nmt(std::string& out, char32_t c) {
  const auto lies_in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (lies_in(0x1, 0x8) || c == 0xB || lies_in(0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return;
  const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || lies_in(0x200B, 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  unicode::append_utf8(out, space ? U' ' : c);
}

void append_bytes_as_characters(std::string& out, char32_t c) {
  std::string bytes;
  unicode::append_utf8(bytes, c);
  for (const char byte : bytes) unicode::append_utf8(out, kByteCharacters[static_cast<uint8_t>(byte)]);
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
}

// SentencePiece's table as the reference applies it: to a cluster of less than six bytes as a whole, which is
// replaced by what its shortest mapped beginning is mapped to, and to each character of what is left.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap map) : map_(std::move(map)) {}

  Status normalize(std::string& text, size_t& origin_bytes) const override {
    Output out{.old_text = text, .origin_bytes = origin_bytes};
    out.text.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      const size_t bytes = cluster_bytes(text, at);
      const std::string_view cluster = std::string_view(text).substr(at, bytes);
      at += bytes;
      if (bytes < kWholeClusterBytes) {
        if (const auto replacement = map_.find_shortest(cluster)) {
          out.replace(cluster, *replacement);
          continue;
        }
      }
      for (const unicode::CodePoint c : unicode::CodePoints(cluster)) {
        const std::string_view character = cluster.substr(c.offset, c.bytes);
        if (const auto replacement = map_.find_shortest(character))
          out.replace(character, *replacement);
        else
          out.append(character, 0);
      }
    }
    if (!out.modified) return {};
    out.settle_last();
    text = std::move(out.text);
    origin_bytes = out.origin;
    return {};
  }

 private:
  static constexpr size_t kWholeClusterBytes = 6;

  // The new text, with the reference's idea of where its characters come from. Each has a change: above zero
  // it was inserted and stems from what is before it, otherwise it takes the place of one character and of as
  // many more as the change is below zero. What becomes nothing counts for the character before it, so the
  // last one is settled late.
  struct Output {
    std::string_view old_text;
    size_t origin_bytes;  // of the old text
    std::string text = {};
    size_t consumed = 0, origin = 0;
    std::optional<ptrdiff_t> last_change = {};
    bool modified = false;

    void settle_last() {
      if (!last_change) return;
      const bool inserted = *last_change > 0;
      const size_t source = inserted && consumed > 0 ? consumed - 1 : consumed;
      if (source < origin_bytes) origin = text.size();
      for (ptrdiff_t count = *last_change; count <= 0 && consumed < old_text.size(); ++count)
        consumed += unicode::sequence_bytes(old_text[consumed]);
      last_change.reset();
    }
    void append(std::string_view character, ptrdiff_t change) {
      settle_last();
      text += character;
      last_change = change;
    }
    void replace(std::string_view old, std::string_view replacement) {
      modified = true;
      auto missing = static_cast<ptrdiff_t>(count_characters(old));
      for (const unicode::CodePoint c : unicode::CodePoints(replacement))
        append(replacement.substr(c.offset, c.bytes), missing-- > 0 ? 0 : 1);
      if (missing > 0 && last_change) *last_change -= missing;
    }
  };

  Charsmap map_;
};

}  // namespace

BuiltNormalizer build_bert_normalizer(Component& component) {
  BertOptions options{};
  AMPHORA_ASSIGN(options.clean_text, component.boolean("clean_text"));
  AMPHORA_ASSIGN(options.handle_chinese_chars, component.boolean("handle_chinese_chars"));
  AMPHORA_ASSIGN(options.lowercase, component.boolean("lowercase"));
  AMPHORA_ASSIGN(options.strip_accents, component.boolean("strip_accents", options.lowercase));
  return std::make_unique<BertNormalizer>(options);
}

BuiltNormalizer build_strip_accents(Component&) {
  return std::make_unique<CharacterNormalizer>(append_without_marks);
}
BuiltNormalizer build_nmt(Component&) { return std::make_unique<CharacterNormalizer>(append_nmt); }
BuiltNormalizer build_byte_level_normalizer(Component&) {
  return std::make_unique<CharacterNormalizer>(append_bytes_as_characters);
}

BuiltNormalizer build_precompiled(Component& component) {
  AMPHORA_ASSIGN(const std::string text, component.string("precompiled_charsmap"));
  const auto blob = decode_base64(text);
  if (!blob) return component.corrupt("precompiled_charsmap", "is not base64");
  auto map = Charsmap::open(*blob);
  if (!map) return component.corrupt("precompiled_charsmap", map.error().message);
  return std::make_unique<PrecompiledNormalizer>(*std::move(map));
}

}  // namespace amphora::text
