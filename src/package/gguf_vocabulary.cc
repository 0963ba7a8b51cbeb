// Reads and checks the arrays tokenizer.ggml.tokens, .token_type and .scores.
#include "package/gguf_vocabulary.h"

#include <fmt/format.h>

#include <cmath>

#include "unicode/utf8.h"

namespace amphora::package {
namespace {

constexpr int64_t kLastTokenType = static_cast<int64_t>(TokenType::kByte);

std::optional<uint8_t> upper_hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

/// Rejects an array whose length is not that of the tokens.
bool has_one_per_token(MetadataReader& metadata, std::string_view key, const gguf::Array& array,
                       size_t tokens) {
  if (array.count == tokens) return true;
  metadata.reject(key, fmt::format("has {} elements, wanted {}: one for each token", array.count, tokens));
  return false;
}

void read_types(MetadataReader& metadata, Vocabulary& vocabulary) {
  vocabulary.types.assign(vocabulary.tokens.size(), TokenType::kNormal);
  const gguf::Array* array = metadata.find_array("token_type", gguf::ValueType::kInt32);
  if (array == nullptr || !has_one_per_token(metadata, "token_type", *array, vocabulary.tokens.size()))
    return;
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const int64_t type = *array->integer_at(id);
    if (type < 0 || type > kLastTokenType)
      return metadata.reject("token_type", fmt::format("token {} has the unknown type {}", id, type));
    vocabulary.types[id] = static_cast<TokenType>(type);
    if (vocabulary.types[id] == TokenType::kByte && !byte_of_token(vocabulary.tokens[id]))
      return metadata.reject("tokens",
                             fmt::format("token {} is a byte, but it is spelled \"{}\" instead of <0xHH>", id,
                                         vocabulary.tokens[id].substr(0, 40)));
  }
}

void read_scores(MetadataReader& metadata, Vocabulary& vocabulary) {
  const gguf::Array* array = metadata.find_array("scores", gguf::ValueType::kFloat32);
  if (array == nullptr || !has_one_per_token(metadata, "scores", *array, vocabulary.tokens.size())) return;
  vocabulary.scores.resize(vocabulary.tokens.size());
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    vocabulary.scores[id] = static_cast<float>(array->float_at(id));
    if (std::isnan(vocabulary.scores[id]))
      return metadata.reject("scores", fmt::format("token {} has no number for a score", id));
  }
}

}  // namespace

std::optional<uint32_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

Result<Vocabulary> read_vocabulary(MetadataReader& metadata) {
  Vocabulary vocabulary;
  const gguf::Array* tokens = metadata.read_array("tokens", gguf::ValueType::kString);
  AMPHORA_TRY(metadata.status());
  vocabulary.tokens = tokens->strings;
  vocabulary.ids.reserve(vocabulary.tokens.size());
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view token = vocabulary.tokens[id];
    if (token.empty() || !unicode::is_utf8(token)) {
      metadata.reject("tokens", fmt::format("token {} is {}", id, token.empty() ? "empty" : "not UTF-8"));
      break;
    }
    if (const auto [first, added] = vocabulary.ids.emplace(token, id); !added) {
      metadata.reject(
          "tokens", fmt::format("tokens {} and {} are both \"{}\"", first->second, id, token.substr(0, 40)));
      break;
    }
  }
  if (vocabulary.tokens.empty()) metadata.reject("tokens", "there are none");
  AMPHORA_TRY(metadata.status());
  read_types(metadata, vocabulary);
  read_scores(metadata, vocabulary);
  AMPHORA_TRY(metadata.status());
  return vocabulary;
}

std::optional<uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto high = upper_hex_digit(token[3]);
  const auto low = upper_hex_digit(token[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

}  // namespace amphora::package
