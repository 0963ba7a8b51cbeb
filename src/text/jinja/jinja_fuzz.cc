// Any bytes as a template: parsing and rendering must end, within the limits, in a text or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat.h"

namespace {

amphora::json::Value context() {
  const auto value = amphora::json::parse(R"({
    "messages": [{"role": "user", "content": "Hi <b> é"}, {"role": "assistant", "content": "x", "tool_calls": [{"n": 1}]}],
    "tools": null, "add_generation_prompt": true, "s": "  Hello wORLD \n", "l": [3, 1, 2, 3], "d": {"a": {"c": 1}, "b": null},
    "x": 1, "f": 2.5, "big": 123456789012345678901234567890})");
  return value ? *value : amphora::json::Value::object();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const amphora::json::Value variables = context();
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (const auto chat_template = amphora::text::ChatTemplate::parse(source))
    (void)(*chat_template)->render_variables(variables, 0);
  return 0;
}
