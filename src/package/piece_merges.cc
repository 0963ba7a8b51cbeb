// Generates merges from pieces and scores.
#include "package/piece_merges.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/thread_pool.h"

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

/// The candidates of some pieces, those of a piece by the ids of their parts; ranks are not set.
std::vector<Candidate> candidates_of(std::span<const Piece> pieces,
                                     const std::unordered_map<std::string_view, uint32_t>& ids) {
  std::vector<Candidate> candidates;
  for (const Piece& piece : pieces) {
    if (!piece.merges) continue;
    const uint32_t characters = characters_of(piece.text);
    const auto first = static_cast<ptrdiff_t>(candidates.size());
    uint32_t left_characters = 0;
    for (size_t cut = 1; cut < piece.text.size(); ++cut) {
      if (!starts_character(piece.text[cut])) continue;
      ++left_characters;
      const auto left = ids.find(piece.text.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(piece.text.substr(cut));
      if (right == ids.end()) continue;
      candidates.push_back(
          {{left->second, right->second}, piece.score, left_characters, characters - left_characters, 0});
    }
    std::sort(candidates.begin() + first, candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.merge.left, a.merge.right) < std::pair(b.merge.left, b.merge.right);
    });
  }
  return candidates;
}

}  // namespace

std::vector<Merge> merges_of_pieces(const std::vector<Piece>& pieces,
                                    const std::unordered_map<std::string_view, uint32_t>& ids) {
  // A quarter of a million pieces is more than a million look-ups, most of them in memory: side by side.
  constexpr size_t kPiecesTogether = 4096;
  const size_t parts = divide_rounding_up(pieces.size(), kPiecesTogether);
  std::vector<std::vector<Candidate>> of_part(parts);
  ThreadPool pool(std::min(available_threads(), std::max<size_t>(1, parts)));
  pool.run(parts, [&](size_t part) {
    const auto rest = std::span(pieces).subspan(part * kPiecesTogether);
    of_part[part] = candidates_of(rest.first(std::min(kPiecesTogether, rest.size())), ids);
  });
  std::vector<Candidate> candidates;
  for (const std::vector<Candidate>& part : of_part)
    candidates.insert(candidates.end(), part.begin(), part.end());
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].rank = static_cast<uint32_t>(i);
  std::ranges::sort(candidates, comes_before);
  std::vector<Merge> merges;
  merges.reserve(candidates.size());
  for (const Candidate& candidate : candidates) merges.push_back(candidate.merge);
  return merges;
}

}  // namespace amphora::package
