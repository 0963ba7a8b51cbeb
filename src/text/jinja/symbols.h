// Which names Jinja's compiler binds to which scope.
//
// A name that a scope sets belongs to that scope from its beginning: a nested loop or macro that reads it
// before the assignment finds it undefined, though a variable of that name exists outside. Only if the scope
// itself reads the name first, or sets it within an `if`, does the outer variable show
// until then. The rules are those of jinja2/idtracking.py.
#pragma once

#include "text/jinja/ast.h"

namespace amphora::text::jinja {

/// Fills undefined_names of the template and of every scope within.
void resolve_symbols(ScopedBlock& root);

}  // namespace amphora::text::jinja
