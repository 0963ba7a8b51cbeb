// Pieces and their ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "base/huge_pages.h"
#include "text/tokenizer.h"

namespace amphora::text {

uint64_t hash_bytes(std::string_view bytes);

inline constexpr std::string_view kSpaceMark = "\u2581";  ///< a space in SentencePiece's vocabularies

/// A text to look up. Most pieces have no more than seven bytes: those are their own key.
struct PieceKey {
  static constexpr size_t kMaxShort = 7;
  explicit PieceKey(std::string_view text);
  bool is_short() const { return text.size() <= kMaxShort; }
  std::string_view text;
  uint64_t value;  ///< short: the text with its size in the last byte; else its hash
};

/// The model's pieces, to be found by id and by text; and the texts of further tokens, to be found by id
/// only.
///
/// Made for a quarter of a million pieces, where each lookup waits for memory: once for a short text, twice
/// for a longer one, whose slot holds only a part of the hash.
class Vocabulary {
 public:
  /// Takes a piece of the model. Refuses an id or a text that is there already, and an id that leaves out so
  /// many that it cannot be honest.
  Status add(std::string_view piece, uint64_t id);
  /// Takes a token that is no piece of the model: find() will not know it.
  Status add_unlisted(std::string_view text, uint64_t id);
  void reserve(size_t count);

  std::optional<TokenId> find(std::string_view piece) const { return find(PieceKey(piece)); }
  std::optional<TokenId> find(const PieceKey& key) const {
    return key.is_short() ? find_short(key) : find_long(key);
  }
  /// Ids of "<0x00>" … "<0xFF>".
  std::array<std::optional<TokenId>, 256> byte_pieces() const;
  const std::string* find_piece(TokenId id) const {
    return id < pieces_.size() && known_[id] ? &pieces_[id] : nullptr;
  }
  /// For an id that is known.
  const std::string& piece(TokenId id) const { return pieces_[id]; }
  /// What find() will touch, in two steps, for callers with many texts to look up.
  void prefetch_slot(const PieceKey& key) const {
    if (key.is_short())
      __builtin_prefetch(short_slots_.data() + slot_of_short(key.value));
    else
      __builtin_prefetch(slots_.data() + slot_of(key.value));
  }
  void prefetch_piece(const PieceKey& key) const;
  /// How many pieces the model has.
  size_t size() const { return short_count_ + long_count_; }
  uint32_t id_limit() const { return static_cast<uint32_t>(pieces_.size()); }

 private:
  struct ShortSlot {
    uint64_t key;
    TokenId id;
  };
  struct Slot {
    uint32_t tag;  // upper half of the hash; kills nearly all comparisons of text
    TokenId id;
  };
  static constexpr TokenId kEmpty = UINT32_MAX;
  static constexpr uint64_t kEmptyKey = UINT64_MAX;  // no text has such a size

  size_t slot_of_short(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> short_shift_; }
  size_t slot_of(uint64_t hash) const { return hash & (slots_.size() - 1); }
  std::optional<TokenId> find_short(const PieceKey& key) const {
    for (size_t at = slot_of_short(key.value);; at = (at + 1) & (short_slots_.size() - 1)) {
      if (short_slots_[at].key == key.value) return short_slots_[at].id;
      if (short_slots_[at].key == kEmptyKey) return std::nullopt;
    }
  }
  std::optional<TokenId> find_long(const PieceKey& key) const;
  void insert(const PieceKey& key, TokenId id);
  void insert_slot(const PieceKey& key, TokenId id);
  void grow_short(size_t slots);
  void grow_long(size_t slots);

  template <class T>
  using Table = std::vector<T, HugePageAllocator<T>>;

  Table<std::string> pieces_;
  std::vector<bool> known_;
  // Both tables have a power of two of slots, half of them empty.
  Table<ShortSlot> short_slots_ = Table<ShortSlot>(2, ShortSlot{kEmptyKey, kEmpty});
  int short_shift_ = 63;
  size_t short_count_ = 0;
  Table<Slot> slots_ = Table<Slot>(2, Slot{0, kEmpty});
  size_t long_count_ = 0;
  size_t taken_ids_ = 0;
};

}  // namespace amphora::text
