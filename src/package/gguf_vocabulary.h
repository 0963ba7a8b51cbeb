// The vocabulary arrays of a GGUF file, checked against one another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amphora/result.h"
#include "package/gguf_metadata.h"

namespace amphora::package {

/// ggml's token types.
enum class TokenType : uint8_t { kUndefined, kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct Vocabulary {
  std::vector<std::string_view> tokens;  ///< by id; each once
  std::vector<TokenType> types;          ///< one per token
  std::vector<float> scores;             ///< one per token, or empty
  std::unordered_map<std::string_view, uint32_t> ids;

  std::optional<uint32_t> find(std::string_view token) const;
};

/// Reads tokens, types and scores: arrays of the right element type and of one length, tokens of well-formed
/// UTF-8, no token twice. Byte tokens are spelled <0xHH>, as everything that reads them expects.
Result<Vocabulary> read_vocabulary(MetadataReader& metadata);

/// The byte of a token spelled <0xHH> (two upper-case digits), or empty.
std::optional<uint8_t> byte_of_token(std::string_view token);

}  // namespace amphora::package
