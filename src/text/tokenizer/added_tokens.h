// Tokens beside the model's vocabulary, which are looked for in the text before anything else happens to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/quoted_text.h"
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
  bool has_markers = true;  ///< false: nothing in it can be a marker (see MarkerRule)
};

/// Which tokens are ordinary text in the quoted parts of a text: see EncodeOptions.
struct MarkerRule {
  std::span<const QuotedRange> quoted;
  std::span<const TokenId> markers;
  bool is_marker(const AddedToken& token) const;
  bool forbids(const AddedToken& token, Span span) const;
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

  /// Splits by the tokens that are looked for before normalisation.
  void split_raw(std::string_view text, bool parse_special, const MarkerRule& rule,
                 std::vector<AddedPart>& parts) const;
  /// Holds the rule for markers that are looked for in normal form, where quoted parts can no longer be told.
  /// A part of `text` in which quoted text adds none stays as it is; others are split where a marker's own
  /// content stands outside of quoted parts, and nothing else in them is a marker.
  Status protect_normalized(std::string_view text, bool parse_special, const MarkerRule& rule,
                            const Normalizer* normalizer, std::vector<AddedPart>& parts) const;
  /// Splits by the tokens that are looked for in normal form; all but `rule`'s markers, if it has some.
  void split_normalized(std::string_view text, bool parse_special, const MarkerRule& rule,
                        std::vector<AddedPart>& parts) const;

  const AddedToken* find(TokenId id) const;
  std::optional<TokenId> find_id(std::string_view content) const;
  const std::vector<AddedToken>& all() const { return tokens_; }
  /// Whether decode() leaves it out when it skips special tokens: by its text, as the reference decides it.
  bool is_skipped(const AddedToken& token) const { return skipped_[index_of(token)]; }

 private:
  Result<std::vector<const AddedToken*>> find_normalized_markers(std::string text, bool parse_special,
                                                                 const MarkerRule& rule,
                                                                 const Normalizer* normalizer) const;
  std::vector<AddedPart> unquoted_markers(std::string_view text, Span within, const MarkerRule& rule) const;
  void split(const TextTrie& trie, std::string_view text, bool parse_special, const MarkerRule& rule,
             std::vector<AddedPart>& parts) const;
  size_t index_of(const AddedToken& token) const { return static_cast<size_t>(&token - tokens_.data()); }
  Status read_one(const json::Value& value, const std::string& place, Vocabulary& vocabulary,
                  const Normalizer* normalizer);

  std::vector<AddedToken> tokens_;
  std::vector<bool> skipped_;
  std::unordered_map<TokenId, uint32_t> by_id_;
  std::unordered_map<std::string, uint32_t> by_content_;
  TextTrie raw_, normalized_;
  TextTrie before_normalization_;  // the contents of those in normalized_
  size_t unlisted_ = 0;            // how many were no pieces of the model
};

}  // namespace amphora::text
