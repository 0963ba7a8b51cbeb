// The unigram model.
#include "text/tokenizer/unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "text/tokenizer/best_path.h"
#include "text/tokenizer/span.h"

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
  BestPath<double> path;
};

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options)
    : vocabulary_(vocabulary), scores_(std::move(scores)), options_(options) {
  const double lowest =
      scores_.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(scores_);
  unknown_score_ = lowest - kUnknownPenalty;
  std::vector<PieceTrie::Entry> entries;
  entries.reserve(scores_.size());
  piece_bytes_.reserve(scores_.size());
  for (TokenId id = 0; id < scores_.size(); ++id) {
    const std::string_view piece = vocabulary_.piece(id);
    entries.push_back({piece, id});
    piece_bytes_.push_back(static_cast<uint32_t>(piece.size()));
    longest_ = std::max(longest_, piece.size());
  }
  trie_ = PieceTrie(std::move(entries));
  if (options_.byte_fallback)
    for (uint32_t byte = 0; byte < 256; ++byte)
      byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
}

std::unique_ptr<Model::Scratch> Unigram::make_scratch() const { return std::make_unique<Lattice>(); }

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
  Span unknown{0, 0};  // unknown pieces in a row become one
  // By its text: unknown characters may fuse into the text of a piece.
  const auto end_unknown = [&]() -> Status {
    if (unknown.empty()) return {};
    const Span run = std::exchange(unknown, Span{0, 0});
    return put_down(slice(word, run), ids);
  };
  const auto emit = [&](const PathStep& step) -> Status {
    if (!step.id || step.id == options_.unk_id) {
      unknown = {unknown.empty() ? step.span.begin : unknown.begin, step.span.end};
      return {};
    }
    AMPHORA_TRY(end_unknown());
    ids.push_back(*step.id);
    return {};
  };
  AMPHORA_TRY(static_cast<Lattice&>(base).path.find(
      word, trie_, piece_bytes_, longest_, [&](double sum, TokenId id, size_t) { return scores_[id] + sum; },
      [&](double sum) { return unknown_score_ + sum; },
      [&]() -> Status { return options_.unk_id ? Status() : no_unknown_token(); }, emit));
  return end_unknown();
}

}  // namespace amphora::text
