// Pieces and their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/tokenizer.h"

namespace amphora::text {

uint64_t hash_bytes(std::string_view bytes);

/// The model's pieces, to be found by id and by text; and the texts of further tokens, to be found by id
/// only.
///
/// Made for a quarter of a million pieces: short ones live inside their std::string, and the hash table is
/// one array of eight bytes a slot.
class Vocabulary {
 public:
  /// Takes a piece of the model. Refuses an id or a text that is there already, and an id that leaves out so
  /// many that it cannot be honest.
  Status add(std::string_view piece, uint64_t id);
  /// Takes a token that is no piece of the model: find() will not know it.
  Status add_unlisted(std::string_view text, uint64_t id);
  void reserve(size_t count);

  std::optional<TokenId> find(std::string_view piece) const { return find_hashed(piece, hash_bytes(piece)); }
  const std::string* find_piece(TokenId id) const {
    return id < pieces_.size() && known_[id] ? &pieces_[id] : nullptr;
  }
  /// For an id that is known.
  const std::string& piece(TokenId id) const { return pieces_[id]; }
  /// find() with the hash at hand; and what it will touch, in two steps, for callers with many to look up:
  /// each lookup in a large vocabulary waits for memory twice.
  std::optional<TokenId> find_hashed(std::string_view piece, uint64_t hash) const;
  void prefetch_slot(uint64_t hash) const { __builtin_prefetch(slots_.data() + slot_of(hash)); }
  void prefetch_piece(uint64_t hash) const;
  /// How many pieces the model has.
  size_t size() const { return count_; }
  uint32_t id_limit() const { return static_cast<uint32_t>(pieces_.size()); }

 private:
  struct Slot {
    uint32_t tag;  // upper half of the hash; kills nearly all comparisons of text
    TokenId id;
  };
  static constexpr TokenId kEmpty = UINT32_MAX;

  size_t slot_of(uint64_t hash) const { return hash & (slots_.size() - 1); }
  void insert_slot(uint64_t hash, TokenId id);
  void grow(size_t slots);

  std::vector<std::string> pieces_;
  std::vector<bool> known_;
  std::vector<Slot> slots_ = std::vector<Slot>(2, Slot{0, kEmpty});  // a power of two, half empty
  size_t count_ = 0;
  size_t taken_ids_ = 0;
};

}  // namespace amphora::text
