// A macro as a value: its code with the scope that it was defined in.
#pragma once

#include <memory>

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

class Scope;

struct MacroObject : Object {
  MacroObject(Budget* budget, std::shared_ptr<const Callable> code, Scope* scope)
      : Object(budget, sizeof(MacroObject)), callable(std::move(code)), defined_in(scope) {}
  std::shared_ptr<const Callable> callable;
  Scope* defined_in;  ///< kept alive by the evaluator: a scope holds its macros, so an owning pointer would
                      ///< be a circle
};

}  // namespace amphora::text::jinja
