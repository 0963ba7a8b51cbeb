// Merging the symbols of a word: always the pair of the lowest rank, the leftmost of equals, until no pair
// has one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "text/tokenizer.h"

namespace amphora::text {

/// What two neighbouring tokens become, and how soon: merges of a lower rank go first.
struct Merge {
  uint32_t rank;
  TokenId id;
};

/// Pairs of ids to merges: one open-addressing array of 16 bytes a slot, half empty.
class MergeTable {
 public:
  void reserve(size_t count);
  /// One more than the highest rank.
  uint32_t rank_limit() const { return rank_limit_; }
  /// Of a pair that comes twice the later merge counts, as in the reference.
  void set(TokenId left, TokenId right, Merge merge);
  void prefetch(TokenId left, TokenId right) const {
    __builtin_prefetch(slots_.data() + slot_of(key_of(left, right)));
  }
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

  std::vector<Slot, HugePageAllocator<Slot>> slots_{Slot{kEmpty, {}}, Slot{kEmpty, {}}};
  size_t mask_ = 1;
  int shift_ = 63;
  size_t count_ = 0;
  uint32_t rank_limit_ = 0;
};

/// Words of up to this many symbols are merged by looking through all pairs each time.
inline constexpr size_t kShortWord = 48;
void merge_short_word(const MergeTable& merges, std::vector<TokenId>& symbols);

/// Merges words of any length in time that is close to linear. One object serves many words, one after the
/// other.
///
/// Candidates lie in one bucket for each rank, in the order of their places; a heap holds the ranks that have
/// some. A bucket gains nothing while it is being worked off: each merge of its rank makes one certain text,
/// and all pairs that appear meanwhile hold that text already. So it needs sorting at most once, and mostly
/// not at all. A merge may well put a candidate of a lower rank before the rest of its bucket (vocabularies
/// out of SentencePiece have such ranks).
class LongWordMerger {
 public:
  void merge(const MergeTable& merges, std::vector<TokenId>& symbols);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    TokenId symbol;  // kNone once it is part of the symbol before it
    uint32_t previous, next;
  };
  struct Bucket {
    std::vector<uint32_t> places;  // of left symbols
    size_t next = 0;               // first that has not been worked off
    bool sorted = true;
  };
  void consider(const MergeTable& merges, uint32_t left);
  void merge_at(const MergeTable& merges, uint32_t left, uint32_t rank);

  std::vector<Node> nodes_;
  std::vector<Bucket> buckets_;
  std::vector<uint32_t> free_buckets_;
  std::vector<uint32_t> bucket_of_rank_;
  std::vector<uint32_t> ranks_;  // a heap, the lowest on top
};

}  // namespace amphora::text
