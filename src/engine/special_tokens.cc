// The special tokens of a vocabulary: see special_tokens.h.
#include "engine/special_tokens.h"

#include <algorithm>
#include <functional>

namespace amphora::engine {
namespace {

std::vector<std::string_view> special_pieces(const text::Tokenizer& tokenizer) {
  std::vector<std::string_view> pieces;
  for (text::TokenId id = 0; id < tokenizer.id_limit(); ++id) {
    const std::string* piece = tokenizer.is_special(id) ? tokenizer.find_piece(id) : nullptr;
    if (piece && !piece->empty()) pieces.emplace_back(*piece);
  }
  return pieces;
}

}  // namespace

SpecialTokens::SpecialTokens(const text::Tokenizer& tokenizer) : SpecialTokens(special_pieces(tokenizer)) {}

SpecialTokens::SpecialTokens(std::vector<std::string_view> tokens) : tokens_(tokens.begin(), tokens.end()) {
  for (const std::string_view token : tokens_) {
    lengths_.push_back(token.size());
    first_bytes_.set(static_cast<unsigned char>(token.front()));
  }
  std::ranges::sort(lengths_, std::greater{});
  const auto [end, last] = std::ranges::unique(lengths_);
  lengths_.erase(end, last);
}

std::string_view SpecialTokens::find_at(std::string_view text, size_t at) const {
  if (!first_bytes_.test(static_cast<unsigned char>(text[at]))) return {};
  for (const size_t length : lengths_) {
    if (length > text.size() - at) continue;
    const auto found = tokens_.find(text.substr(at, length));
    if (found != tokens_.end()) return *found;
  }
  return {};
}

}  // namespace amphora::engine
