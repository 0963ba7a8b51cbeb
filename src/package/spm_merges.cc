// Whether a list of merges says what a SentencePiece BPE model does.
#include "package/spm_merges.h"

#include <algorithm>
#include <unordered_map>

namespace amphora::package {
namespace {

using sentencepiece::PieceType;

// Far above published vocabularies (some 600,000 merges, pieces of up to 100 bytes): beyond them a list would
// only be large.
constexpr size_t kMaxMerges = size_t{1} << 22;
constexpr size_t kMaxPieceBytes = 512;

bool starts_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

class MergeFinder {
 public:
  explicit MergeFinder(const sentencepiece::Model& model) : model_(model) {
    ids_.reserve(model.pieces.size());
    for (uint32_t id = 0; id < model.pieces.size(); ++id) ids_.emplace(model.pieces[id].text, id);
  }

  std::optional<std::vector<Merge>> find() {
    std::vector<Piece> pieces;
    std::vector<float> scores;  // of pieces that can be made
    size_t merges = 0;
    for (const sentencepiece::Piece& piece : model_.pieces) {
      const bool is_normal = piece.type == PieceType::kNormal;
      pieces.push_back({piece.text, piece.score, is_normal});
      if (!is_normal) continue;
      const auto cuts = count_cuts(piece.text);
      if (!cuts) return std::nullopt;
      if (*cuts != 0) scores.push_back(piece.score);
      merges += *cuts;
      if (merges > kMaxMerges) return std::nullopt;
    }
    std::ranges::sort(scores);
    if (std::ranges::adjacent_find(scores) != scores.end()) return std::nullopt;
    return merges_of_pieces(pieces, ids_);
  }

 private:
  bool is_piece(std::string_view text) const {
    const auto found = ids_.find(text);
    return found != ids_.end() && model_.pieces[found->second].type == PieceType::kNormal;
  }

  /// How many ways there are to make the piece out of two; empty if a list cannot have it.
  std::optional<size_t> count_cuts(std::string_view text) const {
    if (text.size() > kMaxPieceBytes) return std::nullopt;
    size_t cuts = 0, character = 0;
    for (size_t at = 1; at <= text.size(); ++at) {
      if (at < text.size() && !starts_character(text[at])) continue;
      if (!is_piece(text.substr(character, at - character))) return std::nullopt;
      character = at;
      if (at < text.size() && is_piece(text.substr(0, at)) && is_piece(text.substr(at))) ++cuts;
    }
    return cuts;
  }

  const sentencepiece::Model& model_;
  std::unordered_map<std::string_view, uint32_t> ids_;
};

}  // namespace

std::optional<std::vector<Merge>> find_equal_merges(const sentencepiece::Model& model) {
  return MergeFinder(model).find();
}

}  // namespace amphora::package
