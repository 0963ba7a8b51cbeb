// Any bytes as a tokenizer.json and a text: the first zero byte parts them. Loading, encoding and decoding
// must end in a result or an error, and a stream must decode as the whole does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const auto tokenizer = Tokenizer::from_json(input.substr(0, end));
  if (!tokenizer) return 0;
  const std::string_view text = end == std::string_view::npos ? "Hi \u00e9\u0301 <s>" : input.substr(end + 1);
  auto ids = (*tokenizer)->encode(text);
  if (!ids) return 0;
  for (TokenId id = 0; id < 4; ++id) ids->push_back(id);
  const auto whole = (*tokenizer)->decode(*ids);
  StreamDecoder stream(*tokenizer, false);
  std::string parts;
  for (const TokenId id : *ids) {
    const auto part = stream.push(id);
    if (!part) return 0;
    parts += *part;
  }
  const auto rest = stream.finish();
  if (rest && whole && parts + *rest != *whole) std::abort();
  return 0;
}
