// Byte-pair encoding.
#include "text/tokenizer/bpe.h"

#include <algorithm>

#include <fmt/format.h>

#include "unicode/utf8.h"

namespace amphora::text {
namespace {

constexpr TokenId kNone = UINT32_MAX;

// Words found before in the same text. Direct-mapped: a newcomer takes the place of what it collides with.
class WordCache {
 public:
  bool find(std::string_view word, uint64_t hash, std::vector<TokenId>& ids) const {
    if (entries_.empty()) return false;
    const Entry& entry = entries_[hash % kEntries];
    if (entry.bytes != word.size() || entry.hash != hash || keys_.compare(entry.key, entry.bytes, word) != 0)
      return false;
    const auto first = ids_.begin() + entry.first_id;
    ids.insert(ids.end(), first, first + entry.count);
    return true;
  }

  void insert(std::string_view word, uint64_t hash, const TokenId* first, size_t count) {
    if (keys_.size() > kMaxKeyBytes) {
      entries_.clear();
      keys_.clear();
      ids_.clear();
    }
    if (entries_.empty()) entries_.resize(kEntries);
    entries_[hash % kEntries] = {hash, static_cast<uint32_t>(keys_.size()),
                                 static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids_.size()),
                                 static_cast<uint32_t>(count)};
    keys_ += word;
    ids_.insert(ids_.end(), first, first + count);
  }

 private:
  static constexpr size_t kEntries = 4096;
  static constexpr size_t kMaxKeyBytes = 1 << 20;
  struct Entry {
    uint64_t hash = 0;
    uint32_t key = 0, bytes = 0, first_id = 0, count = 0;
  };
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<TokenId> ids_;
};

constexpr size_t kMaxCachedBytes = 256;

}  // namespace

struct Bpe::WordScratch : Scratch {
  std::vector<TokenId> symbols;
  LongWordMerger merger;
  WordCache cache;
};

Bpe::Bpe(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options)
    : vocabulary_(vocabulary), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.unk_token) unk_id_ = vocabulary_.find(*options_.unk_token);
  if (options_.byte_fallback) byte_ids_ = vocabulary_.byte_pieces();
  for (char32_t c = 0; c < low_characters_.size(); ++c) {
    std::string text;
    unicode::append_utf8(text, c);
    low_characters_[c] = vocabulary_.find(text).value_or(kNone);
  }
  find_cuts();
}

std::unique_ptr<Model::Scratch> Bpe::make_scratch() const { return std::make_unique<WordScratch>(); }

// Vocabularies without a pre-tokenizer see a whole text as one word. No token that reaches from one side to
// the other of a place can come about there if no piece holds the two characters side by side; before the
// mark of a space this is nearly always so. Cutting there changes no id, and lets short words be merged and
// remembered on their own.
void Bpe::find_cuts() {
  const bool plain = options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty() &&
                     !options_.ignore_merges;
  if (!plain || !vocabulary_.find(kSpaceMark)) return;
  cuts_before_mark_ = true;
  for (TokenId id = 0; id < vocabulary_.id_limit(); ++id) {
    const std::string* piece = vocabulary_.find_piece(id);
    if (piece == nullptr) continue;
    for (size_t at = piece->find(kSpaceMark, 1); at != std::string::npos;
         at = piece->find(kSpaceMark, at + 1)) {
      size_t before = at - 1;
      while (before > 0 && (static_cast<uint8_t>((*piece)[before]) & 0xC0) == 0x80) --before;
      joined_to_mark_.push_back(unicode::decode_utf8(*piece, before).code_point);
    }
  }
  std::ranges::sort(joined_to_mark_);
  const auto [first, last] = std::ranges::unique(joined_to_mark_);
  joined_to_mark_.erase(first, last);
}

// The next place behind `from` where the word can be cut; its size if there is none. The character before the
// cut must be a piece: one that is dropped, unknown or spelled in bytes would leave other neighbours than the
// text shows.
size_t Bpe::cut_before_mark(std::string_view word, size_t from) const {
  for (size_t at = word.find(kSpaceMark, from + 1); at != std::string_view::npos;
       at = word.find(kSpaceMark, at + 1)) {
    size_t before = at - 1;
    while ((static_cast<uint8_t>(word[before]) & 0xC0) == 0x80) --before;
    const char32_t c = unicode::decode_utf8(word, before).code_point;
    if (!std::ranges::binary_search(joined_to_mark_, c) &&
        find_character(word.substr(before, at - before), c, false, false))
      return at;
  }
  return word.size();
}

Status Bpe::tokenize(std::string_view word, Scratch& base, std::vector<TokenId>& ids) const {
  auto& scratch = static_cast<WordScratch&>(base);
  if (options_.ignore_merges) {
    if (const auto id = vocabulary_.find(word)) {
      ids.push_back(*id);
      return {};
    }
  }
  if (!cuts_before_mark_) return tokenize_uncut(word, scratch, ids);
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = cut_before_mark(word, begin);
    AMPHORA_TRY(tokenize_uncut(word.substr(begin, end - begin), scratch, ids));
    begin = end;
  }
  return {};
}

Status Bpe::tokenize_uncut(std::string_view word, WordScratch& scratch, std::vector<TokenId>& ids) const {
  const bool cached = word.size() <= kMaxCachedBytes;
  const uint64_t hash = cached ? hash_bytes(word) : 0;
  if (cached && scratch.cache.find(word, hash, ids)) return {};
  const size_t first = ids.size();
  scratch.symbols.clear();
  AMPHORA_TRY(find_symbols(word, scratch.symbols));
  if (scratch.symbols.size() <= kShortWord)
    merge_short_word(merges_, scratch.symbols);
  else
    scratch.merger.merge(merges_, scratch.symbols);
  ids.insert(ids.end(), scratch.symbols.begin(), scratch.symbols.end());
  if (cached) scratch.cache.insert(word, hash, ids.data() + first, ids.size() - first);
  return {};
}

std::optional<TokenId> Bpe::find_character(std::string_view character, char32_t code_point, bool first,
                                           bool last) const {
  const bool decorated = (!first && !options_.continuing_subword_prefix.empty()) ||
                         (last && !options_.end_of_word_suffix.empty());
  if (decorated)
    return vocabulary_.find(fmt::format("{}{}{}", first ? "" : options_.continuing_subword_prefix, character,
                                        last ? options_.end_of_word_suffix : ""));
  if (code_point >= low_characters_.size()) return vocabulary_.find(character);
  const TokenId id = low_characters_[code_point];
  return id == kNone ? std::nullopt : std::optional(id);
}

Status Bpe::find_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  bool unknown_pending = false;  // an unknown token is put down late: the next may fuse with it
  const auto put_down_unknown = [&] {
    if (unknown_pending) symbols.push_back(*unk_id_);
    unknown_pending = false;
  };
  for (const unicode::CodePoint c : unicode::CodePoints(word)) {
    const std::string_view character = word.substr(c.offset, c.bytes);
    const bool first = c.offset == 0;
    const bool last = c.offset + c.bytes == word.size();
    if (const auto id = find_character(character, c.value, first, last)) {
      put_down_unknown();
      symbols.push_back(*id);
      continue;
    }
    if (options_.byte_fallback) {
      // With its prefix and suffix, if there are any; and without putting down what is pending. So does the
      // reference.
      const std::string text = fmt::format("{}{}{}", first ? "" : options_.continuing_subword_prefix,
                                           character, last ? options_.end_of_word_suffix : "");
      const auto id_of = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
      if (std::ranges::all_of(text, [&](char byte) { return id_of(byte).has_value(); })) {
        for (const char byte : text) symbols.push_back(*id_of(byte));
        continue;
      }
    }
    if (!options_.unk_token) continue;  // without an unknown token the character is lost
    if (!unk_id_)
      return fail(Fault::kCorrupt, fmt::format("tokenizer: the unknown token '{}' is not in the vocabulary",
                                               *options_.unk_token));
    if (!options_.fuse_unk) put_down_unknown();
    unknown_pending = true;
  }
  put_down_unknown();
  return {};
}

}  // namespace amphora::text
