// The merges of a SentencePiece vocabulary, which has only pieces and scores.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace amphora::package {

struct Piece {
  std::string_view text;  ///< UTF-8
  float score = 0;
  bool merges = true;  ///< whether it may come out of a merge
};

struct Merge {
  uint32_t left, right;  ///< ids of the pieces
};

/// Every way to make a piece out of two, best first: by score, then by the lengths (in characters) of the
/// left and the right part, all descending; ways to make one piece by the ids of their parts. It is the order
/// in which Hugging Face's converter writes the merges of a tokenizer.json, so a BPE model that uses them
/// splits as that one does.
std::vector<Merge> merges_of_pieces(const std::vector<Piece>& pieces,
                                    const std::unordered_map<std::string_view, uint32_t>& ids);

}  // namespace amphora::package
