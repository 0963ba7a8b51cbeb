// tokenizer.json to a tokenizer's parts.
#pragma once

#include <memory>
#include <string_view>

#include "amphora/result.h"
#include "text/tokenizer.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/post_processor.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<Model> model;
  PostProcessor post_processor;
  std::vector<std::unique_ptr<Decoder>> decoders;
};

/// Reads the whole file. The model's tables are read straight from the text, since they are large; the rest
/// is small and goes through json::Value, which refuses duplicate keys.
Result<std::unique_ptr<Tokenizer::Impl>> load_tokenizer(std::string_view json);

}  // namespace amphora::text
