// The decoder "SentencePiece".
#pragma once

#include "text/tokenizer/decoder.h"

namespace amphora::text {

Result<std::unique_ptr<Decoder>> build_sentence_piece_decoder(Component& component);

}  // namespace amphora::text
