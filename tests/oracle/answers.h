// What the programs of the differential runs write.
#pragma once

#include <string>
#include <vector>

#include "amphora/json.h"
#include "text/tokenizer.h"

namespace amphora {

inline json::Value error_line(const Error& error) {
  return json::Value::object({{"error", json::Value::string(error.place + ": " + error.message)}});
}

/// `[ids, decoded]` of a text.
inline Result<json::Value> encoded_line(const text::Tokenizer& tokenizer, const std::string& text,
                                        const text::EncodeOptions& options, bool skip_special) {
  AMPHORA_ASSIGN(const auto ids, tokenizer.encode(text, options));
  AMPHORA_ASSIGN(const std::string decoded, tokenizer.decode(ids, skip_special));
  std::vector<json::Value> numbers;
  for (const text::TokenId id : ids) numbers.push_back(json::Value::unsigned_integer(id));
  return json::Value::array({json::Value::array(std::move(numbers)), json::Value::string(decoded)});
}

}  // namespace amphora
