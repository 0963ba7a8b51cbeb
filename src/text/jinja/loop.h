// The `loop` variable of a for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

class Scope;

struct LoopObject : Object {
  LoopObject(Budget* budget, std::vector<Value> all)
      : Object(budget, all.size() * sizeof(Value), deepest(all) + 1, any_quotes(all)),
        items(std::move(all)) {}
  std::vector<Value> items;
  size_t index = 0;
  uint32_t depth0 = 0;  ///< levels of recursive loops around this one
  // The rest can lead back to the loop itself, so it is dropped when the loop is over.
  bool is_over = false;
  /// With `for … if`: items that the condition has not judged yet, the next one last, and the condition. It
  /// is asked only when an item is needed, for the loop's body may change its mind.
  std::vector<Value> waiting;
  std::function<Result<std::optional<Value>>(const Value&)> accept;
  std::optional<Value> last_changed;  ///< what changed() saw last, as a tuple
  const For* recursive = nullptr;     ///< what calling the loop runs again; null if it is not recursive
  std::shared_ptr<Scope> outer;       ///< of a recursive loop: where it stands

  /// Moves waiting items over until there are `count` items or none left.
  Status look_ahead(size_t count) {
    while (items.size() < count && !waiting.empty()) {
      const Value item = std::move(waiting.back());
      waiting.pop_back();
      AMPHORA_ASSIGN(auto accepted, accept(item));
      if (accepted) items.push_back(*std::move(accepted));
    }
    return {};
  }

  void finish() {
    is_over = true;
    waiting.clear();
    accept = nullptr;
    last_changed.reset();
    recursive = nullptr;
    outer.reset();
  }
};

}  // namespace amphora::text::jinja
