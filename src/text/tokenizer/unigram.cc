// The unigram model.
#include "text/tokenizer/unigram.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "text/tokenizer/span.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

// An unknown character costs this much more than the worst piece.
constexpr double kUnknownPenalty = 10.0;

std::unexpected<Error> no_unknown_token() {
  return fail(Fault::kCorrupt,
              "tokenizer: model 'Unigram' has no unknown token, and the text holds an unknown character");
}

}  // namespace

struct Unigram::Lattice : Scratch {
  // The best way to reach a place of the word.
  struct Node {
    double score = 0;
    TokenId id = 0;
    uint32_t bytes = 0;  // of its last piece; 0: not reached yet
  };
  std::vector<Node> nodes;
  std::vector<Span> pieces;
};

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options)
    : vocabulary_(vocabulary), scores_(std::move(scores)), options_(options) {
  const double lowest =
      scores_.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(scores_);
  unknown_score_ = lowest - kUnknownPenalty;
  std::vector<PieceTrie::Entry> entries;
  entries.reserve(scores_.size());
  for (TokenId id = 0; id < scores_.size(); ++id) entries.push_back({vocabulary_.piece(id), id});
  trie_ = PieceTrie(std::move(entries));
  if (options_.byte_fallback)
    for (uint32_t byte = 0; byte < 256; ++byte)
      byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
}

std::unique_ptr<Model::Scratch> Unigram::make_scratch() const { return std::make_unique<Lattice>(); }

// Of two ways with the same score the one that was found first stays: the one whose last piece is longer.
Status Unigram::find_best_path(std::string_view word, Lattice& lattice) const {
  auto& nodes = lattice.nodes;
  nodes.assign(word.size() + 1, {});
  for (size_t begin = 0; begin < word.size();) {
    const double score_here = nodes[begin].score;
    const size_t character_bytes = unicode::sequence_bytes(word[begin]);
    bool knows_character = false;
    const auto offer = [&](TokenId id, size_t bytes, double piece_score) {
      Lattice::Node& node = nodes[begin + bytes];
      const double score = piece_score + score_here;
      if (node.bytes != 0 && !(score > node.score)) return false;
      node = {score, id, static_cast<uint32_t>(bytes)};
      return true;
    };
    trie_.visit_prefixes(word.substr(begin), [&](TokenId id, size_t bytes) {
      offer(id, bytes, scores_[id]);
      knows_character = knows_character || bytes == character_bytes;
    });
    if (!knows_character && offer(options_.unk_id.value_or(0), character_bytes, unknown_score_) &&
        !options_.unk_id)
      return no_unknown_token();
    begin += character_bytes;
  }
  return {};
}

Status Unigram::put_down(std::string_view piece, std::vector<TokenId>& ids) const {
  if (const auto id = vocabulary_.find(piece)) {
    ids.push_back(*id);
    return {};
  }
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
  if (options_.byte_fallback &&
      std::ranges::all_of(piece, [&](char byte) { return id_of(byte).has_value(); })) {
    for (const char byte : piece) ids.push_back(*id_of(byte));
    return {};
  }
  if (!options_.unk_id) return no_unknown_token();
  ids.push_back(*options_.unk_id);
  return {};
}

Status Unigram::tokenize(std::string_view word, Scratch& base, std::vector<TokenId>& ids) const {
  auto& lattice = static_cast<Lattice&>(base);
  AMPHORA_TRY(find_best_path(word, lattice));
  lattice.pieces.clear();
  bool fuses = false;  // whether the piece behind is an unknown one
  for (size_t end = word.size(); end > 0;) {
    const Lattice::Node& node = lattice.nodes[end];
    const size_t begin = end - node.bytes;
    const bool unknown = options_.unk_id && node.id == *options_.unk_id;
    if (unknown && fuses)
      lattice.pieces.back().begin = begin;
    else
      lattice.pieces.push_back({begin, end});
    fuses = unknown;
    end = begin;
  }
  // By its text and not by the id on the path: unknown characters may fuse into the text of a piece.
  for (size_t i = lattice.pieces.size(); i-- > 0;) AMPHORA_TRY(put_down(slice(word, lattice.pieces[i]), ids));
  return {};
}

}  // namespace amphora::text
