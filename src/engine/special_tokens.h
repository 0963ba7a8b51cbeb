// The special tokens of a vocabulary, to be found in text.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/tokenizer.h"

namespace amphora::engine {

/// Views of the tokenizer's pieces: it must outlive them.
class SpecialTokens {
 public:
  explicit SpecialTokens(const text::Tokenizer& tokenizer);
  /// Of any list of tokens, none empty.
  explicit SpecialTokens(std::vector<std::string_view> tokens);

  /// The longest token that begins at `at`, or an empty view.
  std::string_view find_at(std::string_view text, size_t at) const;

 private:
  std::unordered_set<std::string_view> tokens_;
  std::vector<size_t> lengths_;  ///< that occur, longest first
  std::bitset<256> first_bytes_;
};

}  // namespace amphora::engine
