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

uint64_t load(const char* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = mix(bytes.size() ^ 0xA0761D6478BD642Fu, kMultiplier);
  while (bytes.size() > 8) {
    hash = mix(hash ^ load(bytes.data(), 8), kMultiplier);
    bytes.remove_prefix(8);
  }
  return mix(hash ^ load(bytes.data(), bytes.size()), 0xE7037ED1A0B428DBu);
}

void Vocabulary::reserve(size_t count) {
  pieces_.reserve(count);
  known_.reserve(count);
  grow(std::bit_ceil(count * 2));
}

void Vocabulary::grow(size_t slots) {
  if (slots <= slots_.size()) return;
  slots_.assign(slots, {0, kEmpty});
  for (TokenId id = 0; id < pieces_.size(); ++id)
    if (known_[id]) insert_slot(hash_bytes(pieces_[id]), id);
}

void Vocabulary::insert_slot(uint64_t hash, TokenId id) {
  const size_t mask = slots_.size() - 1;
  size_t at = slot_of(hash);
  while (slots_[at].id != kEmpty) at = (at + 1) & mask;
  slots_[at] = {static_cast<uint32_t>(hash >> 32), id};
}

std::optional<TokenId> Vocabulary::find_hashed(std::string_view piece, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = slot_of(hash); slots_[at].id != kEmpty; at = (at + 1) & mask)
    if (slots_[at].tag == tag && pieces_[slots_[at].id] == piece) return slots_[at].id;
  return std::nullopt;
}

void Vocabulary::prefetch_piece(uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = slot_of(hash); slots_[at].id != kEmpty; at = (at + 1) & mask)
    if (slots_[at].tag == tag) return __builtin_prefetch(&pieces_[slots_[at].id]);
}

Status Vocabulary::add(std::string_view piece, uint64_t id) {
  if ((count_ + 1) * 2 > slots_.size()) grow(std::bit_ceil((count_ + 8) * 4));
  const uint64_t hash = hash_bytes(piece);
  if (find_hashed(piece, hash))
    return fail(Fault::kCorrupt, fmt::format("tokenizer: piece '{}' is in the vocabulary twice", piece));
  AMPHORA_TRY(add_unlisted(piece, id));
  insert_slot(hash, static_cast<TokenId>(id));
  ++count_;
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
