// Renders a syntax tree: one evaluator per rendering.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"
#include "text/jinja/runtime.h"
#include "text/jinja/scope.h"

namespace amphora::text::jinja {

class Evaluator {
 public:
  explicit Evaluator(Runtime& runtime);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator();

  /// A variable of the caller.
  void define(std::string_view name, Value value) { scope_->set(name, std::move(value)); }
  Result<QuotedText> render(const ScopedBlock& block);

 private:
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };
  class ScopeGuard;
  class DepthGuard;

  Budget& budget() { return runtime_.budget(); }
  Status check_budget(Position at);

  // Statements.
  Result<Flow> execute_all(const Block& block);
  /// In the current scope, which is the block's own.
  Result<Flow> execute_scoped(const ScopedBlock& block);
  Result<Flow> execute_node(const Data& node);
  Result<Flow> execute_node(const Output& node);
  Result<Flow> execute_node(const If& node);
  Result<Flow> execute_node(const For& node);
  Result<Flow> execute_node(const Set& node);
  Result<Flow> execute_node(const SetBlock& node);
  Result<Flow> execute_node(const With& node);
  Result<Flow> execute_node(const FilterBlock& node);
  Result<Flow> execute_node(const MacroDefinition& node);
  Result<Flow> execute_node(const CallBlock& node);
  Result<Flow> execute_node(const Generation& node);
  Result<Flow> execute_node(const Break& node);
  Result<Flow> execute_node(const Continue& node);

  Result<Flow> run_loop(const For& node, const Value& iterable, uint32_t depth0);
  /// One round's body. True if it came to its end.
  Result<bool> run_round(const For& node, const Value& loop, bool& is_broken);
  /// The item as the loop sees it, if the condition holds: of several targets a tuple, as Jinja packs them
  /// again.
  Result<std::optional<Value>> accept(const For& node, const std::shared_ptr<Scope>& outer,
                                      const Value& item);
  /// What was assigned to a target.
  Value packed(const Target& target);
  Status assign(const Target& target, const Value& value);
  /// A block's text, rendered in the present scope.
  Result<Value> capture(const ScopedBlock& block, Flow& flow);

  // Expressions.
  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate_node(const Literal& node);
  Result<Value> evaluate_node(const Name& node);
  Result<Value> evaluate_node(const ListDisplay& node);
  Result<Value> evaluate_node(const DictDisplay& node);
  Result<Value> evaluate_node(const Attribute& node);
  Result<Value> evaluate_node(const Subscript& node);
  Result<Value> evaluate_node(const Slice& node);
  Result<Value> evaluate_node(const Call& node);
  Result<Value> evaluate_node(const FilterCall& node);
  Result<Value> evaluate_node(const TestCall& node);
  Result<Value> evaluate_node(const Unary& node);
  Result<Value> evaluate_node(const Binary& node);
  Result<Value> evaluate_node(const Logical& node);
  Result<Value> evaluate_node(const Compare& node);
  Result<Value> evaluate_node(const Concatenation& node);
  Result<Value> evaluate_node(const Conditional& node);

  Result<CallArguments> evaluate_arguments(const ArgumentList& list);
  Result<Value> evaluate_or_none(const ExpressionPtr& expression);
  Status append_block_text(const Value& value);
  /// A filter chain whose first operand is the text of a block.
  Result<Value> apply_filters(const Expression& expression, const Value& text);

  // Calls.
  Result<Value> call(const Value& callee, CallArguments arguments);
  Result<Value> call_macro(const MacroObject& macro, CallArguments arguments);
  Status bind_parameters(const Callable& callable, CallArguments arguments);
  Result<Value> call_loop(const LoopObject& loop, const CallArguments& arguments);
  Value make_macro(std::shared_ptr<const Callable> callable);

  Runtime& runtime_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> kept_scopes_;
  TextBuilder* output_ = nullptr;
  const Value* block_text_ = nullptr;  ///< operand of the filter chain of a filter block
  uint32_t depth_ = 0;
};

}  // namespace amphora::text::jinja
