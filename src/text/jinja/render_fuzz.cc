// Any bytes as a template and its variables, a JSON object behind the first zero byte: rendering must end,
// within the limits, in a text or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat.h"

namespace {

using namespace amphora;

constexpr std::string_view kVariables = R"({
    "messages": [{"role": "user", "content": "Hi <b> é"}, {"role": "assistant", "content": "x", "tool_calls": [{"n": 1}]}],
    "tools": null, "add_generation_prompt": true, "s": "  Hello wORLD \n", "l": [3, 1, 2, 3], "d": {"a": {"c": 1}, "b": null},
    "x": 1, "f": 2.5, "big": 123456789012345678901234567890})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const json::Value usual = json::parse(kVariables).value();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const auto given = end == std::string_view::npos ? json::parse("") : json::parse(input.substr(end + 1));
  if (const auto chat_template = text::ChatTemplate::parse(input.substr(0, end)))
    (void)(*chat_template)->render_variables(given && given->is_object() ? *given : usual, 0);
  return 0;
}
