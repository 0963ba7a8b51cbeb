// Arguments of a call: see arguments.h.
#include "text/jinja/arguments.h"

#include <algorithm>
#include <limits>

#include "text/jinja/errors.h"
#include "text/jinja/number.h"
#include "text/jinja/operators.h"

namespace amphora::text::jinja {

const Value* BoundArguments::find_present(size_t index) const {
  const Value* value = values_[index];
  return value == nullptr || value->is_none() ? nullptr : value;
}

bool BoundArguments::flag(size_t index, bool otherwise) const {
  return values_[index] == nullptr ? otherwise : is_true(*values_[index]);
}

Result<BoundArguments> bind_arguments(std::string_view function, const CallArguments& arguments,
                                      std::initializer_list<std::string_view> parameters, size_t required) {
  const std::string name(function);
  if (arguments.positional.size() > parameters.size())
    return render_error(name + "() takes at most " + std::to_string(parameters.size()) + " arguments (" +
                        std::to_string(arguments.positional.size()) + " given)");
  std::vector<const Value*> values(parameters.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) values[i] = &arguments.positional[i];
  for (const auto& [keyword, value] : arguments.named) {
    const auto* it = std::ranges::find(parameters, std::string_view(keyword));
    if (it == parameters.end())
      return render_error(name + "() got an unexpected keyword argument '" + keyword + "'");
    const Value*& slot = values[static_cast<size_t>(it - parameters.begin())];
    if (slot != nullptr) return render_error(name + "() got multiple values for argument '" + keyword + "'");
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i)
    if (values[i] == nullptr)
      return render_error(name + "() missing 1 required positional argument: '" +
                          std::string(parameters.begin()[i]) + "'");
  return BoundArguments(std::move(values));
}

Status refuse_keywords(std::string_view function, const CallArguments& arguments) {
  if (arguments.named.empty()) return {};
  return render_error(std::string(function) + "() takes no keyword arguments");
}

Result<BoundArguments> bind_positional(std::string_view function, const CallArguments& arguments, size_t most,
                                       size_t required) {
  AMPHORA_TRY(refuse_keywords(function, arguments));
  const size_t count = arguments.positional.size();
  if (count < required || count > most)
    return render_error(std::string(function) + "() takes " + std::to_string(required) + " to " +
                        std::to_string(most) + " arguments (" + std::to_string(count) + " given)");
  std::vector<const Value*> values(most, nullptr);
  for (size_t i = 0; i < count; ++i) values[i] = &arguments.positional[i];
  return BoundArguments(std::move(values));
}

Result<std::string_view> expect_string(const Value& value, std::string_view what) {
  if (value.is_string()) return value.text();
  if (value.is_undefined()) return undefined_error(value);
  return render_error(std::string(what) + " must be str, not " + type_name(value));
}

Result<int64_t> expect_integer(const Value& value) {
  if (value.is_integral()) return value.as_integer();
  if (value.is(Kind::kBigInteger)) return integer_overflow();
  if (value.is_undefined()) return undefined_error(value);
  return render_error("'" + type_name(value) + "' object cannot be interpreted as an integer");
}

Result<int64_t> expect_clamped_integer(const Value& value) {
  if (!value.is(Kind::kBigInteger)) return expect_integer(value);
  return compare_numbers(value, Value::integer(0)) < 0 ? std::numeric_limits<int64_t>::min()
                                                       : std::numeric_limits<int64_t>::max();
}

Result<bool> expect_flag(const Value* value) {
  if (value == nullptr) return false;
  AMPHORA_ASSIGN(const int64_t number, expect_integer(*value));
  if (number != static_cast<int32_t>(number)) return render_error("Python int too large to convert to C int");
  return number != 0;
}

}  // namespace amphora::text::jinja
