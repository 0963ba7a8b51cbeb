// Methods of containers and of Jinja's own objects: see methods.h.
#include "text/jinja/methods.h"

#include <algorithm>

#include "text/jinja/arguments.h"
#include "text/jinja/errors.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"

namespace amphora::text::jinja {
namespace {

using Arguments = const CallArguments&;

template <DictViewObject::Part kPart>
Result<Value> dict_view(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("dict view", arguments, {}));
  return Value::with_object(Kind::kDictView,
                            std::make_shared<DictViewObject>(&runtime.budget(), self, kPart));
}

Result<Value> dict_get(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("get", arguments, 2, 1));
  const Value& key = *bound.find(0);
  AMPHORA_TRY(check_hashable(runtime, key));
  if (const Value* found = self.dict().find(&runtime.budget(), key)) return *found;
  return bound.find(1) == nullptr ? Value() : *bound.find(1);
}

Result<Value> copy_list(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("copy", arguments, {}));
  return runtime.list(self.items());
}

Result<Value> copy_dict(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("copy", arguments, {}));
  return runtime.dict(self.dict().entries);
}

Result<Value> count_items(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("count", arguments, 1, 1));
  const auto& items = self.items();
  return Value::integer(
      std::ranges::count_if(items, [&](const Value& item) { return runtime.equals(item, *bound.find(0)); }));
}

Result<Value> index_of_item(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_ASSIGN(const auto bound, bind_positional("index", arguments, 3, 1));
  const auto& items = self.items();
  std::optional<int64_t> start, stop;
  if (const Value* value = bound.find(1)) {
    AMPHORA_ASSIGN(start, expect_clamped_integer(*value));
  }
  if (const Value* value = bound.find(2)) {
    AMPHORA_ASSIGN(stop, expect_clamped_integer(*value));
  }
  const SliceRange range = resolve_slice(start, stop, 1, items.size());
  for (uint64_t i = 0; i < range.count; ++i) {
    const auto index = static_cast<size_t>(range.start) + static_cast<size_t>(i);
    if (runtime.equals(items[index], *bound.find(0))) return Value::integer(static_cast<int64_t>(index));
  }
  return render_error("value is not in " + type_name(self));
}

Result<Value> loop_cycle(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(refuse_keywords("cycle", arguments));
  if (arguments.positional.empty()) return render_error("no items for cycling given");
  return arguments.positional[self.as<LoopObject>().index % arguments.positional.size()];
}

Result<Value> loop_changed(Runtime& runtime, const Value& self, Arguments arguments) {
  AMPHORA_TRY(refuse_keywords("changed", arguments));
  auto& loop = self.as<LoopObject>();
  Value now = runtime.tuple(arguments.positional);
  const bool changed = !loop.last_changed || !runtime.equals(*loop.last_changed, now);
  if (!loop.is_over) loop.last_changed = std::move(now);
  return Value::boolean(changed);
}

Result<Value> cycler_next(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("next", arguments, {}));
  auto& cycler = self.as<CyclerObject>();
  const Value& item = cycler.items[cycler.index];
  cycler.index = (cycler.index + 1) % cycler.items.size();
  return item;
}

Result<Value> cycler_reset(Runtime& /*runtime*/, const Value& self, Arguments arguments) {
  AMPHORA_TRY(bind_arguments("reset", arguments, {}));
  self.as<CyclerObject>().index = 0;
  return Value();
}

constexpr FunctionEntry kDictMethods[] = {{"copy", copy_dict},
                                          {"get", dict_get},
                                          {"items", dict_view<DictViewObject::Part::kItems>},
                                          {"keys", dict_view<DictViewObject::Part::kKeys>},
                                          {"values", dict_view<DictViewObject::Part::kValues>}};
constexpr FunctionEntry kListMethods[] = {
    {"copy", copy_list}, {"count", count_items}, {"index", index_of_item}};
constexpr FunctionEntry kTupleMethods[] = {{"count", count_items}, {"index", index_of_item}};
constexpr FunctionEntry kLoopMethods[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};
constexpr FunctionEntry kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

std::span<const FunctionEntry> methods_of(Kind kind) {
  switch (kind) {
    case Kind::kString: return string_methods();
    case Kind::kDict: return kDictMethods;
    case Kind::kList: return kListMethods;
    case Kind::kTuple: return kTupleMethods;
    case Kind::kLoop: return kLoopMethods;
    case Kind::kCycler: return kCyclerMethods;
    default: return {};
  }
}

}  // namespace

const FunctionEntry* find_method(Kind kind, std::string_view name) {
  const auto methods = methods_of(kind);
  const auto it = std::ranges::find(methods, name, &FunctionEntry::first);
  return it == methods.end() ? nullptr : &*it;
}

}  // namespace amphora::text::jinja
