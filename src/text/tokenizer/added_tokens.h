// Tokens beside the model's vocabulary, which are looked for in the text before anything else happens to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/span.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  std::string decoded;  ///< its text in decode(): in normal form if `normalized`, as the reference gives it
  bool single_word = false;  ///< only where no word character touches it
  bool strip_left = false;   ///< takes the white space before it along
  bool strip_right = false;
  bool normalized = false;  ///< is looked for in the normalized text, in its own normal form
  bool special = false;
};

/// A part of a text: an added token, or what lies between two of them.
struct AddedPart {
  Span span;
  const AddedToken* token;  ///< null for ordinary text
};

/// Finds the longest of many texts at each place.
class TextTrie {
 public:
  /// False if the text is there already.
  bool add(std::string_view text, uint32_t value);
  struct Found {
    uint32_t value;
    size_t bytes;
  };
  std::optional<Found> longest_at(std::string_view text, size_t offset) const;
  bool empty() const { return nodes_.empty(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint32_t value = kNone;
    uint32_t first_child = kNone;
    uint32_t sibling = kNone;
    uint8_t byte = 0;
  };
  std::vector<Node> nodes_;
  std::array<uint32_t, 256> roots_ = [] {
    std::array<uint32_t, 256> none{};
    none.fill(kNone);
    return none;
  }();
};

class AddedTokens {
 public:
  /// Reads "added_tokens" (an array). Ids that the model does not have are numbered behind it, in order, as
  /// the reference does; a file that says otherwise is refused. New tokens are put into the vocabulary,
  /// unlisted.
  static Result<AddedTokens> read(const json::Value& array, Vocabulary& vocabulary,
                                  const Normalizer* normalizer);

  /// Splits by the tokens that are looked for before (or after) normalisation.
  void split(std::string_view text, bool normalized, bool parse_special, std::vector<AddedPart>& parts) const;

  const AddedToken* find(TokenId id) const;
  std::optional<TokenId> find_id(std::string_view content) const;
  /// Whether decode() leaves it out when it skips special tokens: by its text, as the reference decides it.
  bool is_skipped(const AddedToken& token) const { return skipped_[index_of(token)]; }

 private:
  size_t index_of(const AddedToken& token) const { return static_cast<size_t>(&token - tokens_.data()); }
  Status read_one(const json::Value& value, const std::string& place, Vocabulary& vocabulary,
                  const Normalizer* normalizer);

  std::vector<AddedToken> tokens_;
  std::vector<bool> skipped_;
  std::unordered_map<TokenId, uint32_t> by_id_;
  std::unordered_map<std::string, uint32_t> by_content_;
  TextTrie raw_, normalized_;
  size_t unlisted_ = 0;  // how many were no pieces of the model
};

}  // namespace amphora::text
