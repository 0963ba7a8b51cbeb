// The syntax tree of a template. Built once by the parser, then shared by all renderings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/position.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;
struct Statement;
using Block = std::vector<Statement>;

/// A block with variables of its own.
struct ScopedBlock {
  Block statements;
  /// Names that are undefined until they are set, whatever they mean outside: see symbols.h.
  std::vector<std::string> undefined_names;
};

/// What stands between the parentheses of a call, filter or test.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr unpacked;        ///< *list, or null
  ExpressionPtr unpacked_named;  ///< **dict, or null
};

// ---- Expressions

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct ListDisplay {
  std::vector<ExpressionPtr> items;
  bool is_tuple;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Subscript {
  ExpressionPtr object, index;
};
/// `[start:stop:step]`, only as the index of a Subscript; parts may be null.
struct Slice {
  ExpressionPtr start, stop, step;
};
struct Call {
  ExpressionPtr callee;
  ArgumentList arguments;
};
struct FilterCall {
  ExpressionPtr operand;  ///< null in a filter block: the block's text
  std::string name;
  NativeFunction function;  ///< null: unknown, an error when it is called
  ArgumentList arguments;
};
struct TestCall {
  ExpressionPtr operand;
  std::string name;
  NativeFunction function;  ///< as for filters
  ArgumentList arguments;
};
enum class UnaryOperator : uint8_t { kNot, kMinus, kPlus };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
struct Binary {
  BinaryOperator op;
  ExpressionPtr left, right;
};
struct Logical {
  bool is_and;
  ExpressionPtr left, right;
};
enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};
struct Compare {
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
struct Conditional {
  ExpressionPtr condition, then;
  ExpressionPtr otherwise;  ///< null: undefined
};

struct Expression {
  Position at;
  uint32_t height;  ///< levels of expressions below and including this one
  std::variant<Literal, Name, ListDisplay, DictDisplay, Attribute, Subscript, Slice, Call, FilterCall,
               TestCall, Unary, Binary, Logical, Compare, Concatenation, Conditional>
      node;
};

// ---- Statements

/// What can be assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
  Position at;
  std::string name;
  std::optional<std::string> attribute;
  std::vector<Target> parts;  ///< not empty: unpacks, and `name` means nothing
  bool is_tuple = false;
};

struct Parameters {
  std::vector<std::string> names;
  std::vector<ExpressionPtr> defaults;  ///< of the last names
};

/// What a macro is made of, or the body of a call block.
struct Callable {
  std::string name;  ///< empty for the body of a call block
  Parameters parameters;
  ScopedBlock body;
  // Names that the body uses without having them as parameters: only then are they filled.
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Data {
  std::string text;
};
struct Output {
  ExpressionPtr expression;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct For {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  ///< or null
  ScopedBlock body;
  ScopedBlock otherwise;
  bool is_recursive;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  ///< a FilterCall chain on the block's text, or null
  ScopedBlock body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  ScopedBlock body;
};
struct FilterBlock {
  ExpressionPtr filter;
  ScopedBlock body;
};
struct MacroDefinition {
  std::shared_ptr<Callable> macro;
};
struct CallBlock {
  std::shared_ptr<Callable> caller;
  ExpressionPtr call;
};
/// Hugging Face's {% generation %}: marks the assistant's text for training; renders as its body.
struct Generation {
  ScopedBlock body;
};
struct Break {};
struct Continue {};

struct Statement {
  Position at;
  std::variant<Data, Output, If, For, Set, SetBlock, With, FilterBlock, MacroDefinition, CallBlock,
               Generation, Break, Continue>
      node;
};

}  // namespace amphora::text::jinja
