// A tokenizer read from the bytes of a Hugging Face tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/quoted_text.h"

namespace amphora::text {

using TokenId = uint32_t;

struct EncodeOptions {
  bool add_special = true;    ///< apply the post-processor (BOS, EOS …)
  bool parse_special = true;  ///< special tokens in the text count as such; otherwise they are ordinary text
  /// Parts of the text (as QuotedRanges has them) that can hold no token of `markers`: one that begins or
  /// ends in such a part is ordinary text.
  std::span<const QuotedRange> quoted = {};
  std::span<const TokenId> markers = {};  ///< ids of added tokens, in ascending order
};

struct EncodedPair {
  std::vector<TokenId> ids;
  std::vector<uint32_t> type_ids;  ///< one for each id: which text it belongs to, as the post-processor says
};

/// Immutable after loading; all methods can be called from several threads at once.
class Tokenizer {
 public:
  /// Refuses what it does not know by name (kUnsupported) and what is malformed (kCorrupt, with the JSON
  /// path).
  static Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json);
  ~Tokenizer();

  /// Ids of a text. The text should be UTF-8; ill-formed bytes are replaced by U+FFFD as Python's "replace"
  /// handler does.
  Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Ids of two texts that a model reads as a pair.
  Result<EncodedPair> encode_pair(std::string_view first, std::string_view second,
                                  const EncodeOptions& options = {}) const;
  /// Text of a whole sequence. An unknown id is the caller's fault (kUsage).
  Result<std::string> decode(std::span<const TokenId> ids, bool skip_special = false) const;
  /// The token as it stands in the vocabulary; null if the id is unknown.
  const std::string* find_piece(TokenId id) const;
  std::optional<TokenId> find_id(std::string_view piece) const;
  bool is_special(TokenId id) const;
  /// Ids of all added tokens, special or not, in ascending order.
  std::vector<TokenId> added_ids() const;
  /// One more than the largest id.
  uint32_t id_limit() const;

  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<const Impl> impl_;
};

/// Turns a stream of ids into text that never splits a character: pieces come out as soon as they can no
/// longer change, and all pieces together equal Tokenizer::decode of all ids.
class StreamDecoder {
 public:
  StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();
  /// The text that is now certain; often empty.
  Result<std::string> push(TokenId id);
  /// What is left at the end (an incomplete character becomes U+FFFD, as in decode).
  Result<std::string> finish();

 private:
  struct State;
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::unique_ptr<State> state_;
};

}  // namespace amphora::text
