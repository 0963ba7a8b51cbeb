// Generates merges from pieces and scores.
#include "package/piece_merges.h"

#include <algorithm>
#include <tuple>

namespace amphora::package {
namespace {

bool starts_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

uint32_t characters_of(std::string_view text) {
  return static_cast<uint32_t>(std::ranges::count_if(text, starts_character));
}

struct Candidate {
  Merge merge;
  float score;
  uint32_t left_characters, right_characters;
  uint32_t rank;  ///< place in the order of generation: decides where all else is equal
};

bool comes_before(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.score, -int64_t{a.left_characters}, -int64_t{a.right_characters}, a.rank) <
         std::tuple(-b.score, -int64_t{b.left_characters}, -int64_t{b.right_characters}, b.rank);
}

}  // namespace

std::vector<Merge> merges_of_pieces(const std::vector<Piece>& pieces,
                                    const std::unordered_map<std::string_view, uint32_t>& ids) {
  std::vector<Candidate> candidates;
  std::vector<Candidate> of_piece;
  for (const Piece& piece : pieces) {
    if (!piece.merges) continue;
    const uint32_t characters = characters_of(piece.text);
    of_piece.clear();
    uint32_t left_characters = 0;
    for (size_t cut = 1; cut < piece.text.size(); ++cut) {
      if (!starts_character(piece.text[cut])) continue;
      ++left_characters;
      const auto left = ids.find(piece.text.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(piece.text.substr(cut));
      if (right == ids.end()) continue;
      of_piece.push_back(
          {{left->second, right->second}, piece.score, left_characters, characters - left_characters, 0});
    }
    std::ranges::sort(of_piece, {},
                      [](const Candidate& c) { return std::pair(c.merge.left, c.merge.right); });
    for (Candidate& candidate : of_piece) {
      candidate.rank = static_cast<uint32_t>(candidates.size());
      candidates.push_back(candidate);
    }
  }
  std::ranges::sort(candidates, comes_before);
  std::vector<Merge> merges;
  merges.reserve(candidates.size());
  for (const Candidate& candidate : candidates) merges.push_back(candidate.merge);
  return merges;
}

}  // namespace amphora::package
