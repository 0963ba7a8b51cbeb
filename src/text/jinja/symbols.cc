// Scopes of names: see symbols.h.
#include "text/jinja/symbols.h"

#include <map>
#include <set>

namespace amphora::text::jinja {
namespace {

enum class Origin : uint8_t { kUndefined, kOutside, kParameter };

// The names of one scope, in the order in which the compiler meets them.
class Symbols {
 public:
  explicit Symbols(const Symbols* parent) : parent_(parent) {}

  void load(const std::string& name) {
    if (!knows(name)) origins_[name] = Origin::kOutside;
  }
  void store(const std::string& name) {
    stored_.insert(name);
    if (origins_.contains(name)) return;
    origins_[name] = is_known_outside(name) ? Origin::kOutside : Origin::kUndefined;
  }
  void declare_parameter(const std::string& name) {
    stored_.insert(name);
    origins_[name] = Origin::kParameter;
  }

  // What a branch of an `if` leaves: where it is not taken, the names that it sets come from outside.
  void merge(const Symbols& branch) {
    for (const auto& [name, origin] : branch.origins_)
      if (!stored_.contains(name)) origins_[name] = Origin::kOutside;
  }
  void add_stored(const Symbols& branch) { stored_.insert(branch.stored_.begin(), branch.stored_.end()); }

  std::vector<std::string> undefined_names() const {
    std::vector<std::string> names;
    for (const auto& [name, origin] : origins_)
      if (origin == Origin::kUndefined) names.push_back(name);
    return names;
  }

 private:
  bool is_known_outside(const std::string& name) const { return parent_ != nullptr && parent_->knows(name); }
  bool knows(const std::string& name) const { return origins_.contains(name) || is_known_outside(name); }

  const Symbols* parent_;
  std::map<std::string, Origin> origins_;
  std::set<std::string> stored_;
};

// Records what statements and expressions of one scope do to its names; does not enter the scopes within.
class Recorder {
 public:
  explicit Recorder(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Block& block) {
    for (const Statement& statement : block)
      std::visit([this](const auto& node) { visit(node); }, statement.node);
  }
  void visit(const ExpressionPtr& expression) {
    if (expression) std::visit([this](const auto& node) { visit(node); }, expression->node);
  }
  void visit(const Target& target) {
    for (const Target& part : target.parts) visit(part);
    if (!target.parts.empty()) return;
    target.attribute ? symbols_->load(target.name) : symbols_->store(target.name);
  }
  void declare_parameters(const Target& target) {
    for (const Target& part : target.parts) declare_parameters(part);
    if (target.parts.empty()) symbols_->declare_parameter(target.name);
  }

 private:
  void visit(const Data& /*node*/) {}
  void visit(const Output& node) { visit(node.expression); }
  void visit(const If& node) {
    Symbols* const symbols = symbols_;
    std::vector<Symbols> branches(node.branches.size() + 1, *symbols);
    for (size_t i = 0; i < branches.size(); ++i) {
      symbols_ = &branches[i];
      if (i == node.branches.size()) {
        visit(node.otherwise);
      } else {
        visit(node.branches[i].first);
        visit(node.branches[i].second);
      }
    }
    symbols_ = symbols;
    for (const Symbols& branch : branches) symbols_->merge(branch);
    for (const Symbols& branch : branches) symbols_->add_stored(branch);
  }
  void visit(const For& node) { visit(node.iterable); }
  void visit(const Set& node) {
    visit(node.value);
    visit(node.target);
  }
  void visit(const SetBlock& node) { visit(node.target); }
  void visit(const With& node) {
    for (const auto& [target, value] : node.assignments) visit(value);
  }
  void visit(const FilterBlock& node) { visit(node.filter); }
  void visit(const MacroDefinition& node) { symbols_->store(node.macro->name); }
  void visit(const CallBlock& node) { visit(node.call); }
  void visit(const Generation& /*node*/) {}
  void visit(const Break& /*node*/) {}
  void visit(const Continue& /*node*/) {}

  void visit(const std::vector<ExpressionPtr>& expressions) {
    for (const ExpressionPtr& expression : expressions) visit(expression);
  }
  void visit(const ArgumentList& arguments) {
    visit(arguments.positional);
    for (const auto& [name, value] : arguments.named) visit(value);
    visit(arguments.unpacked);
    visit(arguments.unpacked_named);
  }
  void visit(const Literal& /*node*/) {}
  void visit(const Name& node) { symbols_->load(node.name); }
  void visit(const ListDisplay& node) { visit(node.items); }
  void visit(const DictDisplay& node) {
    for (const auto& [key, value] : node.entries) {
      visit(key);
      visit(value);
    }
  }
  void visit(const Attribute& node) { visit(node.object); }
  void visit(const Subscript& node) {
    visit(node.object);
    visit(node.index);
  }
  void visit(const Slice& node) {
    visit(node.start);
    visit(node.stop);
    visit(node.step);
  }
  void visit(const Call& node) {
    visit(node.callee);
    visit(node.arguments);
  }
  void visit(const FilterCall& node) {
    visit(node.operand);
    visit(node.arguments);
  }
  void visit(const TestCall& node) {
    visit(node.operand);
    visit(node.arguments);
  }
  void visit(const Unary& node) { visit(node.operand); }
  void visit(const Binary& node) {
    visit(node.left);
    visit(node.right);
  }
  void visit(const Logical& node) {
    visit(node.left);
    visit(node.right);
  }
  void visit(const Compare& node) {
    visit(node.first);
    for (const auto& [comparison, operand] : node.rest) visit(operand);
  }
  void visit(const Concatenation& node) { visit(node.parts); }
  void visit(const Conditional& node) {
    visit(node.condition);
    visit(node.then);
    visit(node.otherwise);
  }

  Symbols* symbols_;
};

// Goes through the scopes from the outside in: a scope's names depend on all names of those around it.
class ScopeWalker {
 public:
  explicit ScopeWalker(ScopeWalker* outer) : symbols_(outer == nullptr ? nullptr : &outer->symbols_) {
    if (outer != nullptr) outer->has_inner_ = true;
  }

  Recorder recorder() { return Recorder(symbols_); }
  void declare_parameter(const std::string& name) { symbols_.declare_parameter(name); }

  void finish(ScopedBlock& scope) {
    recorder().visit(scope.statements);
    finish_recorded(scope);
  }
  void finish_recorded(ScopedBlock& scope) {
    walk(scope.statements);
    // In the scope itself, assignments come first: only a scope within can read too early.
    if (has_inner_) scope.undefined_names = symbols_.undefined_names();
  }

 private:
  void walk(Block& block) {
    for (Statement& statement : block) std::visit([this](auto& node) { walk(node); }, statement.node);
  }
  void walk(Data& /*node*/) {}
  void walk(Output& /*node*/) {}
  void walk(Set& /*node*/) {}
  void walk(Break& /*node*/) {}
  void walk(Continue& /*node*/) {}
  void walk(If& node) {
    for (auto& [condition, body] : node.branches) walk(body);
    walk(node.otherwise);
  }
  void walk(For& node) {
    ScopeWalker body(this);
    body.declare_parameter("loop");
    body.recorder().declare_parameters(node.target);
    body.finish(node.body);
    ScopeWalker(this).finish(node.otherwise);
  }
  void walk(SetBlock& node) { ScopeWalker(this).finish(node.body); }
  void walk(With& node) {
    ScopeWalker body(this);
    for (const auto& [target, value] : node.assignments) body.recorder().declare_parameters(target);
    body.finish(node.body);
  }
  void walk(FilterBlock& node) {
    ScopeWalker body(this);
    body.recorder().visit(node.body.statements);
    body.recorder().visit(node.filter);
    body.finish_recorded(node.body);
  }
  void walk(MacroDefinition& node) { walk(*node.macro); }
  void walk(CallBlock& node) { walk(*node.caller); }
  void walk(Callable& callable) {
    ScopeWalker body(this);
    for (const std::string& name : callable.parameters.names) body.declare_parameter(name);
    for (const ExpressionPtr& value : callable.parameters.defaults) body.recorder().visit(value);
    if (callable.uses_caller) body.declare_parameter("caller");
    if (callable.uses_kwargs) body.declare_parameter("kwargs");
    if (callable.uses_varargs) body.declare_parameter("varargs");
    body.finish(callable.body);
  }
  void walk(Generation& node) {
    ScopeWalker body(this);
    for (const char* name : {"caller", "kwargs", "varargs"}) body.declare_parameter(name);
    body.finish(node.body);
  }

  Symbols symbols_;
  bool has_inner_ = false;
};

}  // namespace

void resolve_symbols(ScopedBlock& root) { ScopeWalker(nullptr).finish(root); }

}  // namespace amphora::text::jinja
