// The split of a text into pieces whose scores have the highest sum.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/tokenizer.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/span.h"
#include "unicode/utf8.h"

namespace amphora::text {

/// What a best path is made of: a piece, or one character that no piece is.
struct PathStep {
  Span span;
  std::optional<TokenId> id;  // none: an unknown character
};

/// Finds best paths; one object serves many words, one after the other.
///
/// A place that no piece spans is on every path: what lies before it is given out and forgotten. So what is
/// kept is four bytes for each byte between two such places, which are as close as words where pieces do not
/// reach over spaces; and the sums of the places that the pieces beginning here can end at.
template <class Sum>
class BestPath {
 public:
  /// `sum_with(sum, id, bytes)` is the sum behind a piece, `sum_with_unknown(sum)` behind an unknown
  /// character. Of two ways with the same sum the one that was found first stays: the one whose last piece is
  /// longer. `meet_unknown()` is called when an unknown character is the best way to a place so far,
  /// `emit(step)` takes the path in order; an error of theirs ends the search. `longest` is the length of the
  /// longest piece.
  template <class SumWith, class SumWithUnknown, class MeetUnknown, class Emit>
  Status find(std::string_view word, const PieceTrie& trie, std::span<const uint32_t> piece_bytes,
              size_t longest, const SumWith& sum_with, const SumWithUnknown& sum_with_unknown,
              const MeetUnknown& meet_unknown, const Emit& emit) {
    const size_t reach = std::min(std::max(longest, kMaxCharacterBytes), word.size()) + 1;
    if (sums_.size() < reach) sums_.resize(std::bit_ceil(reach));
    const size_t mask = sums_.size() - 1;
    settled_ = furthest_ = 0;
    last_.assign(1, kNone);
    sums_[0] = 0;
    for (size_t begin = 0; begin < word.size();) {
      if (furthest_ == begin) AMPHORA_TRY(settle(begin, piece_bytes, emit));
      const Sum sum_here = sums_[begin & mask];
      const size_t character_bytes = unicode::sequence_bytes(word[begin]);
      bool knows_character = false;
      const auto offer = [&](uint32_t last, size_t end, Sum sum) {
        if (end > furthest_) {
          furthest_ = end;
          last_.resize(end - settled_ + 1, kNone);
        }
        uint32_t& best = last_[end - settled_];
        if (best != kNone && !(sum > sums_[end & mask])) return false;
        best = last;
        sums_[end & mask] = sum;
        return true;
      };
      trie.visit_prefixes(word.substr(begin), [&](TokenId id, size_t bytes) {
        offer(id, begin + bytes, sum_with(sum_here, id, bytes));
        knows_character = knows_character || bytes == character_bytes;
      });
      if (!knows_character && offer(kUnknown + static_cast<uint32_t>(character_bytes),
                                    begin + character_bytes, sum_with_unknown(sum_here)))
        AMPHORA_TRY(meet_unknown());
      begin += character_bytes;
    }
    return settle(word.size(), piece_bytes, emit);
  }

 private:
  static constexpr size_t kMaxCharacterBytes = 4;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kUnknown =
      UINT32_MAX - 5;  // and the character's bytes; no vocabulary is as large

  static uint32_t bytes_of(uint32_t last, std::span<const uint32_t> piece_bytes) {
    return last > kUnknown ? last - kUnknown : piece_bytes[last];
  }

  template <class Emit>
  Status settle(size_t end, std::span<const uint32_t> piece_bytes, const Emit& emit) {
    // The steps come last one first. Each has at least a byte, so they can be gathered at the far end of the
    // same array: what is overwritten lies behind what is still to be read.
    size_t gathered = last_.size();
    for (size_t place = end - settled_; place > 0;) {
      const uint32_t last = last_[place];
      last_[--gathered] = last;
      place -= bytes_of(last, piece_bytes);
    }
    for (size_t begin = settled_; gathered < last_.size(); ++gathered) {
      const uint32_t last = last_[gathered];
      const Span span{begin, begin + bytes_of(last, piece_bytes)};
      AMPHORA_TRY(emit(PathStep{span, last > kUnknown ? std::nullopt : std::optional<TokenId>(last)}));
      begin = span.end;
    }
    settled_ = end;
    last_.assign(1, kNone);
    return {};
  }

  std::vector<Sum> sums_;       // behind each place within reach, by the place's lower bits
  std::vector<uint32_t> last_;  // what the best way to each place since settled_ ends with
  size_t settled_ = 0, furthest_ = 0;
};

}  // namespace amphora::text
