// BPE as SentencePiece does it.
#include "text/tokenizer/sentence_piece_bpe.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "text/tokenizer/span.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// A part of the text that is or may become a piece; empty once it is part of the symbol before it.
struct Symbol {
  std::string_view text;
  uint32_t previous = kNone, next = kNone;
  bool frozen = false;
};

// Two neighbours that could become a piece, as they were when they were seen.
struct Candidate {
  float score;
  uint32_t left, right;
  size_t bytes;
};

// For a heap with the best on top.
bool is_worse(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.left > b.left);
}

std::string_view join(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

}  // namespace

struct SentencePieceBpe::Work : Scratch {
  std::vector<Symbol> symbols;
  std::vector<Candidate> candidates;  // a heap
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> parts_of_unused;
  std::vector<std::string_view> open;
};

SentencePieceBpe::SentencePieceBpe(const Vocabulary& vocabulary, PieceTable table)
    : vocabulary_(vocabulary), table_(std::move(table)), symbols_(user_defined(vocabulary, table_)) {
  for (TokenId id = 0; id < table_.kinds.size(); ++id) {
    if (!table_.has_text(id)) continue;
    const std::string_view piece = vocabulary_.piece(id);
    longest_ = std::max(longest_, piece.size());
    has_unused_ = has_unused_ || table_.kinds[id] == PieceKind::kUnused;
    std::string_view previous;
    for (const unicode::CodePoint c : unicode::CodePoints(piece)) {
      const std::string_view character = piece.substr(c.offset, c.bytes);
      if (!previous.empty()) pairs_.set(pair_slot(previous, character));
      previous = character;
    }
  }
}

std::unique_ptr<Model::Scratch> SentencePieceBpe::make_scratch() const { return std::make_unique<Work>(); }

// Of the left one's last character and the right one's first.
size_t SentencePieceBpe::pair_slot(std::string_view left, std::string_view right) {
  const auto character_key = [](std::string_view text) {
    uint64_t key = 0;
    for (const char c : text) key = key << 8 | static_cast<uint8_t>(c);
    return key;
  };
  size_t last = left.size() - 1;
  while (last > 0 && (static_cast<uint8_t>(left[last]) & 0xC0) == 0x80) --last;
  const uint64_t key = character_key(left.substr(last)) << 32 |
                       character_key(right.substr(0, unicode::sequence_bytes(right[0])));
  return (key * 0x9E3779B97F4A7C15u) >> (64 - kPairBits);
}

std::optional<TokenId> SentencePieceBpe::find_piece(std::string_view text) const {
  if (text.size() > longest_) return std::nullopt;
  const auto id = vocabulary_.find(text);
  return id && table_.has_text(*id) ? id : std::nullopt;
}

void SentencePieceBpe::consider(Work& work, uint32_t left, uint32_t right) const {
  if (left == kNone || right == kNone) return;
  const Symbol &a = work.symbols[left], &b = work.symbols[right];
  if (a.frozen || b.frozen) return;
  const std::string_view whole = join(a.text, b.text);
  const auto id = find_piece(whole);
  if (!id) return;
  work.candidates.push_back({table_.scores[*id], left, right, whole.size()});
  std::ranges::push_heap(work.candidates, is_worse);
  if (table_.kinds[*id] == PieceKind::kUnused)
    work.parts_of_unused.insert_or_assign(whole, std::pair(a.text, b.text));
}

void SentencePieceBpe::merge(Work& work) const {
  auto& symbols = work.symbols;
  work.candidates.clear();
  for (uint32_t i = 1; i < symbols.size(); ++i) consider(work, i - 1, i);
  while (!work.candidates.empty()) {
    std::ranges::pop_heap(work.candidates, is_worse);
    const Candidate best = work.candidates.back();
    work.candidates.pop_back();
    Symbol &left = symbols[best.left], &right = symbols[best.right];
    if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != best.bytes)
      continue;  // one of them has merged meanwhile
    left.text = join(left.text, right.text);
    left.next = right.next;
    if (right.next != kNone) symbols[right.next].previous = best.left;
    right.text = {};
    consider(work, left.previous, best.left);
    consider(work, best.left, left.next);
  }
}

void SentencePieceBpe::put_down(Work& work, std::string_view piece, PieceOutput& output) const {
  if (!has_unused_) return output.add(piece);
  work.open.assign(1, piece);
  while (!work.open.empty()) {
    const std::string_view top = work.open.back();
    work.open.pop_back();
    const auto id = vocabulary_.find(top);
    const auto parts = id && table_.kinds[*id] == PieceKind::kUnused ? work.parts_of_unused.find(top)
                                                                     : work.parts_of_unused.end();
    if (parts == work.parts_of_unused.end()) {
      output.add(top);
      continue;
    }
    work.open.push_back(parts->second.second);
    work.open.push_back(parts->second.first);
  }
}

Status SentencePieceBpe::tokenize(std::string_view text, Scratch& scratch, std::vector<TokenId>& ids) const {
  auto& work = static_cast<Work&>(scratch);
  work.parts_of_unused.clear();
  PieceOutput output(vocabulary_, table_, ids);
  while (!text.empty()) {
    work.symbols.clear();
    while (!text.empty()) {
      Symbol symbol;
      const size_t symbol_bytes = symbols_.symbol_bytes(text);
      symbol.frozen = symbol_bytes != 0;
      symbol.text = text.substr(0, symbol.frozen ? symbol_bytes : unicode::sequence_bytes(text[0]));
      if (!work.symbols.empty()) {
        if (!may_merge(work.symbols.back().text, symbol.text)) break;
        symbol.previous = static_cast<uint32_t>(work.symbols.size() - 1);
        work.symbols.back().next = static_cast<uint32_t>(work.symbols.size());
      }
      text.remove_prefix(symbol.text.size());
      work.symbols.push_back(symbol);
    }
    merge(work);
    for (uint32_t i = 0; i != kNone; i = work.symbols[i].next) put_down(work, work.symbols[i].text, output);
  }
  return {};
}

}  // namespace amphora::text
