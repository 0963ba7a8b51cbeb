// `attribute="a.b.0"`: the path that map, sort, join and others take from an item to what they look at.
#pragma once

#include <optional>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/runtime.h"

namespace amphora::text::jinja {

class AttributePath {
 public:
  /// None, or no attribute at all: the item itself.
  static Result<AttributePath> from(Runtime& runtime, const Value* attribute);
  /// "a.b,c": one path per comma.
  static Result<std::vector<AttributePath>> several_from(Runtime& runtime, const Value* attribute);

  /// Steps that lead nowhere give undefined, or `otherwise` if there is one.
  Result<Value> follow(Runtime& runtime, Value item, const Value* otherwise = nullptr) const;

 private:
  std::vector<Value> steps_;
};

/// Lower case for text, unless case matters; anything else as it is.
Result<Value> sort_key(Runtime& runtime, const Value& value, bool case_sensitive);

}  // namespace amphora::text::jinja
