// What one rendering shares between its functions: see runtime.h.
#include "text/jinja/runtime.h"

#include <chrono>

namespace amphora::text::jinja {

int64_t Runtime::now_unix_seconds() const {
  if (now_) return *now_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

Value Runtime::new_namespace(std::vector<NamedValue> attributes) {
  auto object = std::make_shared<NamespaceObject>(&budget_);
  for (auto& [name, value] : attributes) object->set(name, std::move(value));
  namespaces_.push_back(object);
  return Value::with_object(Kind::kNamespace, std::move(object));
}

}  // namespace amphora::text::jinja
