// map, select, reject and their kin, which apply filters and tests to each item: see filters.h.
//
// In Jinja these are generators: nothing happens, and nothing fails, before someone walks them. Ours are
// computed at once, which nobody can tell because filters and tests change nothing; errors wait for the walk.
#include <algorithm>

#include "text/jinja/attribute_path.h"
#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/tests.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

Result<NativeFunction> function_named(const Value& name, NativeFunction (*find)(std::string_view),
                                      const char* what) {
  const NativeFunction function = name.is_string() ? find(name.text()) : nullptr;
  if (function != nullptr) return function;
  return render_error(std::string("No ") + what + " named '" +
                      (name.is_string() ? std::string(name.text()) : type_name(name)) + "'.");
}

CallArguments without_first(Arguments arguments, size_t count) {
  CallArguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<ptrdiff_t>(count));
  return rest;
}

// Runs `visit(item, kept)` over the items; an error becomes the generator's end.
template <class Visit>
Value generate(Runtime& runtime, const Value& source, Visit visit) {
  std::vector<Value> kept;
  if (!is_true(source)) return runtime.generator({});
  auto items = iterate(runtime, source);
  if (!items) return runtime.generator({}, std::move(items).error());
  for (const Value& item : *items) {
    runtime.budget().spend(1);
    Status status = runtime.budget().status();
    if (status) status = visit(item, kept);
    if (!status) return runtime.generator(std::move(kept), std::move(status).error());
  }
  return runtime.generator(std::move(kept));
}

// Nothing that is wrong with a filter's arguments shows on an empty sequence.
Value failed(Runtime& runtime, const Value& source, std::unexpected<Error> error) {
  if (!is_true(source)) return runtime.generator({});
  return runtime.generator({}, std::move(error).error());
}

Result<Value> map_attribute(Runtime& runtime, const Value& self, Arguments arguments) {
  const Value *attribute = nullptr, *otherwise = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") {
      attribute = &value;
    } else if (name == "default") {
      otherwise = &value;
    } else {
      return failed(runtime, self, render_error("Unexpected keyword argument '" + name + "'"));
    }
  }
  AMPHORA_ASSIGN(const AttributePath path, AttributePath::from(runtime, attribute));
  return generate(runtime, self, [&](const Value& item, std::vector<Value>& kept) -> Status {
    AMPHORA_ASSIGN(Value found, path.follow(runtime, item, otherwise));
    kept.push_back(std::move(found));
    return {};
  });
}

Result<Value> filter_map(Runtime& runtime, const Value& self, Arguments arguments) {
  const bool has_attribute =
      std::ranges::find(arguments.named, "attribute", &NamedValue::first) != arguments.named.end();
  if (arguments.positional.empty() && has_attribute) return map_attribute(runtime, self, arguments);
  if (arguments.positional.empty())
    return failed(runtime, self, render_error("map requires a filter argument"));
  const auto found = function_named(arguments.positional[0], find_filter, "filter");
  const CallArguments rest = without_first(arguments, 1);
  return generate(runtime, self, [&](const Value& item, std::vector<Value>& kept) -> Status {
    AMPHORA_ASSIGN(const NativeFunction filter, found);  // an unknown name harms no empty sequence
    AMPHORA_ASSIGN(Value mapped, filter(runtime, item, rest));
    kept.push_back(std::move(mapped));
    return {};
  });
}

template <bool kKeep, bool kByAttribute>
Result<Value> filter_select(Runtime& runtime, const Value& self, Arguments arguments) {
  AttributePath path;
  if (kByAttribute) {
    if (arguments.positional.empty())
      return failed(runtime, self, render_error("Missing parameter for attribute name"));
    AMPHORA_ASSIGN(path, AttributePath::from(runtime, &arguments.positional[0]));
  }
  constexpr size_t kTestIndex = kByAttribute ? 1 : 0;
  Result<NativeFunction> found = nullptr;  // without a test: whether the value is true
  CallArguments rest;
  if (arguments.positional.size() > kTestIndex) {
    found = function_named(arguments.positional[kTestIndex], find_test, "test");
    rest = without_first(arguments, kTestIndex + 1);
  }
  return generate(runtime, self, [&](const Value& item, std::vector<Value>& kept) -> Status {
    AMPHORA_ASSIGN(const NativeFunction test, found);
    AMPHORA_ASSIGN(Value looked_at, path.follow(runtime, item));
    if (test != nullptr) {
      AMPHORA_ASSIGN(looked_at, test(runtime, looked_at, rest));
    }
    if (is_true(looked_at) == kKeep) kept.push_back(item);
    return {};
  });
}

}  // namespace

std::span<const FunctionEntry> selection_filters() {
  static constexpr FunctionEntry kFilters[] = {{"map", filter_map},
                                               {"reject", filter_select<false, false>},
                                               {"rejectattr", filter_select<false, true>},
                                               {"select", filter_select<true, false>},
                                               {"selectattr", filter_select<true, true>}};
  return kFilters;
}

}  // namespace amphora::text::jinja
