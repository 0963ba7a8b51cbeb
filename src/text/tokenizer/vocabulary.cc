// Pieces and their ids.
#include "text/tokenizer/vocabulary.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace amphora::text {
namespace {

// Ids may leave holes, but not so many that a small file could ask for a large table.
constexpr uint64_t kMaxHolesBase = 65536;
constexpr uint64_t kMaxHolesPerPiece = 4;

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class T>
uint64_t load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Up to eight bytes, the first lowest; bytes that are read twice fall on themselves.
uint64_t load_up_to_8(std::string_view bytes) {
  const size_t size = bytes.size();
  const char* at = bytes.data();
  if (size == 8) return load<uint64_t>(at);
  if (size >= 4) return load<uint32_t>(at) | load<uint32_t>(at + size - 4) << (8 * (size - 4));
  if (size == 0) return 0;
  return load<uint8_t>(at) | load<uint8_t>(at + size / 2) << (8 * (size / 2)) |
         load<uint8_t>(at + size - 1) << (8 * (size - 1));
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = mix(bytes.size() ^ 0xA0761D6478BD642Fu, kMultiplier);
  while (bytes.size() > 8) {
    hash = mix(hash ^ load<uint64_t>(bytes.data()), kMultiplier);
    bytes.remove_prefix(8);
  }
  return mix(hash ^ load_up_to_8(bytes), 0xE7037ED1A0B428DBu);
}

PieceKey::PieceKey(std::string_view piece)
    : text(piece),
      value(is_short() ? load_up_to_8(piece) | uint64_t{piece.size()} << 56 : hash_bytes(piece)) {}

void Vocabulary::reserve(size_t count) {
  pieces_.reserve(count);
  known_.reserve(count);
  // About half of a large vocabulary's pieces are short.
  grow_short(std::bit_ceil(count + count / 4));
  grow_long(std::bit_ceil(count + count / 4));
}

void Vocabulary::grow_short(size_t slots) {
  if (slots <= short_slots_.size()) return;
  Table<ShortSlot> old(slots, ShortSlot{kEmptyKey, kEmpty});
  old.swap(short_slots_);
  short_shift_ = 64 - std::countr_zero(slots);
  for (const ShortSlot& slot : old) {
    if (slot.key == kEmptyKey) continue;
    size_t at = slot_of_short(slot.key);
    while (short_slots_[at].key != kEmptyKey) at = (at + 1) & (short_slots_.size() - 1);
    short_slots_[at] = slot;
  }
}

void Vocabulary::grow_long(size_t slots) {
  if (slots <= slots_.size()) return;
  Table<Slot> old(slots, Slot{0, kEmpty});
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.id != kEmpty) insert_slot(PieceKey(pieces_[slot.id]), slot.id);
}

void Vocabulary::insert_slot(const PieceKey& key, TokenId id) {
  const size_t mask = slots_.size() - 1;
  size_t at = slot_of(key.value);
  while (slots_[at].id != kEmpty) at = (at + 1) & mask;
  slots_[at] = {static_cast<uint32_t>(key.value >> 32), id};
}

void Vocabulary::insert(const PieceKey& key, TokenId id) {
  if (!key.is_short()) {
    if ((long_count_ + 1) * 2 > slots_.size()) grow_long(slots_.size() * 2);
    insert_slot(key, id);
    ++long_count_;
    return;
  }
  if ((short_count_ + 1) * 2 > short_slots_.size()) grow_short(short_slots_.size() * 2);
  size_t at = slot_of_short(key.value);
  while (short_slots_[at].key != kEmptyKey) at = (at + 1) & (short_slots_.size() - 1);
  short_slots_[at] = {key.value, id};
  ++short_count_;
}

std::optional<TokenId> Vocabulary::find_long(const PieceKey& key) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(key.value >> 32);
  for (size_t at = slot_of(key.value); slots_[at].id != kEmpty; at = (at + 1) & mask)
    if (slots_[at].tag == tag && pieces_[slots_[at].id] == key.text) return slots_[at].id;
  return std::nullopt;
}

void Vocabulary::prefetch_piece(const PieceKey& key) const {
  if (key.is_short()) return;
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(key.value >> 32);
  for (size_t at = slot_of(key.value); slots_[at].id != kEmpty; at = (at + 1) & mask)
    if (slots_[at].tag == tag) return __builtin_prefetch(&pieces_[slots_[at].id]);
}

std::array<std::optional<TokenId>, 256> Vocabulary::byte_pieces() const {
  std::array<std::optional<TokenId>, 256> ids;
  for (size_t byte = 0; byte < ids.size(); ++byte) ids[byte] = find(fmt::format("<0x{:02X}>", byte));
  return ids;
}

Status Vocabulary::add(std::string_view piece, uint64_t id) {
  const PieceKey key(piece);
  if (find(key))
    return fail(Fault::kCorrupt, fmt::format("tokenizer: piece '{}' is in the vocabulary twice", piece));
  AMPHORA_TRY(add_unlisted(piece, id));
  insert(key, static_cast<TokenId>(id));
  return {};
}

Status Vocabulary::add_unlisted(std::string_view text, uint64_t id) {
  if (id >= kMaxHolesBase + kMaxHolesPerPiece * (taken_ids_ + 1) && id >= pieces_.size())
    return fail(Fault::kCorrupt,
                fmt::format("tokenizer: id {} of '{}' is far beyond the number of tokens", id, text));
  if (id >= pieces_.size()) {
    pieces_.resize(static_cast<size_t>(id) + 1);
    known_.resize(static_cast<size_t>(id) + 1);
  }
  if (known_[static_cast<size_t>(id)])
    return fail(Fault::kCorrupt, fmt::format("tokenizer: id {} belongs to '{}' and to '{}'", id,
                                             pieces_[static_cast<size_t>(id)], text));
  pieces_[static_cast<size_t>(id)] = text;
  known_[static_cast<size_t>(id)] = true;
  ++taken_ids_;
  return {};
}

}  // namespace amphora::text
