// The unigram model: the split of a word whose pieces have the highest sum of scores.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "text/tokenizer/model.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

struct UnigramOptions {
  std::optional<TokenId> unk_id;
  bool byte_fallback = false;
};

class Unigram : public Model {
 public:
  /// `vocabulary` must outlive the model; its ids are 0 … scores.size() - 1.
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options);
  std::unique_ptr<Scratch> make_scratch() const override;
  Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  struct Lattice;
  Status put_down(std::string_view piece, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  UnigramOptions options_;
  double unknown_score_;
  PieceTrie trie_;
  std::vector<uint32_t> piece_bytes_;                 // by id
  size_t longest_ = 0;                                // of them
  std::array<std::optional<TokenId>, 256> byte_ids_;  // of "<0x00>" … "<0xFF>"
};

}  // namespace amphora::text
