// Expressions: see evaluator.h.
#include <algorithm>

#include "text/jinja/errors.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/evaluator_guards.h"
#include "text/jinja/globals.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace amphora::text::jinja {

Result<Value> Evaluator::evaluate(const Expression& expression) {
  const DepthGuard depth(depth_);
  budget().spend(1);
  AMPHORA_TRY(check_budget(expression.at));
  auto result = std::visit([this](const auto& node) { return evaluate_node(node); }, expression.node);
  if (!result) return std::unexpected(located(std::move(result).error(), expression.at));
  return result;
}

Result<Value> Evaluator::evaluate_or_none(const ExpressionPtr& expression) {
  if (!expression) return Value();
  return evaluate(*expression);
}

Result<Value> Evaluator::evaluate_node(const Literal& node) { return node.value; }

Result<Value> Evaluator::evaluate_node(const Name& node) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent().get()) {
    budget().spend(scope->size() / 16);  // the search
    if (const Value* found = scope->find_here(node.name)) return *found;
  }
  if (const FunctionEntry* global = find_global(node.name))
    return Value::with_object(
        Kind::kFunction, std::make_shared<FunctionObject>(&budget(), global->first, global->second, Value()));
  if (node.name == "self")
    return unsupported_error("self is not supported: it names the blocks of a template");
  return runtime_.undefined("'" + node.name + "' is undefined");
}

Result<Value> Evaluator::evaluate_node(const ListDisplay& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ExpressionPtr& expression : node.items) {
    AMPHORA_ASSIGN(Value item, evaluate(*expression));
    items.push_back(std::move(item));
  }
  return node.is_tuple ? runtime_.tuple(std::move(items)) : runtime_.list(std::move(items));
}

Result<Value> Evaluator::evaluate_node(const DictDisplay& node) {
  std::vector<DictObject::Entry> entries;
  for (const auto& [key_expression, value_expression] : node.entries) {
    AMPHORA_ASSIGN(Value key, evaluate(*key_expression));
    AMPHORA_ASSIGN(Value value, evaluate(*value_expression));
    AMPHORA_TRY(check_hashable(runtime_, key));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return runtime_.dict(std::move(entries));
}

Result<Value> Evaluator::evaluate_node(const Attribute& node) {
  AMPHORA_ASSIGN(const Value object, evaluate(*node.object));
  return get_attribute(runtime_, object, node.name);
}

Result<Value> Evaluator::evaluate_node(const Subscript& node) {
  AMPHORA_ASSIGN(const Value object, evaluate(*node.object));
  if (const auto* slice = std::get_if<Slice>(&node.index->node)) {
    AMPHORA_ASSIGN(const Value start, evaluate_or_none(slice->start));
    AMPHORA_ASSIGN(const Value stop, evaluate_or_none(slice->stop));
    AMPHORA_ASSIGN(const Value step, evaluate_or_none(slice->step));
    return get_slice(runtime_, object, start, stop, step);
  }
  AMPHORA_ASSIGN(const Value index, evaluate(*node.index));
  return get_item(runtime_, object, index);
}

// A slice among several indices: x[1:2, 3]. None of our values can be indexed so.
Result<Value> Evaluator::evaluate_node(const Slice& /*node*/) {
  return unsupported_error("slices in a tuple of indices are not supported");
}

Result<CallArguments> Evaluator::evaluate_arguments(const ArgumentList& list) {
  CallArguments arguments;
  arguments.positional.reserve(list.positional.size());
  for (const ExpressionPtr& expression : list.positional) {
    AMPHORA_ASSIGN(Value value, evaluate(*expression));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expression] : list.named) {
    AMPHORA_ASSIGN(Value value, evaluate(*expression));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (list.unpacked) {
    AMPHORA_ASSIGN(const Value sequence, evaluate(*list.unpacked));
    AMPHORA_ASSIGN(const std::vector<Value> items, iterate(runtime_, sequence));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (list.unpacked_named) {
    AMPHORA_ASSIGN(const Value mapping, evaluate(*list.unpacked_named));
    if (!mapping.is(Kind::kDict))
      return render_error("argument after ** must be a mapping, not " + type_name(mapping));
    arguments.has_quoted_names = mapping.quotes();
    const size_t written = arguments.named.size();
    for (const auto& [key, value] : mapping.dict().entries) {
      if (!key.is_string()) return render_error("keywords must be strings");
      const auto end = arguments.named.begin() + static_cast<ptrdiff_t>(written);
      if (std::ranges::find(arguments.named.begin(), end, key.text(), &NamedValue::first) != end)
        return render_error("got multiple values for keyword argument '" + std::string(key.text()) + "'");
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

Result<Value> Evaluator::evaluate_node(const Call& node) {
  AMPHORA_ASSIGN(const Value callee, evaluate(*node.callee));
  AMPHORA_ASSIGN(CallArguments arguments, evaluate_arguments(node.arguments));
  return call(callee, std::move(arguments));
}

Result<Value> Evaluator::evaluate_node(const FilterCall& node) {
  Value operand;
  if (node.operand) {
    AMPHORA_ASSIGN(operand, evaluate(*node.operand));
  } else {
    operand = *block_text_;
  }
  if (node.function == nullptr) return render_error("No filter named '" + node.name + "' found.");
  AMPHORA_ASSIGN(const CallArguments arguments, evaluate_arguments(node.arguments));
  const Runtime::Quoting quoting(runtime_, operand.quotes() || arguments.quotes());
  return node.function(runtime_, operand, arguments);
}

Result<Value> Evaluator::evaluate_node(const TestCall& node) {
  AMPHORA_ASSIGN(const Value operand, evaluate(*node.operand));
  if (node.function == nullptr) return render_error("No test named '" + node.name + "' found.");
  AMPHORA_ASSIGN(const CallArguments arguments, evaluate_arguments(node.arguments));
  return node.function(runtime_, operand, arguments);
}

Result<Value> Evaluator::evaluate_node(const Unary& node) {
  AMPHORA_ASSIGN(const Value operand, evaluate(*node.operand));
  return apply_unary(runtime_, node.op, operand);
}

Result<Value> Evaluator::evaluate_node(const Binary& node) {
  AMPHORA_ASSIGN(const Value left, evaluate(*node.left));
  AMPHORA_ASSIGN(const Value right, evaluate(*node.right));
  const Runtime::Quoting quoting(runtime_, left.quotes() || right.quotes());
  return apply_binary(runtime_, node.op, left, right);
}

Result<Value> Evaluator::evaluate_node(const Logical& node) {
  AMPHORA_ASSIGN(Value left, evaluate(*node.left));
  if (is_true(left) != node.is_and) return left;
  return evaluate(*node.right);
}

Result<Value> Evaluator::evaluate_node(const Compare& node) {
  AMPHORA_ASSIGN(Value left, evaluate(*node.first));
  for (const auto& [comparison, operand] : node.rest) {
    AMPHORA_ASSIGN(Value right, evaluate(*operand));
    AMPHORA_ASSIGN(const bool result, compare(runtime_, comparison, left, right));
    if (!result) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Evaluator::evaluate_node(const Concatenation& node) {
  TextBuilder text(&budget());
  for (const ExpressionPtr& part : node.parts) {
    AMPHORA_ASSIGN(const Value value, evaluate(*part));
    append_str(text, value);
  }
  AMPHORA_TRY(budget().status());
  return runtime_.string_of(text.take_quoted());
}

Result<Value> Evaluator::evaluate_node(const Conditional& node) {
  AMPHORA_ASSIGN(const Value condition, evaluate(*node.condition));
  if (is_true(condition)) return evaluate(*node.then);
  if (node.otherwise) return evaluate(*node.otherwise);
  return runtime_.undefined("the inline if-expression evaluated to false and no else section was defined.");
}

}  // namespace amphora::text::jinja
