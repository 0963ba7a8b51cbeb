// Byte-pair encoding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer/merge.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

struct BpeOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  ///< a word that is a piece is that piece, whatever the merges say
};

class Bpe : public Model {
 public:
  /// `vocabulary` must outlive the model.
  Bpe(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options);
  std::unique_ptr<Scratch> make_scratch() const override;
  Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  struct WordScratch;
  Status tokenize_uncut(std::string_view word, WordScratch& scratch, std::vector<TokenId>& ids) const;
  Status find_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  std::optional<TokenId> find_character(std::string_view character, char32_t code_point, bool first,
                                        bool last) const;
  size_t cut_before_mark(std::string_view word, size_t from) const;
  void find_cuts();

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::optional<TokenId> unk_id_;
  std::array<std::optional<TokenId>, 256> byte_ids_;  // of "<0x00>" … "<0xFF>"
  std::array<TokenId, 0x180> low_characters_;         // ids of one-character pieces
  bool cuts_before_mark_ = false;                     // see cut_before_mark
  std::vector<char32_t> joined_to_mark_;              // sorted
};

}  // namespace amphora::text
