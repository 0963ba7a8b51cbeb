// Paths of attributes: see attribute_path.h.
#include "text/jinja/attribute_path.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/code_points.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_search.h"

namespace amphora::text::jinja {
namespace {

Value step_from(Runtime& runtime, std::string_view text) {
  int64_t index = 0;
  const bool is_digits =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (is_digits && std::from_chars(text.data(), text.data() + text.size(), index).ec == std::errc{})
    return Value::integer(index);
  return runtime.string(std::string(text));
}

}  // namespace

Result<AttributePath> AttributePath::from(Runtime& runtime, const Value* attribute) {
  AttributePath path;
  if (attribute == nullptr || attribute->is_none()) return path;
  if (attribute->is_string()) {
    for (const std::string_view part : split_at(attribute->text(), ".", -1))
      path.steps_.push_back(step_from(runtime, part));
  } else {
    path.steps_.push_back(*attribute);
  }
  AMPHORA_TRY(runtime.budget().status());
  return path;
}

Result<std::vector<AttributePath>> AttributePath::several_from(Runtime& runtime, const Value* attribute) {
  std::vector<AttributePath> paths;
  if (attribute == nullptr || !attribute->is_string()) {
    AMPHORA_ASSIGN(AttributePath path, from(runtime, attribute));
    paths.push_back(std::move(path));
    return paths;
  }
  for (const std::string_view part : split_at(attribute->text(), ",", -1)) {
    const Value text = runtime.string(std::string(part));
    AMPHORA_ASSIGN(AttributePath path, from(runtime, &text));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<Value> AttributePath::follow(Runtime& runtime, Value item, const Value* otherwise) const {
  for (const Value& step : steps_) {
    runtime.budget().spend(1);
    AMPHORA_ASSIGN(item, get_item(runtime, item, step));
    if (item.is_undefined() && otherwise != nullptr && !otherwise->is_none()) item = *otherwise;
  }
  return item;
}

Result<Value> sort_key(Runtime& runtime, const Value& value, bool case_sensitive) {
  AMPHORA_TRY(runtime.budget().status());
  if (case_sensitive || !value.is_string()) return value;
  AMPHORA_TRY(pay_for_case(runtime.budget(), value.text()));
  return same_markup(runtime, to_lower(value.text()), value);
}

}  // namespace amphora::text::jinja
