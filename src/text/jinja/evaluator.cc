// Statements and calls: see evaluator.h. Expressions are in evaluate_expression.cc.
#include "text/jinja/evaluator.h"

#include <algorithm>

#include "text/jinja/errors.h"
#include "text/jinja/evaluator_guards.h"
#include "text/jinja/globals.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {

Evaluator::Evaluator(Runtime& runtime) : runtime_(runtime), scope_(std::make_shared<Scope>(nullptr)) {}

Evaluator::~Evaluator() {
  // A kept scope holds macros, which point back to it.
  for (const auto& scope : kept_scopes_) scope->clear();
}

Result<QuotedText> Evaluator::render(const ScopedBlock& block) {
  TextBuilder output(&budget());
  output_ = &output;
  AMPHORA_TRY(execute_scoped(block));
  AMPHORA_TRY(budget().status());
  return output.take_quoted();
}

Status Evaluator::check_budget(Position at) {
  if (depth_ > kMaxRecursion) budget().exceed("recursion levels", kMaxRecursion);
  if (budget().ok()) return {};
  return std::unexpected(located(budget().error().error(), at));
}

Result<Evaluator::Flow> Evaluator::execute_all(const Block& block) {
  const DepthGuard depth(depth_);
  for (const Statement& statement : block) {
    budget().spend(1);
    AMPHORA_TRY(check_budget(statement.at));
    auto flow = std::visit([this](const auto& node) { return execute_node(node); }, statement.node);
    if (!flow) return std::unexpected(located(std::move(flow).error(), statement.at));
    if (*flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_scoped(const ScopedBlock& block) {
  for (const std::string& name : block.undefined_names)
    scope_->set(name, runtime_.undefined("'" + name + "' is undefined"));
  return execute_all(block.statements);
}

Result<Evaluator::Flow> Evaluator::execute_node(const Data& node) {
  output_->append(node.text);
  budget().spend_bytes(node.text.size());
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const Output& node) {
  AMPHORA_ASSIGN(const Value value, evaluate(*node.expression));
  append_str(*output_, value);
  if (value.is_string()) budget().spend_bytes(value.text().size());
  AMPHORA_TRY(budget().status());
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const If& node) {
  for (const auto& [condition, body] : node.branches) {
    AMPHORA_ASSIGN(const Value value, evaluate(*condition));
    if (is_true(value)) return execute_all(body);
  }
  return execute_all(node.otherwise);
}

Result<Evaluator::Flow> Evaluator::execute_node(const For& node) {
  AMPHORA_ASSIGN(const Value iterable, evaluate(*node.iterable));
  return run_loop(node, iterable, 0);
}

Result<std::optional<Value>> Evaluator::accept(const For& node, const std::shared_ptr<Scope>& outer,
                                               const Value& item) {
  const ScopeGuard scope(scope_, std::make_shared<Scope>(outer));
  AMPHORA_TRY(assign(node.target, item));
  AMPHORA_ASSIGN(const Value value, evaluate(*node.condition));
  if (!is_true(value)) return std::nullopt;
  return packed(node.target);
}

Value Evaluator::packed(const Target& target) {
  if (target.parts.empty()) return *scope_->find_here(target.name);
  std::vector<Value> items;
  for (const Target& part : target.parts) items.push_back(packed(part));
  return runtime_.tuple(std::move(items));
}

Result<bool> Evaluator::run_round(const For& node, const Value& loop_value, bool& is_broken) {
  const auto& loop = loop_value.as<LoopObject>();
  const ScopeGuard scope(scope_, std::make_shared<Scope>(scope_));
  scope_->set("loop", loop_value);
  AMPHORA_TRY(assign(node.target, loop.items[loop.index]));
  AMPHORA_ASSIGN(const Flow flow, execute_scoped(node.body));
  is_broken = flow == Flow::kBreak;
  return flow == Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::run_loop(const For& node, const Value& iterable, uint32_t depth0) {
  const DepthGuard depth(depth_);
  AMPHORA_ASSIGN(std::vector<Value> items, iterate(runtime_, iterable));
  auto loop = std::make_shared<LoopObject>(&budget(), std::move(items));
  loop->depth0 = depth0;
  if (node.is_recursive) {
    loop->recursive = &node;
    loop->outer = scope_;
  }
  if (node.condition) {
    loop->waiting.swap(loop->items);
    std::ranges::reverse(loop->waiting);
    loop->accept = [this, &node, outer = scope_](const Value& item) { return accept(node, outer, item); };
  }
  const Value loop_value = Value::with_object(Kind::kLoop, loop);
  // Jinja runs the else branch unless some round came to the end of its body: not only when there are no
  // items.
  bool any_complete = false, is_broken = false;
  Status status;
  for (; !is_broken; ++loop->index) {
    budget().spend(1);
    status = loop->look_ahead(loop->index + 1);
    if (!status || loop->index >= loop->items.size()) break;
    auto complete = run_round(node, loop_value, is_broken);
    if (!complete) {
      status = std::unexpected(std::move(complete).error());
      break;
    }
    any_complete = any_complete || *complete;
  }
  if (loop->index > 0 && loop->index >= loop->items.size()) loop->index = loop->items.size() - 1;
  loop->finish();
  AMPHORA_TRY(std::move(status));
  if (any_complete || node.otherwise.statements.empty()) return Flow::kNormal;
  const ScopeGuard scope(scope_, std::make_shared<Scope>(scope_));
  return execute_scoped(node.otherwise);  // which may break or continue the loop around this one
}

Status Evaluator::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime_, value));
    if (items.size() > target.parts.size())
      return render_error("too many values to unpack (expected " + std::to_string(target.parts.size()) + ")");
    if (items.size() < target.parts.size())
      return render_error("not enough values to unpack (expected " + std::to_string(target.parts.size()) +
                          ", got " + std::to_string(items.size()) + ")");
    for (size_t i = 0; i < items.size(); ++i) AMPHORA_TRY(assign(target.parts[i], items[i]));
    return {};
  }
  if (!target.attribute) {
    budget().spend(scope_->size() / 16);  // the search for the name
    scope_->set(target.name, value);
    return {};
  }
  AMPHORA_ASSIGN(const Value object, evaluate_node(Name{target.name}));
  if (!object.is(Kind::kNamespace)) return render_error("cannot assign attribute on non-namespace object");
  AMPHORA_TRY(check_namespace_attribute(*target.attribute));
  budget().spend(object.as<NamespaceObject>().attributes.size() / 16);
  object.as<NamespaceObject>().set(*target.attribute, value);
  return {};
}

Result<Evaluator::Flow> Evaluator::execute_node(const Set& node) {
  AMPHORA_ASSIGN(const Value value, evaluate(*node.value));
  AMPHORA_TRY(assign(node.target, value));
  return Flow::kNormal;
}

Result<Value> Evaluator::capture(const ScopedBlock& block, Flow& flow) {
  TextBuilder text(&budget());
  const OutputGuard output(output_, &text);
  AMPHORA_ASSIGN(flow, execute_scoped(block));
  AMPHORA_TRY(budget().status());
  return runtime_.string_of(text.take_quoted());
}

Result<Value> Evaluator::apply_filters(const Expression& expression, const Value& text) {
  const Value* const outer = std::exchange(block_text_, &text);
  auto result = evaluate(expression);
  block_text_ = outer;
  return result;
}

Result<Evaluator::Flow> Evaluator::execute_node(const SetBlock& node) {
  Flow flow = Flow::kNormal;
  Value value;
  {
    const ScopeGuard scope(scope_, std::make_shared<Scope>(scope_));  // of the filter's arguments too
    AMPHORA_ASSIGN(value, capture(node.body, flow));
    if (flow != Flow::kNormal) return flow;
    if (node.filter) {
      AMPHORA_ASSIGN(value, apply_filters(*node.filter, value));
    }
  }
  AMPHORA_TRY(assign(node.target, value));
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const With& node) {
  auto inner = std::make_shared<Scope>(scope_);
  for (const auto& [target, expression] : node.assignments) {
    AMPHORA_ASSIGN(const Value value, evaluate(*expression));  // still outside
    const ScopeGuard scope(scope_, inner);
    AMPHORA_TRY(assign(target, value));
  }
  const ScopeGuard scope(scope_, std::move(inner));
  return execute_scoped(node.body);
}

// What a block's filter or call gives is not turned into text.
Status Evaluator::append_block_text(const Value& value) {
  if (!value.is_string()) return render_error("expected str instance, " + type_name(value) + " found");
  output_->append(value.text(), value.as<StringObject>().quoted);
  return {};
}

Result<Evaluator::Flow> Evaluator::execute_node(const FilterBlock& node) {
  Flow flow = Flow::kNormal;
  const ScopeGuard scope(scope_, std::make_shared<Scope>(scope_));  // of the filter's arguments too
  AMPHORA_ASSIGN(const Value text, capture(node.body, flow));
  if (flow != Flow::kNormal) return flow;
  AMPHORA_ASSIGN(const Value filtered, apply_filters(*node.filter, text));
  AMPHORA_TRY(append_block_text(filtered));
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const MacroDefinition& node) {
  scope_->set(node.macro->name, make_macro(node.macro));
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const CallBlock& node) {
  const auto& call_node = std::get<Call>(node.call->node);
  AMPHORA_ASSIGN(const Value callee, evaluate(*call_node.callee));
  AMPHORA_ASSIGN(CallArguments arguments, evaluate_arguments(call_node.arguments));
  arguments.named.emplace_back("caller", make_macro(node.caller));
  auto result = call(callee, std::move(arguments));
  if (!result) return std::unexpected(located(std::move(result).error(), node.call->at));
  AMPHORA_TRY(append_block_text(*result));
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::execute_node(const Generation& node) {
  // The reference makes a macro of the block and calls it without arguments.
  const ScopeGuard scope(scope_, std::make_shared<Scope>(scope_));
  scope_->set("caller", runtime_.undefined("No caller defined"));
  scope_->set("kwargs", runtime_.dict({}));
  scope_->set("varargs", runtime_.tuple({}));
  return execute_scoped(node.body);
}

Result<Evaluator::Flow> Evaluator::execute_node(const Break& /*node*/) { return Flow::kBreak; }
Result<Evaluator::Flow> Evaluator::execute_node(const Continue& /*node*/) { return Flow::kContinue; }

// ---- Calls

Value Evaluator::make_macro(std::shared_ptr<const Callable> callable) {
  if (!scope_->is_kept) {
    scope_->is_kept = true;
    kept_scopes_.push_back(scope_);
    budget().charge(256);  // never refunded: kept to the end
  }
  return Value::with_object(Kind::kMacro,
                            std::make_shared<MacroObject>(&budget(), std::move(callable), scope_.get()));
}

Result<Value> Evaluator::call(const Value& callee, CallArguments arguments) {
  switch (callee.kind()) {
    case Kind::kFunction: {
      const auto& function = callee.as<FunctionObject>();
      const Runtime::Quoting quoting(runtime_, function.self.quotes() || arguments.quotes());
      return function.function(runtime_, function.self, arguments);
    }
    case Kind::kMacro: return call_macro(callee.as<MacroObject>(), std::move(arguments));
    case Kind::kLoop: return call_loop(callee.as<LoopObject>(), arguments);
    case Kind::kJoiner: {
      auto& joiner = callee.as<JoinerObject>();
      return std::exchange(joiner.used, true) ? joiner.separator : runtime_.string({});
    }
    case Kind::kUndefined: return undefined_error(callee);
    default: return render_error("'" + type_name(callee) + "' object is not callable");
  }
}

Result<Value> Evaluator::call_loop(const LoopObject& loop, const CallArguments& arguments) {
  if (loop.recursive == nullptr)
    return render_error("The loop must have the 'recursive' marker to be called recursively.");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    return render_error("loop() takes exactly one argument");
  TextBuilder text(&budget());
  const OutputGuard output(output_, &text);
  const ScopeGuard scope(scope_, loop.outer);
  AMPHORA_TRY(run_loop(*loop.recursive, arguments.positional[0], loop.depth0 + 1));
  AMPHORA_TRY(budget().status());
  return runtime_.string_of(text.take_quoted());
}

Result<Value> Evaluator::call_macro(const MacroObject& macro, CallArguments arguments) {
  const DepthGuard depth(depth_);
  const std::shared_ptr<const Callable> callable = macro.callable;
  const auto kept = std::ranges::find(kept_scopes_, macro.defined_in, &std::shared_ptr<Scope>::get);
  TextBuilder text(&budget());
  const OutputGuard output(output_, &text);
  const ScopeGuard scope(scope_, std::make_shared<Scope>(*kept));
  AMPHORA_TRY(bind_parameters(*callable, std::move(arguments)));
  AMPHORA_TRY(execute_scoped(callable->body));
  AMPHORA_TRY(budget().status());
  return runtime_.string_of(text.take_quoted());
}

// As jinja2.runtime.Macro does it: by position, then by name, then what the body asks for by its special
// names.
Status Evaluator::bind_parameters(const Callable& callable, CallArguments arguments) {
  const auto& names = callable.parameters.names;
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    const auto it = std::ranges::find(arguments.named, name, &NamedValue::first);
    if (it == arguments.named.end()) return std::nullopt;
    Value value = std::move(it->second);
    arguments.named.erase(it);
    return value;
  };
  const bool has_caller_parameter = std::ranges::find(names, "caller") != names.end();
  std::vector<std::optional<Value>> values(names.size());
  for (size_t i = 0; i < names.size(); ++i)
    values[i] = i < arguments.positional.size() ? std::optional<Value>(arguments.positional[i])
                                                : take_named(names[i]);
  if (callable.uses_caller && !has_caller_parameter) {
    auto caller = take_named("caller");
    if (caller && caller->is_none()) caller.reset();
    scope_->set("caller", caller ? *std::move(caller) : runtime_.undefined("No caller defined"));
  }
  if (callable.uses_kwargs) {
    // A name that the template writes is no more than letters; others come out of an unpacked dict.
    const Runtime::Quoting quoting(runtime_, true);
    std::vector<DictObject::Entry> entries;
    for (auto& [name, value] : arguments.named) entries.emplace_back(runtime_.string(name), std::move(value));
    scope_->set("kwargs", runtime_.dict(std::move(entries)));
  } else if (!arguments.named.empty()) {
    const std::string& name = arguments.named.front().first;
    if (name == "caller" && has_caller_parameter)
      return render_error("macro '" + callable.name +
                          "' was invoked with two values for the special caller argument.");
    return render_error("macro '" + callable.name + "' takes no keyword argument '" + name + "'");
  }
  if (callable.uses_varargs) {
    const size_t taken = std::min(names.size(), arguments.positional.size());
    scope_->set("varargs", runtime_.tuple(std::vector<Value>(
                               arguments.positional.begin() + static_cast<ptrdiff_t>(taken),
                               arguments.positional.end())));
  } else if (arguments.positional.size() > names.size()) {
    return render_error("macro '" + callable.name + "' takes not more than " + std::to_string(names.size()) +
                        " argument(s)");
  }
  // Defaults may use all parameters that are given and those before them; other parameters mean nothing yet.
  const size_t first_default = names.size() - callable.parameters.defaults.size();
  for (size_t i = 0; i < names.size(); ++i) {
    scope_->set(names[i], values[i] ? *values[i]
                          : i < first_default
                              ? runtime_.undefined("parameter '" + names[i] + "' was not provided")
                              : runtime_.undefined("'" + names[i] + "' is undefined"));
  }
  for (size_t i = first_default; i < names.size(); ++i) {
    if (values[i]) continue;
    AMPHORA_ASSIGN(Value value, evaluate(*callable.parameters.defaults[i - first_default]));
    scope_->set(names[i], std::move(value));
  }
  return {};
}

}  // namespace amphora::text::jinja
