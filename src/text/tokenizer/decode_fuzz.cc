// Any bytes as token ids for one of the tests' small tokenizers: decoding must end in UTF-8 or an error, and
// a stream of the ids must give the same, in pieces that are UTF-8 each.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "text/tokenizer/testing/component_tokenizers.h"
#include "unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  using namespace amphora;
  using namespace amphora::text;
  if (size < 2) return 0;
  static const auto tokenizers = testing::component_tokenizers();
  const auto& tokenizer = tokenizers[data[0] % tokenizers.size()];
  const bool skip_special = (data[1] & 1) != 0;
  std::vector<TokenId> ids;  // an unknown one now and then
  for (size_t i = 2; i + 1 < size; i += 2)
    ids.push_back((data[i] | TokenId{data[i + 1]} << 8) % (tokenizer->id_limit() + 1));

  const auto whole = tokenizer->decode(ids, skip_special);
  if (whole && !unicode::is_utf8(*whole)) std::abort();
  StreamDecoder stream(tokenizer, skip_special);
  std::string parts;
  for (const TokenId id : ids) {
    const auto part = stream.push(id);
    if (part.has_value() != (tokenizer->find_piece(id) != nullptr)) std::abort();
    if (!part) return 0;
    if (!unicode::is_utf8(*part)) std::abort();
    parts += *part;
  }
  const auto rest = stream.finish();
  if (!rest || !whole || parts + *rest != *whole) std::abort();
  return 0;
}
