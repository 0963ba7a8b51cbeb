// WordPiece: the longest piece that a word begins with, then the longest of those that continue one.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer/model.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  uint64_t max_characters = 100;  ///< a longer word is unknown
};

class WordPiece : public Model {
 public:
  /// `vocabulary` must outlive the model.
  WordPiece(const Vocabulary& vocabulary, WordPieceOptions options);
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  bool is_too_long(std::string_view word) const;

  const Vocabulary& vocabulary_;
  WordPieceOptions options_;
  PieceTrie first_, continuing_;
};

/// The whole word or the unknown token.
class WordLevel : public Model {
 public:
  /// `vocabulary` must outlive the model.
  WordLevel(const Vocabulary& vocabulary, std::string unk_token)
      : vocabulary_(vocabulary), unk_token_(std::move(unk_token)) {}
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  const Vocabulary& vocabulary_;
  std::string unk_token_;
};

}  // namespace amphora::text
