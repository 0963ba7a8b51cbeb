// The fourth step: special tokens around the ids of a text.
#pragma once

#include <optional>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer/component.h"

namespace amphora::text {

/// The templates for a single text and for two. All supported processors come down to them: nothing else
/// that they do shows in the ids.
class PostProcessor {
 public:
  static Result<PostProcessor> build(Component& component);
  /// `ids` between its special tokens, or alone.
  std::vector<TokenId> apply(std::vector<TokenId> ids, bool add_special) const;
  EncodedPair apply_to_pair(const std::vector<TokenId>& first, const std::vector<TokenId>& second,
                            bool add_special) const;

 private:
  enum class Source : uint8_t { kSpecial, kFirst, kSecond };
  struct Piece {
    Source source;
    uint32_t type_id = 0;
    std::vector<TokenId> special = {};
  };
  static Result<std::vector<Piece>> read_pieces(Component& component, std::string_view key,
                                                const json::Value* tokens);
  static Result<PostProcessor> build_template(Component& component);
  static Result<PostProcessor> build_classifier(Component& component);
  static Result<PostProcessor> build_sequence(Component& component);
  std::vector<Piece> single_ = {{Source::kFirst}};
  std::vector<Piece> pair_ = {{Source::kFirst}, {Source::kSecond, 1}};
  bool is_template_ = false;
};

}  // namespace amphora::text
