// The first step: characters to characters.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer/component.h"
#include "unicode/normal_form.h"

namespace amphora::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Rewrites the text. `origin_bytes` is kept up to date (see Stretch).
  virtual Status normalize(std::string& text, size_t& origin_bytes) const = 0;
};

/// Puts the text into a normal form; `origin_bytes` as above.
void normalize_form(std::string& text, size_t& origin_bytes, unicode::NormalForm form);

/// The types are in the table kNormalizers.
Result<std::unique_ptr<Normalizer>> build_normalizer(Component& component);

}  // namespace amphora::text
