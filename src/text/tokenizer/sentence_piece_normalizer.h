// The normalizer "SentencePiece".
#pragma once

#include "text/tokenizer/normalizer.h"

namespace amphora::text {

Result<std::unique_ptr<Normalizer>> build_sentence_piece_normalizer(Component& component);

}  // namespace amphora::text
