// The fourth step: special tokens around the ids of a text.
#pragma once

#include <optional>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer/component.h"

namespace amphora::text {

/// The template for a single text. All supported processors come down to it: nothing else that they do
/// shows in the ids.
class PostProcessor {
 public:
  static Result<PostProcessor> build(Component& component);
  /// `ids` between its special tokens, or alone.
  std::vector<TokenId> apply(std::vector<TokenId> ids, bool add_special) const;

 private:
  /// Ids to put down, or none for the text.
  using Piece = std::optional<std::vector<TokenId>>;
  static Result<PostProcessor> build_template(Component& component);
  static Result<PostProcessor> build_classifier(Component& component);
  static Result<PostProcessor> build_sequence(Component& component);
  std::vector<Piece> pieces_ = {std::nullopt};
  bool is_template_ = false;
};

}  // namespace amphora::text
