// Functions that every template can call: see globals.h.
#include "text/jinja/globals.h"

#include <algorithm>

#include "text/jinja/arguments.h"
#include "text/jinja/errors.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"
#include "text/jinja/time_text.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

Result<Value> make_range(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_TRY(refuse_keywords("range", arguments));
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3) return render_error("range expected 1 to 3 arguments");
  std::vector<int64_t> numbers;
  for (const Value& value : given) {
    AMPHORA_ASSIGN(const int64_t number, expect_integer(value));
    numbers.push_back(number);
  }
  const int64_t start = numbers.size() > 1 ? numbers[0] : 0;
  const int64_t stop = numbers.size() > 1 ? numbers[1] : numbers[0];
  const int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) return render_error("range() arg 3 must not be zero");
  auto range = std::make_shared<RangeObject>(&runtime.budget(), start, stop, step);
  if (range->size() > kMaxRangeItems)
    return limit_error("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                       std::to_string(kMaxRangeItems) + ").");
  return Value::with_object(Kind::kRange, std::move(range));
}

// What dict(…) and namespace(…) are made of: a mapping or pairs, then keyword arguments.
Result<std::vector<DictObject::Entry>> collect_entries(Runtime& runtime, std::string_view function,
                                                       Arguments arguments) {
  std::vector<DictObject::Entry> entries;
  if (arguments.positional.size() > 1)
    return render_error(std::string(function) + " expected at most 1 argument, got " +
                        std::to_string(arguments.positional.size()));
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      entries = source.dict().entries;
    } else if (source.is_undefined()) {
      return undefined_error(source);
    } else {
      AMPHORA_ASSIGN(const std::vector<Value> pairs, iterate(runtime, source));
      if (!runtime.budget().allows(pairs.size() * 3 * sizeof(DictObject::Entry)))
        return runtime.budget().error();
      for (const Value& pair : pairs) {
        AMPHORA_ASSIGN(const std::vector<Value> parts, iterate(runtime, pair));
        if (parts.size() != 2) return render_error("dictionary update sequence element has the wrong length");
        AMPHORA_TRY(check_hashable(runtime, parts[0]));
        entries.emplace_back(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) entries.emplace_back(runtime.string(name), value);
  return entries;
}

Result<Value> make_dict_from(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_ASSIGN(auto entries, collect_entries(runtime, "dict", arguments));
  return runtime.dict(std::move(entries));
}

Result<Value> make_namespace(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_ASSIGN(const auto entries, collect_entries(runtime, "namespace", arguments));
  std::vector<NamedValue> attributes;
  for (const auto& [key, value] : entries) {
    AMPHORA_ASSIGN(const std::string_view name, expect_string(key, "namespace attribute"));
    AMPHORA_TRY(check_namespace_attribute(name));
    attributes.emplace_back(name, value);
  }
  return runtime.new_namespace(std::move(attributes));
}

Result<Value> make_cycler(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_TRY(refuse_keywords("cycler", arguments));
  if (arguments.positional.empty()) return render_error("at least one item has to be provided");
  return Value::with_object(Kind::kCycler,
                            std::make_shared<CyclerObject>(&runtime.budget(), arguments.positional));
}

Result<Value> make_joiner(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("joiner", arguments, {"sep"}));
  Value separator = bound.find(0) == nullptr ? runtime.string(", ") : *bound.find(0);
  return Value::with_object(Kind::kJoiner,
                            std::make_shared<JoinerObject>(&runtime.budget(), std::move(separator)));
}

Result<Value> raise_exception(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("raise_exception", arguments, {"message"}, 1));
  AMPHORA_ASSIGN(std::string message, to_str(runtime.budget(), *bound.find(0)));
  return raised_error(std::move(message));
}

Result<Value> strftime_now(Runtime& runtime, const Value& /*self*/, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_arguments("strftime_now", arguments, {"format"}, 1));
  AMPHORA_ASSIGN(const std::string_view format, expect_string(*bound.find(0), "strftime() argument 1"));
  AMPHORA_ASSIGN(std::string text, format_time(runtime.budget(), runtime.now_unix_seconds(), format));
  return runtime.string(std::move(text));
}

Result<Value> lipsum(Runtime& /*runtime*/, const Value& /*self*/, Arguments /*arguments*/) {
  return unsupported_error("lipsum() is not supported: its text is random");
}

constexpr FunctionEntry kGlobals[] = {{"cycler", make_cycler},       {"dict", make_dict_from},
                                      {"joiner", make_joiner},       {"lipsum", lipsum},
                                      {"namespace", make_namespace}, {"raise_exception", raise_exception},
                                      {"range", make_range},         {"strftime_now", strftime_now}};

}  // namespace

Status check_namespace_attribute(std::string_view name) {
  if (!name.starts_with('_')) return {};
  return render_error("Chat templates cannot store underscore-prefixed attributes on a namespace, but got " +
                      repr_of_text(name) + ". Please rename the attribute.");
}

const FunctionEntry* find_global(std::string_view name) {
  const auto* it = std::ranges::find(kGlobals, name, &FunctionEntry::first);
  return it == std::end(kGlobals) ? nullptr : it;
}

}  // namespace amphora::text::jinja
