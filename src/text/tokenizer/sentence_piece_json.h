// A SentencePiece model out of tokenizer.json.
#pragma once

#include <memory>

#include <simdjson.h>

#include "amphora/result.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

/// Reads the section "model" of type "SentencePiece" (docs/formats/tokenizer.md); its pieces go into
/// `vocabulary`, which must outlive the model.
Result<std::unique_ptr<Model>> read_sentence_piece(simdjson::ondemand::object model, Vocabulary& vocabulary);

}  // namespace amphora::text
