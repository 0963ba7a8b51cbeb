// What one rendering shares between its functions: see runtime.h.
#include "text/jinja/runtime.h"

#include <chrono>

namespace amphora::text::jinja {

int64_t Runtime::now_unix_seconds() const {
  if (now_) return *now_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

Value Runtime::part_of(const Value& string, std::string_view part) {
  const auto& whole = string.as<StringObject>();
  QuotedRanges ranges;
  if (!part.empty() && !whole.quoted.empty()) {
    const auto start = static_cast<size_t>(part.data() - whole.text.data());
    ranges = ranges_of_part(whole.quoted, start, start + part.size());
  }
  return make_string(&budget_, std::string(part), whole.markup, std::move(ranges));
}

Value Runtime::new_namespace(std::vector<NamedValue> attributes) {
  auto object = std::make_shared<NamespaceObject>(&budget_);
  for (auto& [name, value] : attributes) object->set(name, std::move(value));
  namespaces_.push_back(object);
  return Value::with_object(Kind::kNamespace, std::move(object));
}

}  // namespace amphora::text::jinja
