// Expressions of the template language, by recursive descent; the base of the statement parser.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amphora/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace amphora::text::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  using ExpressionResult = Result<ExpressionPtr>;

  const Token& current() const { return tokens_[index_]; }
  const Token& following() const { return tokens_[std::min(index_ + 1, tokens_.size() - 1)]; }
  void advance() {
    if (index_ + 1 < tokens_.size()) ++index_;
  }
  bool is_operator(std::string_view text) const {
    return current().type == TokenType::kOperator && current().text == text;
  }
  bool is_name(std::string_view text) const {
    return current().type == TokenType::kName && current().text == text;
  }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  Status expect_operator(std::string_view text);
  Status expect_name(std::string_view text);
  /// Any name.
  Result<std::string> expect_identifier();
  Status expect(TokenType type);
  std::unexpected<Error> unexpected_token(std::string_view wanted) const;

  ExpressionResult parse_expression(bool with_conditional = true);
  /// One expression, or a tuple of several without parentheses. `end_name` is a word that ends it.
  ExpressionResult parse_tuple(bool with_conditional = true, std::string_view end_name = {},
                               bool in_parentheses = false);
  /// A chain of filters on `operand`; with `starts_at_name`, the first comes without its bar.
  ExpressionResult parse_filters(ExpressionPtr operand, bool starts_at_name = false);
  Result<ArgumentList> parse_arguments();

  /// Guards native stack: one level of recursion of the parser.
  class Nesting {
   public:
    explicit Nesting(uint32_t& depth) : depth_(depth) { ++depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --depth_; }
    bool ok() const { return depth_ <= kMaxNesting; }

   private:
    uint32_t& depth_;
  };
  std::unexpected<Error> too_deep() const;

  uint32_t nesting_ = 0;
  /// Directly within an {% if %}: there, as in jinja2, an unknown filter or test is an error only when it is
  /// called.
  bool in_branch_ = false;
  /// Errors of filters and tests that do not exist, until it is known that no conditional expression defers
  /// them.
  std::vector<Error> unknown_;
  /// Names read since a macro began: tells whether it uses caller, varargs or kwargs.
  std::set<std::string> read_names_;

 private:
  template <class Node>
  ExpressionResult make(Position at, Node node, uint32_t height_below) const;

  ExpressionResult parse_conditional();
  ExpressionResult parse_or();
  ExpressionResult parse_and();
  ExpressionResult parse_not();
  ExpressionResult parse_compare();
  Result<std::optional<Comparison>> take_comparison();
  ExpressionResult parse_sum();
  ExpressionResult parse_concatenation();
  ExpressionResult parse_product();
  ExpressionResult parse_power();
  ExpressionResult parse_unary(bool with_filters = true);
  ExpressionResult parse_primary();
  ExpressionResult parse_number();
  ExpressionResult parse_string();
  ExpressionResult parse_list();
  ExpressionResult parse_dict();
  ExpressionResult parse_postfix(ExpressionPtr operand);
  ExpressionResult parse_filters_and_tests(ExpressionPtr operand);
  ExpressionResult parse_test(ExpressionPtr operand);
  ExpressionResult parse_subscript(ExpressionPtr object);
  ExpressionResult parse_index();
  ExpressionResult parse_call(ExpressionPtr callee);
  Result<std::string> parse_dotted_name();
  using Level = ExpressionResult (ExpressionParser::*)();
  ExpressionResult parse_binary_chain(
      Level operand, std::initializer_list<std::pair<std::string_view, BinaryOperator>> operators);

  std::vector<Token> tokens_;
  size_t index_ = 0;
};

/// What a token is called in messages.
std::string describe(const Token& token);

}  // namespace amphora::text::jinja
