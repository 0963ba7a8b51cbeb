// BPE as SentencePiece does it: by the scores of pieces, without a list of merges.
#pragma once

#include <bitset>

#include "text/tokenizer/sentence_piece.h"

namespace amphora::text {

/// Neighbours whose texts together are a piece merge, those that make the piece of the highest score first,
/// of equals the leftmost. User-defined symbols do not take part. An unused piece is taken apart again at the
/// end.
///
/// Characters that stand side by side in no piece never merge: a text is cut there, and its parts are merged
/// one after the other.
class SentencePieceBpe : public Model {
 public:
  SentencePieceBpe(const Vocabulary& vocabulary, PieceTable table);
  std::unique_ptr<Scratch> make_scratch() const override;
  Status tokenize(std::string_view text, Scratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  struct Work;
  static constexpr size_t kPairBits = 16;
  static size_t pair_slot(std::string_view left, std::string_view right);

  bool may_merge(std::string_view left, std::string_view right) const {
    return has_unused_ || pairs_[pair_slot(left, right)];
  }
  std::optional<TokenId> find_piece(std::string_view text) const;
  void consider(Work& work, uint32_t left, uint32_t right) const;
  void merge(Work& work) const;
  void put_down(Work& work, std::string_view piece, PieceOutput& output) const;

  const Vocabulary& vocabulary_;
  PieceTable table_;
  SymbolMatcher symbols_;
  size_t longest_ = 0;
  /// Pairs of characters that stand side by side in a piece, by a hash: one too many only costs time.
  std::bitset<size_t{1} << kPairBits> pairs_;
  /// How an unused piece is taken apart depends on the last way to make it in the whole text: no cuts then.
  bool has_unused_ = false;
};

}  // namespace amphora::text
