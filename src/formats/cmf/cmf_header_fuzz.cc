// Any bytes as header JSON: refused, or a value that is the same after it has been written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "amphora/json.h"
#include "formats/cmf/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const amphora::Bytes bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto header = amphora::cmf::decode_header(bytes, amphora::cmf::kEnvelopeBytes);
  if (!header) return 0;
  amphora::cmf::dimensions_of(*header);
  const std::string text = amphora::json::dump(*header);
  const auto again = amphora::cmf::decode_header(amphora::as_bytes(text), amphora::cmf::kEnvelopeBytes);
  if (!again || amphora::json::dump(*again) != text) std::abort();
  return 0;
}
