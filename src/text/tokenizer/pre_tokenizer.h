// The second step: a stretch of text to words.
#pragma once

#include <memory>

#include "text/tokenizer/component.h"
#include "text/tokenizer/span.h"

namespace amphora::text {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Splits each word of the stretch further, or rewrites it.
  virtual Status split(Stretch& stretch) const = 0;
};

/// How Metaspace treats the front of a text; its decoder needs it too.
enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };
struct MetaspaceOptions {
  char32_t replacement;
  PrependScheme prepend;
  bool split;
};
Result<MetaspaceOptions> read_metaspace(Component& component);

/// The types are in the table kPreTokenizers.
Result<std::unique_ptr<PreTokenizer>> build_pre_tokenizer(Component& component);

}  // namespace amphora::text
