// Models of whole words and their parts out of tokenizer.json.
#pragma once

#include <memory>

#include <simdjson.h>

#include "amphora/result.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

/// Read the section "model" of type "WordPiece" or "WordLevel"; its pieces go into `vocabulary`, which must
/// outlive the model.
Result<std::unique_ptr<Model>> read_word_piece(simdjson::ondemand::object model, Vocabulary& vocabulary);
Result<std::unique_ptr<Model>> read_word_level(simdjson::ondemand::object model, Vocabulary& vocabulary);

}  // namespace amphora::text
