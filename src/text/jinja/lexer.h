// Template source to tokens, with trim_blocks and lstrip_blocks as Hugging Face sets them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/position.h"

namespace amphora::text::jinja {

enum class TokenType : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;  ///< of a string: unescaped; of a number: without underscores
  Position at;
};

/// All tokens of a template, white space control applied, comments gone; the last is kEnd.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace amphora::text::jinja
