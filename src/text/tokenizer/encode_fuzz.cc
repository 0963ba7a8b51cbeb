// Any bytes as a text for one of the tests' small tokenizers, which have every component between them:
// encoding must end in ids or an error, those ids must decode, and what is decoded must be UTF-8.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/tokenizer/testing/component_tokenizers.h"
#include "unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  using namespace amphora::text;
  if (size < 2) return 0;
  static const auto tokenizers = testing::component_tokenizers();
  const Tokenizer& tokenizer = *tokenizers[data[0] % tokenizers.size()];
  const EncodeOptions options{.add_special = (data[1] & 1) != 0, .parse_special = (data[1] & 2) != 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto ids = tokenizer.encode(text, options);
  if (!ids) return 0;
  const auto decoded = tokenizer.decode(*ids);
  if (!decoded || !unicode::is_utf8(*decoded)) std::abort();
  return 0;
}
