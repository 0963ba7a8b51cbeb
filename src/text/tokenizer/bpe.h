// Byte-pair encoding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// What two neighbouring tokens become, and how soon: merges of a lower rank go first.
struct Merge {
  uint32_t rank;
  TokenId id;
};

/// Pairs of ids to merges: one open-addressing array of 16 bytes a slot, half empty.
class MergeTable {
 public:
  void reserve(size_t count);
  /// Of a pair that comes twice the later merge counts, as in the reference.
  void set(TokenId left, TokenId right, Merge merge);
  const Merge* find(TokenId left, TokenId right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;
  static uint64_t key_of(TokenId left, TokenId right) { return uint64_t{left} << 32 | right; }
  size_t slot_of(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
  void grow(size_t slots);

  std::vector<Slot> slots_ = std::vector<Slot>(2, Slot{kEmpty, {}});
  size_t mask_ = 1;
  int shift_ = 63;
  size_t count_ = 0;
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
  void merge(WordScratch& scratch, std::vector<TokenId>& ids) const;
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
