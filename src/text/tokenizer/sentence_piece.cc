// The models of SentencePiece but for BPE.
#include "text/tokenizer/sentence_piece.h"

#include <algorithm>
#include <limits>

#include "text/tokenizer/best_path.h"
#include "text/tokenizer/sentence_piece_bpe.h"
#include "text/tokenizer/span.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

struct NoScratch : Model::Scratch {};

// The best sum of scores, in float where the library has floats: ties and near ties come out as there.
class UnigramModel : public Model {
 public:
  UnigramModel(const Vocabulary& vocabulary, PieceTable table)
      : vocabulary_(vocabulary), table_(std::move(table)) {
    float lowest = std::numeric_limits<float>::max();
    std::vector<PieceTrie::Entry> entries;
    piece_bytes_.reserve(table_.kinds.size());
    for (TokenId id = 0; id < table_.kinds.size(); ++id) {
      const std::string_view piece = vocabulary_.piece(id);
      piece_bytes_.push_back(static_cast<uint32_t>(piece.size()));
      longest_ = std::max(longest_, piece.size());
      if (table_.kinds[id] == PieceKind::kNormal) lowest = std::min(lowest, table_.scores[id]);
      if (table_.has_text(id) && table_.kinds[id] != PieceKind::kUnused) entries.push_back({piece, id});
    }
    unknown_score_ = lowest - kUnknownPenalty;
    trie_ = PieceTrie(std::move(entries));
  }

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<PathScratch>(); }

  Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const override {
    PieceOutput output(vocabulary_, table_, ids);
    return static_cast<PathScratch&>(scratch).path.find(
        word, trie_, piece_bytes_, longest_,
        [&](float sum, TokenId id, size_t bytes) { return score_of(id, bytes) + sum; },
        [&](float sum) { return unknown_score_ + sum; }, [] { return Status(); },
        [&](const PathStep& step) -> Status {
          output.add(slice(word, step.span), step.id.value_or(table_.unk_id));
          return {};
        });
  }

 private:
  static constexpr float kUnknownPenalty = 10;
  struct PathScratch : Scratch {
    BestPath<float> path;
  };

  // Learned scores are logarithms of probabilities: a user-defined symbol wins over what it could be made of.
  float score_of(TokenId id, size_t bytes) const {
    return table_.kinds[id] == PieceKind::kUserDefined
               ? static_cast<float>(0.1 * static_cast<double>(bytes) - 0.1)
               : table_.scores[id];
  }

  const Vocabulary& vocabulary_;
  PieceTable table_;
  float unknown_score_;
  PieceTrie trie_;
  std::vector<uint32_t> piece_bytes_;
  size_t longest_ = 0;
};

// Each word with the space before it is a piece.
class WordModel : public Model {
 public:
  WordModel(const Vocabulary& vocabulary, PieceTable table)
      : vocabulary_(vocabulary), table_(std::move(table)) {}
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<NoScratch>(); }

  Status tokenize(std::string_view text, Scratch&, std::vector<TokenId>& ids) const override {
    PieceOutput output(vocabulary_, table_, ids);
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(kSpaceMark, 1));
      output.add(word);
      text.remove_prefix(word.size());
    }
    return {};
  }

 private:
  const Vocabulary& vocabulary_;
  PieceTable table_;
};

// Each character or user-defined symbol is a piece.
class CharacterModel : public Model {
 public:
  CharacterModel(const Vocabulary& vocabulary, PieceTable table)
      : vocabulary_(vocabulary), table_(std::move(table)), symbols_(user_defined(vocabulary, table_)) {}
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<NoScratch>(); }

  Status tokenize(std::string_view text, Scratch&, std::vector<TokenId>& ids) const override {
    PieceOutput output(vocabulary_, table_, ids);
    while (!text.empty()) {
      size_t bytes = symbols_.symbol_bytes(text);
      if (bytes == 0) bytes = unicode::sequence_bytes(text[0]);
      output.add(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
    return {};
  }

 private:
  const Vocabulary& vocabulary_;
  PieceTable table_;
  SymbolMatcher symbols_;
};

}  // namespace

SymbolMatcher user_defined(const Vocabulary& vocabulary, const PieceTable& table) {
  std::vector<std::string_view> symbols;
  for (TokenId id = 0; id < table.kinds.size(); ++id)
    if (table.kinds[id] == PieceKind::kUserDefined) symbols.emplace_back(vocabulary.piece(id));
  return SymbolMatcher(symbols);
}

SymbolMatcher::SymbolMatcher(const std::vector<std::string_view>& symbols) {
  std::vector<PieceTrie::Entry> entries;
  for (const std::string_view symbol : symbols) entries.push_back({symbol, 0});
  trie_ = PieceTrie(std::move(entries));
}

size_t SymbolMatcher::symbol_bytes(std::string_view text) const {
  size_t longest = 0;
  trie_.visit_prefixes(text, [&](TokenId, size_t bytes) { longest = bytes; });
  return longest;
}

void PieceOutput::add(std::string_view piece, TokenId id) {
  const bool unknown = id == table_.unk_id;
  if (unknown && table_.byte_fallback) {
    for (const char byte : piece) ids_.push_back(table_.byte_ids[static_cast<uint8_t>(byte)].value_or(id));
  } else if (!unknown || !after_unknown_) {
    ids_.push_back(id);
  }
  after_unknown_ = unknown;
}

std::unique_ptr<Model> make_sentence_piece_model(std::string_view algorithm, const Vocabulary& vocabulary,
                                                 PieceTable table) {
  if (table.byte_fallback) table.byte_ids = vocabulary.byte_pieces();
  if (algorithm == "unigram") return std::make_unique<UnigramModel>(vocabulary, std::move(table));
  if (algorithm == "bpe") return std::make_unique<SentencePieceBpe>(vocabulary, std::move(table));
  if (algorithm == "word") return std::make_unique<WordModel>(vocabulary, std::move(table));
  if (algorithm == "char") return std::make_unique<CharacterModel>(vocabulary, std::move(table));
  return nullptr;
}

}  // namespace amphora::text
