// Expressions of the template language: see expression_parser.h. Levels of precedence are those of
// jinja2/parser.py.
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/errors.h"
#include "text/jinja/filters.h"
#include "text/jinja/limits.h"
#include "text/jinja/tests.h"

namespace amphora::text::jinja {
namespace {

uint32_t height_of(const ExpressionPtr& expression) { return expression ? expression->height : 0; }

uint32_t height_of(const ArgumentList& arguments) {
  uint32_t height = std::max(height_of(arguments.unpacked), height_of(arguments.unpacked_named));
  for (const auto& value : arguments.positional) height = std::max(height, height_of(value));
  for (const auto& [name, value] : arguments.named) height = std::max(height, height_of(value));
  return height;
}

uint32_t height_of(const std::vector<ExpressionPtr>& items) {
  uint32_t height = 0;
  for (const auto& item : items) height = std::max(height, height_of(item));
  return height;
}

}  // namespace

std::string describe(const Token& token) {
  switch (token.type) {
    case TokenType::kData: return "template data / text";
    case TokenType::kVariableBegin: return "begin of print statement";
    case TokenType::kVariableEnd: return "end of print statement";
    case TokenType::kBlockBegin: return "begin of statement block";
    case TokenType::kBlockEnd: return "end of statement block";
    case TokenType::kEnd: return "end of template";
    case TokenType::kString: return "string";
    case TokenType::kInteger: return "integer";
    case TokenType::kFloat: return "float";
    case TokenType::kName:
    case TokenType::kOperator: return token.text;
  }
  return {};
}

bool ExpressionParser::skip_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  advance();
  return true;
}

bool ExpressionParser::skip_name(std::string_view text) {
  if (!is_name(text)) return false;
  advance();
  return true;
}

std::unexpected<Error> ExpressionParser::unexpected_token(std::string_view wanted) const {
  if (current().type == TokenType::kEnd)
    return syntax_error(current().at, "unexpected end of template, expected '" + std::string(wanted) + "'.");
  return syntax_error(current().at,
                      "expected token '" + std::string(wanted) + "', got '" + describe(current()) + "'");
}

Status ExpressionParser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) return unexpected_token(text);
  return {};
}

Status ExpressionParser::expect_name(std::string_view text) {
  if (!skip_name(text)) return unexpected_token(text);
  return {};
}

Result<std::string> ExpressionParser::expect_identifier() {
  if (current().type != TokenType::kName) return unexpected_token("name");
  std::string name = current().text;
  advance();
  return name;
}

Status ExpressionParser::expect(TokenType type) {
  if (current().type != type) return unexpected_token(describe(Token{type, {}, {}}));
  advance();
  return {};
}

std::unexpected<Error> ExpressionParser::too_deep() const {
  Error error = limit_error("limit of nesting levels exceeded (" + std::to_string(kMaxNesting) + ")").error();
  return std::unexpected(located(std::move(error), current().at));
}

template <class Node>
ExpressionParser::ExpressionResult ExpressionParser::make(Position at, Node node,
                                                          uint32_t height_below) const {
  if (height_below >= kMaxNesting) return too_deep();
  return std::make_unique<const Expression>(Expression{at, height_below + 1, std::move(node)});
}

ExpressionParser::ExpressionResult ExpressionParser::parse_expression(bool with_conditional) {
  const Nesting nesting(nesting_);
  if (!nesting.ok()) return too_deep();
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionParser::ExpressionResult ExpressionParser::parse_conditional() {
  const Position at = current().at;
  const size_t unknown_before = unknown_.size();
  AMPHORA_ASSIGN(ExpressionPtr result, parse_or());
  while (skip_name("if")) {
    AMPHORA_ASSIGN(ExpressionPtr condition, parse_or());
    ExpressionPtr otherwise;
    if (skip_name("else")) {
      AMPHORA_ASSIGN(otherwise, parse_expression());
    }
    unknown_.resize(unknown_before);  // no error before one is called
    const uint32_t height = std::max({height_of(result), height_of(condition), height_of(otherwise)});
    AMPHORA_ASSIGN(
        result, make(at, Conditional{std::move(condition), std::move(result), std::move(otherwise)}, height));
  }
  return result;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_or() {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr left, parse_and());
  while (skip_name("or")) {
    AMPHORA_ASSIGN(ExpressionPtr right, parse_and());
    const uint32_t height = std::max(height_of(left), height_of(right));
    AMPHORA_ASSIGN(left, make(at, Logical{false, std::move(left), std::move(right)}, height));
  }
  return left;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_and() {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr left, parse_not());
  while (skip_name("and")) {
    AMPHORA_ASSIGN(ExpressionPtr right, parse_not());
    const uint32_t height = std::max(height_of(left), height_of(right));
    AMPHORA_ASSIGN(left, make(at, Logical{true, std::move(left), std::move(right)}, height));
  }
  return left;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_not() {
  const Position at = current().at;
  if (!skip_name("not")) return parse_compare();
  const Nesting nesting(nesting_);
  if (!nesting.ok()) return too_deep();
  AMPHORA_ASSIGN(ExpressionPtr operand, parse_not());
  const uint32_t height = height_of(operand);
  return make(at, Unary{UnaryOperator::kNot, std::move(operand)}, height);
}

Result<std::optional<Comparison>> ExpressionParser::take_comparison() {
  static constexpr std::pair<std::string_view, Comparison> kOperators[] = {
      {"==", Comparison::kEqual},     {"!=", Comparison::kNotEqual}, {"<", Comparison::kLess},
      {"<=", Comparison::kLessEqual}, {">", Comparison::kGreater},   {">=", Comparison::kGreaterEqual}};
  for (const auto& [text, comparison] : kOperators)
    if (skip_operator(text)) return comparison;
  if (skip_name("in")) return Comparison::kIn;
  if (is_name("not") && following().type == TokenType::kName && following().text == "in") {
    advance();
    advance();
    return Comparison::kNotIn;
  }
  return std::nullopt;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_compare() {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr first, parse_sum());
  uint32_t height = height_of(first);
  Compare compare{std::move(first), {}};
  while (true) {
    AMPHORA_ASSIGN(const auto comparison, take_comparison());
    if (!comparison) break;
    AMPHORA_ASSIGN(ExpressionPtr operand, parse_sum());
    height = std::max(height, height_of(operand));
    compare.rest.emplace_back(*comparison, std::move(operand));
  }
  if (compare.rest.empty()) return std::move(compare.first);
  return make(at, std::move(compare), height);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_binary_chain(
    Level operand, std::initializer_list<std::pair<std::string_view, BinaryOperator>> operators) {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr left, (this->*operand)());
  while (true) {
    const auto* found =
        std::ranges::find_if(operators, [&](const auto& entry) { return is_operator(entry.first); });
    if (found == operators.end()) return left;
    advance();
    AMPHORA_ASSIGN(ExpressionPtr right, (this->*operand)());
    const uint32_t height = std::max(height_of(left), height_of(right));
    AMPHORA_ASSIGN(left, make(at, Binary{found->second, std::move(left), std::move(right)}, height));
  }
}

ExpressionParser::ExpressionResult ExpressionParser::parse_sum() {
  return parse_binary_chain(&ExpressionParser::parse_concatenation,
                            {{"+", BinaryOperator::kAdd}, {"-", BinaryOperator::kSubtract}});
}

ExpressionParser::ExpressionResult ExpressionParser::parse_concatenation() {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr first, parse_product());
  if (!is_operator("~")) return first;
  Concatenation concatenation;
  concatenation.parts.push_back(std::move(first));
  while (skip_operator("~")) {
    AMPHORA_ASSIGN(ExpressionPtr part, parse_product());
    concatenation.parts.push_back(std::move(part));
  }
  const uint32_t height = height_of(concatenation.parts);
  return make(at, std::move(concatenation), height);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_product() {
  return parse_binary_chain(&ExpressionParser::parse_power, {{"*", BinaryOperator::kMultiply},
                                                             {"/", BinaryOperator::kDivide},
                                                             {"//", BinaryOperator::kFloorDivide},
                                                             {"%", BinaryOperator::kModulo}});
}

// Unlike Python's, Jinja's ** groups to the left, and binds less tightly than a sign before it.
ExpressionParser::ExpressionResult ExpressionParser::parse_power() {
  const Position at = current().at;
  AMPHORA_ASSIGN(ExpressionPtr left, parse_unary());
  while (skip_operator("**")) {
    AMPHORA_ASSIGN(ExpressionPtr right, parse_unary());
    const uint32_t height = std::max(height_of(left), height_of(right));
    AMPHORA_ASSIGN(left, make(at, Binary{BinaryOperator::kPower, std::move(left), std::move(right)}, height));
  }
  return left;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_unary(bool with_filters) {
  const Nesting nesting(nesting_);
  if (!nesting.ok()) return too_deep();
  const Position at = current().at;
  ExpressionPtr result;
  const bool is_minus = is_operator("-");
  if (is_minus || is_operator("+")) {
    advance();
    AMPHORA_ASSIGN(ExpressionPtr operand, parse_unary(false));
    const uint32_t height = height_of(operand);
    AMPHORA_ASSIGN(
        result,
        make(at, Unary{is_minus ? UnaryOperator::kMinus : UnaryOperator::kPlus, std::move(operand)}, height));
  } else {
    AMPHORA_ASSIGN(result, parse_primary());
  }
  AMPHORA_ASSIGN(result, parse_postfix(std::move(result)));
  return with_filters ? parse_filters_and_tests(std::move(result)) : ExpressionResult(std::move(result));
}

ExpressionParser::ExpressionResult ExpressionParser::parse_primary() {
  const Token& token = current();
  switch (token.type) {
    case TokenType::kName: {
      const Position at = token.at;
      std::string name = token.text;
      advance();
      if (name == "true" || name == "True") return make(at, Literal{Value::boolean(true)}, 0);
      if (name == "false" || name == "False") return make(at, Literal{Value::boolean(false)}, 0);
      if (name == "none" || name == "None") return make(at, Literal{Value()}, 0);
      read_names_.insert(name);
      return make(at, Name{std::move(name)}, 0);
    }
    case TokenType::kString: return parse_string();
    case TokenType::kInteger:
    case TokenType::kFloat: return parse_number();
    default: break;
  }
  if (skip_operator("(")) {
    AMPHORA_ASSIGN(ExpressionPtr inner, parse_tuple(true, {}, true));
    AMPHORA_TRY(expect_operator(")"));
    return inner;
  }
  if (is_operator("[")) return parse_list();
  if (is_operator("{")) return parse_dict();
  return syntax_error(token.at, "unexpected '" + describe(token) + "'");
}

ExpressionParser::ExpressionResult ExpressionParser::parse_string() {
  const Position at = current().at;
  std::string text;
  for (; current().type == TokenType::kString; advance()) text += current().text;
  return make(at, Literal{make_string(nullptr, std::move(text))}, 0);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_number() {
  const Token token = current();
  advance();
  const char* const end = token.text.data() + token.text.size();
  if (token.type == TokenType::kFloat) {
    double value = 0;
    // Out of range leaves the value alone: too large is Python's inf, too small its 0.0.
    if (std::from_chars(token.text.data(), end, value).ec != std::errc{})
      value = std::strtod(token.text.c_str(), nullptr);
    return make(token.at, Literal{Value::floating(value)}, 0);
  }
  int base = 10;
  const char* begin = token.text.data();
  if (token.text.size() > 2 && token.text[0] == '0' && !(token.text[1] >= '0' && token.text[1] <= '9')) {
    const char letter = static_cast<char>(token.text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
    begin += 2;
  }
  int64_t value = 0;
  if (std::from_chars(begin, end, value, base).ec != std::errc{})
    return syntax_error(token.at, "integer does not fit 64 bits");
  return make(token.at, Literal{Value::integer(value)}, 0);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_list() {
  const Position at = current().at;
  advance();
  ListDisplay list{{}, false};
  while (!is_operator("]")) {
    if (!list.items.empty()) AMPHORA_TRY(expect_operator(","));
    if (is_operator("]")) break;
    AMPHORA_ASSIGN(ExpressionPtr item, parse_expression());
    list.items.push_back(std::move(item));
  }
  AMPHORA_TRY(expect_operator("]"));
  const uint32_t height = height_of(list.items);
  return make(at, std::move(list), height);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_dict() {
  const Position at = current().at;
  advance();
  DictDisplay dict;
  uint32_t height = 0;
  while (!is_operator("}")) {
    if (!dict.entries.empty()) AMPHORA_TRY(expect_operator(","));
    if (is_operator("}")) break;
    AMPHORA_ASSIGN(ExpressionPtr key, parse_expression());
    AMPHORA_TRY(expect_operator(":"));
    AMPHORA_ASSIGN(ExpressionPtr value, parse_expression());
    height = std::max({height, height_of(key), height_of(value)});
    dict.entries.emplace_back(std::move(key), std::move(value));
  }
  AMPHORA_TRY(expect_operator("}"));
  return make(at, std::move(dict), height);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_tuple(bool with_conditional,
                                                                 std::string_view end_name,
                                                                 bool in_parentheses) {
  const Position at = current().at;
  ListDisplay tuple{{}, false};
  while (true) {
    if (!tuple.items.empty()) AMPHORA_TRY(expect_operator(","));
    if (current().type == TokenType::kVariableEnd || current().type == TokenType::kBlockEnd ||
        is_operator(")") || (!end_name.empty() && is_name(end_name)))
      break;
    AMPHORA_ASSIGN(ExpressionPtr item, parse_expression(with_conditional));
    tuple.items.push_back(std::move(item));
    if (!is_operator(",")) break;
    tuple.is_tuple = true;
  }
  if (!tuple.is_tuple) {
    if (!tuple.items.empty()) return std::move(tuple.items.front());
    if (!in_parentheses)
      return syntax_error(current().at, "Expected an expression, got '" + describe(current()) + "'");
    tuple.is_tuple = true;
  }
  const uint32_t height = height_of(tuple.items);
  return make(at, std::move(tuple), height);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_postfix(ExpressionPtr operand) {
  while (true) {
    if (is_operator(".") || is_operator("[")) {
      AMPHORA_ASSIGN(operand, parse_subscript(std::move(operand)));
    } else if (is_operator("(")) {
      AMPHORA_ASSIGN(operand, parse_call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

ExpressionParser::ExpressionResult ExpressionParser::parse_filters_and_tests(ExpressionPtr operand) {
  while (true) {
    if (is_operator("|")) {
      AMPHORA_ASSIGN(operand, parse_filters(std::move(operand)));
    } else if (is_name("is")) {
      AMPHORA_ASSIGN(operand, parse_test(std::move(operand)));
    } else if (is_operator("(")) {
      AMPHORA_ASSIGN(operand, parse_call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

ExpressionParser::ExpressionResult ExpressionParser::parse_subscript(ExpressionPtr object) {
  const Position at = current().at;
  const uint32_t height = height_of(object);
  if (skip_operator(".")) {
    const Token token = current();
    advance();
    if (token.type == TokenType::kName) return make(at, Attribute{std::move(object), token.text}, height);
    if (token.type != TokenType::kInteger) return syntax_error(token.at, "expected name or number");
    int64_t index = 0;
    if (std::from_chars(token.text.data(), token.text.data() + token.text.size(), index).ec != std::errc{})
      return syntax_error(token.at, "integer does not fit 64 bits");
    AMPHORA_ASSIGN(ExpressionPtr literal, make(token.at, Literal{Value::integer(index)}, 0));
    return make(at, Subscript{std::move(object), std::move(literal)}, height);
  }
  advance();
  ListDisplay indices{{}, true};
  while (!is_operator("]")) {
    if (!indices.items.empty()) AMPHORA_TRY(expect_operator(","));
    AMPHORA_ASSIGN(ExpressionPtr index, parse_index());
    indices.items.push_back(std::move(index));
  }
  AMPHORA_TRY(expect_operator("]"));
  const uint32_t combined = std::max(height, height_of(indices.items));
  ExpressionPtr index;
  if (indices.items.size() == 1) {
    index = std::move(indices.items.front());
  } else {
    AMPHORA_ASSIGN(index, make(at, std::move(indices), combined));
  }
  const uint32_t height_below = std::max(combined, height_of(index));
  return make(at, Subscript{std::move(object), std::move(index)}, height_below);
}

ExpressionParser::ExpressionResult ExpressionParser::parse_index() {
  const Position at = current().at;
  Slice slice;
  if (!is_operator(":")) {
    AMPHORA_ASSIGN(slice.start, parse_expression());
    if (!is_operator(":")) return std::move(slice.start);
  }
  advance();
  if (!is_operator(":") && !is_operator("]") && !is_operator(",")) {
    AMPHORA_ASSIGN(slice.stop, parse_expression());
  }
  if (skip_operator(":") && !is_operator("]") && !is_operator(",")) {
    AMPHORA_ASSIGN(slice.step, parse_expression());
  }
  const uint32_t height = std::max({height_of(slice.start), height_of(slice.stop), height_of(slice.step)});
  return make(at, std::move(slice), height);
}

Result<ArgumentList> ExpressionParser::parse_arguments() {
  const Position at = current().at;
  AMPHORA_TRY(expect_operator("("));
  ArgumentList arguments;
  bool needs_comma = false;
  const auto misplaced = [&] { return syntax_error(at, "invalid syntax for function call expression"); };
  while (!is_operator(")")) {
    if (needs_comma) {
      AMPHORA_TRY(expect_operator(","));
      if (is_operator(")")) break;
    }
    needs_comma = true;
    if (skip_operator("*")) {
      if (arguments.unpacked || arguments.unpacked_named) return misplaced();
      AMPHORA_ASSIGN(arguments.unpacked, parse_expression());
    } else if (skip_operator("**")) {
      if (arguments.unpacked_named) return misplaced();
      AMPHORA_ASSIGN(arguments.unpacked_named, parse_expression());
    } else if (current().type == TokenType::kName && following().type == TokenType::kOperator &&
               following().text == "=") {
      if (arguments.unpacked_named) return misplaced();
      std::string name = current().text;
      if (std::ranges::any_of(arguments.named, [&](const auto& other) { return other.first == name; }))
        return syntax_error(current().at, "keyword argument repeated: " + name);
      advance();
      advance();
      AMPHORA_ASSIGN(ExpressionPtr value, parse_expression());
      arguments.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (arguments.unpacked || arguments.unpacked_named || !arguments.named.empty()) return misplaced();
      AMPHORA_ASSIGN(ExpressionPtr value, parse_expression());
      arguments.positional.push_back(std::move(value));
    }
  }
  AMPHORA_TRY(expect_operator(")"));
  return arguments;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_call(ExpressionPtr callee) {
  const Position at = current().at;
  AMPHORA_ASSIGN(ArgumentList arguments, parse_arguments());
  const uint32_t height = std::max(height_of(callee), height_of(arguments));
  return make(at, Call{std::move(callee), std::move(arguments)}, height);
}

Result<std::string> ExpressionParser::parse_dotted_name() {
  AMPHORA_ASSIGN(std::string name, expect_identifier());
  while (skip_operator(".")) {
    AMPHORA_ASSIGN(const std::string part, expect_identifier());
    name += "." + part;
  }
  return name;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_filters(ExpressionPtr operand,
                                                                   bool starts_at_name) {
  while (is_operator("|") || starts_at_name) {
    if (!starts_at_name) advance();
    starts_at_name = false;
    const Position at = current().at;
    AMPHORA_ASSIGN(std::string name, parse_dotted_name());
    const NativeFunction function = find_filter(name);
    if (function == nullptr && !in_branch_)
      unknown_.push_back(syntax_error(at, "No filter named '" + name + "'.").error());
    ArgumentList arguments;
    if (is_operator("(")) {
      AMPHORA_ASSIGN(arguments, parse_arguments());
    }
    const uint32_t height = std::max(height_of(operand), height_of(arguments));
    AMPHORA_ASSIGN(
        operand,
        make(at, FilterCall{std::move(operand), std::move(name), function, std::move(arguments)}, height));
  }
  return operand;
}

ExpressionParser::ExpressionResult ExpressionParser::parse_test(ExpressionPtr operand) {
  advance();  // "is"
  const bool negated = skip_name("not");
  const Position at = current().at;
  AMPHORA_ASSIGN(const std::string name, parse_dotted_name());
  ArgumentList arguments;
  const TokenType type = current().type;
  if (is_operator("(")) {
    AMPHORA_ASSIGN(arguments, parse_arguments());
  } else if ((type == TokenType::kName || type == TokenType::kString || type == TokenType::kInteger ||
              type == TokenType::kFloat || is_operator("[") || is_operator("{")) &&
             !is_name("else") && !is_name("or") && !is_name("and")) {
    // Any other word is an argument, "if" too: `x is defined if y` means `x is defined(if)`, a syntax error
    // after it.
    if (is_name("is")) return syntax_error(current().at, "You cannot chain multiple tests with is");
    AMPHORA_ASSIGN(ExpressionPtr argument, parse_primary());
    AMPHORA_ASSIGN(argument, parse_postfix(std::move(argument)));
    arguments.positional.push_back(std::move(argument));
  }
  const NativeFunction function = find_test(name);
  if (function == nullptr && !in_branch_)
    unknown_.push_back(syntax_error(at, "No test named '" + name + "'.").error());
  const uint32_t height = std::max(height_of(operand), height_of(arguments));
  AMPHORA_ASSIGN(ExpressionPtr test,
                 make(at, TestCall{std::move(operand), name, function, std::move(arguments)}, height));
  if (!negated) return test;
  return make(at, Unary{UnaryOperator::kNot, std::move(test)}, height + 1);
}

}  // namespace amphora::text::jinja
