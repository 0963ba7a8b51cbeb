// The normalizer "SentencePiece": what the library does to a text before it looks for pieces
// (docs/formats/tokenizer.md).
#include "text/tokenizer/sentence_piece_normalizer.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/base64.h"
#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/sentence_piece.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

// A character map may put much for little: what comes out has a limit of its own.
constexpr size_t kMaxNormalizedBytes = size_t{1} << 30;

enum class DummyPrefix : uint8_t { kNever, kFirst, kAlways };

struct NormalizerOptions {
  std::optional<Charsmap> map;
  SymbolMatcher symbols;
  DummyPrefix dummy_prefix = DummyPrefix::kNever;
  bool prefix_is_suffix = false;
  bool remove_extra_whitespaces = false;
  bool escape_whitespaces = false;
};

class SentencePieceNormalizer : public Normalizer {
 public:
  explicit SentencePieceNormalizer(NormalizerOptions options)
      : options_(std::move(options)), space_(options_.escape_whitespaces ? kSpaceMark : " ") {}

  Status normalize(std::string& text, size_t& origin_bytes) const override {
    std::string_view rest = text;
    if (options_.remove_extra_whitespaces) rest = without_leading_spaces(rest);
    if (rest.empty()) {
      text.clear();
      origin_bytes = 0;
      return {};
    }
    const bool prefix = options_.dummy_prefix == DummyPrefix::kAlways ||
                        (options_.dummy_prefix == DummyPrefix::kFirst && origin_bytes != 0);
    std::string out;
    out.reserve(rest.size() + rest.size() / 4);
    if (prefix && !options_.prefix_is_suffix) out += space_;
    AMPHORA_TRY(append_units(out, rest));
    if (options_.remove_extra_whitespaces)
      while (out.ends_with(space_)) out.resize(out.size() - space_.size());
    if (prefix && options_.prefix_is_suffix) out += space_;
    text = std::move(out);
    origin_bytes = std::min(origin_bytes, text.size());
    return {};
  }

 private:
  // The shortest beginning that is rewritten as a whole, and what it becomes.
  struct Unit {
    size_t bytes;
    std::string_view text;
  };
  Unit unit_at(std::string_view rest) const {
    if (const size_t bytes = options_.symbols.symbol_bytes(rest); bytes != 0)
      return {bytes, rest.substr(0, bytes)};
    if (options_.map)
      if (const auto match = options_.map->find_longest(rest)) return {match->bytes, match->replacement};
    const size_t bytes = unicode::sequence_bytes(rest[0]);
    return {bytes, rest.substr(0, bytes)};
  }

  std::string_view without_leading_spaces(std::string_view rest) const {
    while (!rest.empty()) {
      const Unit unit = unit_at(rest);
      if (unit.text != " ") break;
      rest.remove_prefix(unit.bytes);
    }
    return rest;
  }

  Status append_units(std::string& out, std::string_view rest) const {
    bool after_space = options_.remove_extra_whitespaces;
    while (!rest.empty()) {
      Unit unit = unit_at(rest);
      rest.remove_prefix(unit.bytes);
      if (after_space) unit.text.remove_prefix(std::min(unit.text.find_first_not_of(' '), unit.text.size()));
      for (const char c : unit.text) {
        if (c == ' ')
          out += space_;
        else
          out += c;
      }
      if (!unit.text.empty()) after_space = options_.remove_extra_whitespaces && unit.text.ends_with(' ');
      if (out.size() > kMaxNormalizedBytes)
        return fail(Fault::kRefused,
                    fmt::format("tokenizer: the normalized text is longer than the {} bytes that "
                                "are accepted",
                                kMaxNormalizedBytes));
    }
    return {};
  }

  NormalizerOptions options_;
  std::string_view space_;
};

Result<SymbolMatcher> read_symbols(Component& component) {
  constexpr std::string_view kKey = "user_defined_symbols";
  std::vector<std::string_view> symbols;
  std::unordered_set<std::string_view> seen;
  const json::Value* list = component.find(kKey);
  if (list == nullptr || !list->is_array()) return component.corrupt(kKey, "is not an array");
  for (const json::Value& item : list->items()) {
    if (!item.is_string() || item.text().empty())
      return component.corrupt(kKey, "holds something that is no text");
    if (!seen.insert(item.text()).second) return component.corrupt(kKey, "holds a symbol twice");
    symbols.emplace_back(item.text());
  }
  return SymbolMatcher(symbols);
}

Result<std::optional<Charsmap>> read_map(Component& component) {
  AMPHORA_ASSIGN(const std::string text, component.string("precompiled_charsmap"));
  if (text.empty()) return std::nullopt;
  const auto blob = decode_base64(text);
  if (!blob) return component.corrupt("precompiled_charsmap", "is not base64");
  auto map = Charsmap::open(*blob);
  if (!map) return component.corrupt("precompiled_charsmap", map.error().message);
  return *std::move(map);
}

}  // namespace

Result<std::unique_ptr<Normalizer>> build_sentence_piece_normalizer(Component& component) {
  NormalizerOptions options;
  AMPHORA_ASSIGN(options.map, read_map(component));
  AMPHORA_ASSIGN(options.symbols, read_symbols(component));
  AMPHORA_ASSIGN(const std::string scheme, component.string("dummy_prefix"));
  if (scheme == "always")
    options.dummy_prefix = DummyPrefix::kAlways;
  else if (scheme == "first")
    options.dummy_prefix = DummyPrefix::kFirst;
  else if (scheme != "never")
    return component.corrupt("dummy_prefix", "is none of always, first, never");
  AMPHORA_ASSIGN(options.prefix_is_suffix, component.boolean("treat_whitespace_as_suffix"));
  AMPHORA_ASSIGN(options.remove_extra_whitespaces, component.boolean("remove_extra_whitespaces"));
  AMPHORA_ASSIGN(options.escape_whitespaces, component.boolean("escape_whitespaces"));
  return std::make_unique<SentencePieceNormalizer>(std::move(options));
}

}  // namespace amphora::text
