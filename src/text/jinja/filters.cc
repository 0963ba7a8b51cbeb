// The filter table: see filters.h.
#include "text/jinja/filters.h"

#include <algorithm>

#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

// Filters of jinja2 that no chat template has been seen to use: known, so that a template which could reach
// one still loads.
template <size_t kIndex>
Result<Value> refuse(Runtime& runtime, const Value& self, const CallArguments& arguments);

constexpr std::string_view kUnsupported[] = {"pprint", "random",   "striptags",
                                             "urlize", "wordwrap", "xmlattr"};
constexpr FunctionEntry kRefusals[] = {{kUnsupported[0], refuse<0>}, {kUnsupported[1], refuse<1>},
                                       {kUnsupported[2], refuse<2>}, {kUnsupported[3], refuse<3>},
                                       {kUnsupported[4], refuse<4>}, {kUnsupported[5], refuse<5>}};

template <size_t kIndex>
Result<Value> refuse(Runtime& /*runtime*/, const Value& /*self*/, const CallArguments& /*arguments*/) {
  return unsupported_error("filter '" + std::string(kUnsupported[kIndex]) + "' is not supported");
}

}  // namespace

NativeFunction find_filter(std::string_view name) {
  for (const auto& table : {text_filters(), number_filters(), sequence_filters(), selection_filters(),
                            std::span<const FunctionEntry>(kRefusals)}) {
    const auto it = std::ranges::find(table, name, &FunctionEntry::first);
    if (it != table.end()) return it->second;
  }
  return nullptr;
}

}  // namespace amphora::text::jinja
