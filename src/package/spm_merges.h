// Whether a list of merges says what a SentencePiece BPE model does.
#pragma once

#include <optional>
#include <vector>

#include "formats/sentencepiece/model.h"
#include "package/piece_merges.h"

namespace amphora::package {

/// The merges with which Hugging Face's BPE splits every text as SentencePiece does, or empty if there are
/// none. SentencePiece always merges the neighbours that make the piece of the highest score, the leftmost of
/// equals; a list has a rank for each pair of parts. Both do the same if
/// - all characters of pieces are pieces: a list names parts by their ids;
/// - no two pieces that can be made have one score: then all candidates of the highest score make one piece.
/// They are also the same pair of parts, so that its rank among other pairs that make this piece does not
/// matter: what happens within a stretch that nothing merges into or out of does not depend on its
/// surroundings, so two parts stand side by side only if they do when their joined text is merged by itself,
/// and there only one pair comes last.
///
/// Unused and user-defined pieces, which lists do not know, are not expected here.
std::optional<std::vector<Merge>> find_equal_merges(const sentencepiece::Model& model);

}  // namespace amphora::package
