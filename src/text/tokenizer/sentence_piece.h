// The models of SentencePiece, with the library's own arithmetic (docs/formats/tokenizer.md).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/model.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

enum class PieceKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

/// What is known of the pieces besides their texts, by id.
struct PieceTable {
  std::vector<float> scores;
  std::vector<PieceKind> kinds;
  TokenId unk_id = 0;
  bool byte_fallback = false;
  std::array<std::optional<TokenId>, 256> byte_ids = {};  ///< filled in by make_sentence_piece_model

  /// Whether a text can become this piece: control, unknown and byte pieces have no text of their own.
  bool has_text(TokenId id) const {
    return kinds[id] == PieceKind::kNormal || kinds[id] == PieceKind::kUserDefined ||
           kinds[id] == PieceKind::kUnused;
  }
};

/// User-defined symbols, which are taken out of a text before anything else: the longest at a place.
class SymbolMatcher {
 public:
  SymbolMatcher() = default;
  /// The texts must differ and outlive the matcher's making only.
  explicit SymbolMatcher(const std::vector<std::string_view>& symbols);
  /// The length of the symbol that `text` begins with; 0 if there is none.
  size_t symbol_bytes(std::string_view text) const;

 private:
  PieceTrie trie_;
};

SymbolMatcher user_defined(const Vocabulary& vocabulary, const PieceTable& table);

/// Where the pieces of a text go. Unknown pieces in a row become one, or bytes.
class PieceOutput {
 public:
  PieceOutput(const Vocabulary& vocabulary, const PieceTable& table, std::vector<TokenId>& ids)
      : vocabulary_(vocabulary), table_(table), ids_(ids) {}
  void add(std::string_view piece, TokenId id);
  /// The same for the id that the piece's text has.
  void add(std::string_view piece) { add(piece, vocabulary_.find(piece).value_or(table_.unk_id)); }

 private:
  const Vocabulary& vocabulary_;
  const PieceTable& table_;
  std::vector<TokenId>& ids_;
  bool after_unknown_ = false;
};

/// A model of the given algorithm ("unigram", "bpe", "word", "char"), or null if there is no such.
/// `vocabulary` must outlive it; its ids are those of the table. With byte_fallback it has all byte pieces.
std::unique_ptr<Model> make_sentence_piece_model(std::string_view algorithm, const Vocabulary& vocabulary,
                                                 PieceTable table);

}  // namespace amphora::text
