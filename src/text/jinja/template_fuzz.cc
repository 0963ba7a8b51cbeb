// Any bytes as a template: parsing must end, within the limits, in a template or in an error that has a
// place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/chat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed =
      amphora::text::ChatTemplate::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed && parsed.error().place.empty()) std::abort();
  return 0;
}
