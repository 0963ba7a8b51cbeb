// WordPiece and whole words.
#include "text/tokenizer/word_piece.h"

#include <fmt/format.h>

#include "unicode/utf8.h"

namespace amphora::text {
namespace {

Status put_down_unknown(const Vocabulary& vocabulary, std::string_view unk_token, std::vector<TokenId>& ids) {
  const auto id = vocabulary.find(unk_token);
  if (!id)
    return fail(Fault::kCorrupt,
                fmt::format("tokenizer: the unknown token '{}' is not in the vocabulary", unk_token));
  ids.push_back(*id);
  return {};
}

}  // namespace

WordPiece::WordPiece(const Vocabulary& vocabulary, WordPieceOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  std::vector<PieceTrie::Entry> first, continuing;
  const std::string_view prefix = options_.continuing_subword_prefix;
  for (TokenId id = 0; id < vocabulary_.id_limit(); ++id) {
    const std::string* piece = vocabulary_.find_piece(id);
    if (piece == nullptr) continue;
    first.push_back({*piece, id});
    if (piece->starts_with(prefix))
      continuing.push_back({std::string_view(*piece).substr(prefix.size()), id});
  }
  first_ = PieceTrie(std::move(first));
  continuing_ = PieceTrie(std::move(continuing));
}

bool WordPiece::is_too_long(std::string_view word) const {
  uint64_t characters = 0;
  for (const char byte : word) characters += (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
  return characters > options_.max_characters;
}

Status WordPiece::tokenize(std::string_view word, Scratch&, std::vector<TokenId>& ids) const {
  if (is_too_long(word)) return put_down_unknown(vocabulary_, options_.unk_token, ids);
  const size_t first_id = ids.size();
  for (size_t begin = 0; begin < word.size();) {
    size_t longest = 0;
    TokenId id = 0;
    (begin == 0 ? first_ : continuing_).visit_prefixes(word.substr(begin), [&](TokenId found, size_t bytes) {
      longest = bytes;
      id = found;
    });
    if (longest == 0) {  // one part that is no piece makes the whole word unknown
      ids.resize(first_id);
      return put_down_unknown(vocabulary_, options_.unk_token, ids);
    }
    ids.push_back(id);
    begin += longest;
  }
  return {};
}

Status WordLevel::tokenize(std::string_view word, Scratch&, std::vector<TokenId>& ids) const {
  const auto id = vocabulary_.find(word);
  if (!id) return put_down_unknown(vocabulary_, unk_token_, ids);
  ids.push_back(*id);
  return {};
}

}  // namespace amphora::text
