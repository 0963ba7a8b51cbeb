// Normalizers that look at one character or one cluster at a time.
#pragma once

#include "text/tokenizer/normalizer.h"

namespace amphora::text {

Result<std::unique_ptr<Normalizer>> build_bert_normalizer(Component& component);
Result<std::unique_ptr<Normalizer>> build_strip_accents(Component& component);
Result<std::unique_ptr<Normalizer>> build_nmt(Component& component);
Result<std::unique_ptr<Normalizer>> build_byte_level_normalizer(Component& component);
Result<std::unique_ptr<Normalizer>> build_precompiled(Component& component);

}  // namespace amphora::text
