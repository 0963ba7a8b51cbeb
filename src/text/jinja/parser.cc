// Statements of the template language: see parser.h.
#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "text/jinja/errors.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"
#include "text/jinja/symbols.h"

namespace amphora::text::jinja {
namespace {

/// Sets a variable for the length of a scope.
template <class T>
class Temporarily {
 public:
  Temporarily(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;
  ~Temporarily() { variable_ = std::move(before_); }

 private:
  T& variable_;
  T before_;
};

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<ScopedBlock> run() {
    ScopedBlock result;
    AMPHORA_ASSIGN(result.statements, parse_until({}));
    if (!unknown_.empty()) return std::unexpected(unknown_.front());
    resolve_symbols(result);
    return result;
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  // Statements up to a tag whose name is in `ends`, which becomes the current token; without ends, up to the
  // end of the template.
  Result<Block> parse_until(Words ends) {
    const Nesting nesting(nesting_);
    if (!nesting.ok()) return too_deep();
    Block block;
    while (true) {
      const Token& token = current();
      if (token.type == TokenType::kEnd) {
        if (ends.size() != 0) return unexpected_tag({}, ends, token.at);
        return block;
      }
      if (token.type == TokenType::kData) {
        block.push_back({token.at, Data{token.text}});
        advance();
      } else if (token.type == TokenType::kVariableBegin) {
        const Position at = token.at;
        advance();
        AMPHORA_ASSIGN(ExpressionPtr expression, parse_tuple());
        AMPHORA_TRY(expect(TokenType::kVariableEnd));
        block.push_back({at, Output{std::move(expression)}});
      } else {
        AMPHORA_TRY(expect(TokenType::kBlockBegin));
        if (std::ranges::any_of(ends, [&](std::string_view end) { return is_name(end); })) return block;
        AMPHORA_TRY(parse_statement(block, ends));
        AMPHORA_TRY(expect(TokenType::kBlockEnd));
      }
    }
  }

  // The body of a block tag: from the end of its opening tag.
  Result<Block> parse_body(std::string_view tag, Words ends) {
    skip_operator(":");
    AMPHORA_TRY(expect(TokenType::kBlockEnd));
    open_tags_.emplace_back(tag);
    auto block = parse_until(ends);
    open_tags_.pop_back();
    return block;
  }

  // As parse_body, with one possible end, which is passed.
  Result<Block> parse_whole_body(std::string_view tag, std::string_view end) {
    AMPHORA_ASSIGN(Block block, parse_body(tag, {end}));
    advance();
    return block;
  }

  std::unexpected<Error> unexpected_tag(std::string_view name, Words ends, Position at) const {
    std::string message =
        name.empty() ? "Unexpected end of template." : "Encountered unknown tag '" + std::string(name) + "'.";
    if (ends.size() != 0) {
      message += " Jinja was looking for the following tags: ";
      const char* separator = "'";
      for (const std::string_view end : ends) {
        message += separator + std::string(end) + "'";
        separator = " or '";
      }
      message += ".";
    }
    if (!open_tags_.empty())
      message += " The innermost block that needs to be closed is '" + open_tags_.back() + "'.";
    return syntax_error(at, message);
  }

  Status parse_statement(Block& block, Words ends) {
    if (current().type != TokenType::kName) return syntax_error(current().at, "tag name expected");
    const Position at = current().at;
    const std::string tag = current().text;
    using Rule = Result<Statement> (Parser::*)(Position);
    static constexpr std::pair<std::string_view, Rule> kRules[] = {{"if", &Parser::parse_if},
                                                                   {"for", &Parser::parse_for},
                                                                   {"set", &Parser::parse_set},
                                                                   {"with", &Parser::parse_with},
                                                                   {"macro", &Parser::parse_macro},
                                                                   {"call", &Parser::parse_call_block},
                                                                   {"break", &Parser::parse_break},
                                                                   {"generation", &Parser::parse_generation},
                                                                   {"filter", &Parser::parse_filter_block},
                                                                   {"continue", &Parser::parse_continue}};
    for (const auto& [name, rule] : kRules) {
      if (name != tag) continue;
      advance();
      AMPHORA_ASSIGN(Statement statement, (this->*rule)(at));
      block.push_back(std::move(statement));
      return {};
    }
    if (tag == "print") return parse_print(block, at);
    static constexpr std::string_view kOfOtherTemplates[] = {"block",  "extends", "include",
                                                             "import", "from",    "autoescape"};
    if (std::ranges::find(kOfOtherTemplates, tag) != std::end(kOfOtherTemplates)) {
      Error error{Fault::kUnsupported,
                  "TemplateSyntax",
                  {},
                  std::nullopt,
                  "tag '" + tag + "' is not supported in chat templates"};
      return std::unexpected(located(std::move(error), at));
    }
    return unexpected_tag(tag, ends, at);
  }

  Status parse_print(Block& block, Position at) {
    advance();
    for (bool first = true; current().type != TokenType::kBlockEnd; first = false) {
      if (!first) AMPHORA_TRY(expect_operator(","));
      AMPHORA_ASSIGN(ExpressionPtr expression, parse_expression());
      block.push_back({at, Output{std::move(expression)}});
    }
    return {};
  }

  Result<Statement> parse_if(Position at) {
    const Temporarily branch(in_branch_, true);
    If result;
    while (true) {
      AMPHORA_ASSIGN(ExpressionPtr condition, parse_tuple(false));
      AMPHORA_ASSIGN(Block body, parse_body("if", {"elif", "else", "endif"}));
      result.branches.emplace_back(std::move(condition), std::move(body));
      if (skip_name("elif")) continue;
      if (skip_name("else")) {
        AMPHORA_ASSIGN(result.otherwise, parse_whole_body("if", "endif"));
      } else {
        advance();
      }
      return Statement{at, std::move(result)};
    }
  }

  Result<Statement> parse_for(Position at) {
    const Temporarily in_for(in_for_, true);
    For result;
    AMPHORA_ASSIGN(result.target, parse_target(false));
    AMPHORA_TRY(expect_name("in"));
    AMPHORA_ASSIGN(result.iterable, parse_tuple(false, "recursive"));
    const Temporarily branch(in_branch_, false);
    if (skip_name("if")) {
      AMPHORA_ASSIGN(result.condition, parse_expression());
    }
    result.is_recursive = skip_name("recursive");
    {
      const Temporarily loop(in_loop_, true);
      AMPHORA_ASSIGN(result.body.statements, parse_body("for", {"endfor", "else"}));
    }
    if (skip_name("else")) {
      const Temporarily loop(in_loop_, in_loop_ && !result.is_recursive);  // a recursive loop is a function
      AMPHORA_ASSIGN(result.otherwise.statements, parse_whole_body("for", "endfor"));
    } else {
      advance();
    }
    return Statement{at, std::move(result)};
  }

  Result<Statement> parse_set(Position at) {
    AMPHORA_ASSIGN(Target target, parse_target(true));
    if (skip_operator("=")) {
      AMPHORA_ASSIGN(ExpressionPtr value, parse_tuple());
      return Statement{at, Set{std::move(target), std::move(value)}};
    }
    const Temporarily branch(in_branch_, false);
    AMPHORA_ASSIGN(ExpressionPtr filter, parse_filters(nullptr));
    AMPHORA_ASSIGN(Block body, parse_whole_body("set", "endset"));
    return Statement{at, SetBlock{std::move(target), std::move(filter), {std::move(body), {}}}};
  }

  Result<Statement> parse_with(Position at) {
    With result;
    while (current().type != TokenType::kBlockEnd) {
      if (!result.assignments.empty()) AMPHORA_TRY(expect_operator(","));
      AMPHORA_ASSIGN(Target target, parse_target(false));
      AMPHORA_TRY(expect_operator("="));
      AMPHORA_ASSIGN(ExpressionPtr value, parse_expression());
      result.assignments.emplace_back(std::move(target), std::move(value));
    }
    const Temporarily branch(in_branch_, false);
    AMPHORA_ASSIGN(result.body.statements, parse_whole_body("with", "endwith"));
    return Statement{at, std::move(result)};
  }

  Result<Statement> parse_filter_block(Position at) {
    const Temporarily branch(in_branch_, false);
    AMPHORA_ASSIGN(ExpressionPtr filter, parse_filters(nullptr, true));
    AMPHORA_ASSIGN(Block body, parse_whole_body("filter", "endfilter"));
    return Statement{at, FilterBlock{std::move(filter), {std::move(body), {}}}};
  }

  Result<Statement> parse_macro(Position at) {
    auto macro = std::make_shared<Callable>();
    AMPHORA_ASSIGN(macro->name, expect_identifier());
    AMPHORA_ASSIGN(macro->parameters, parse_parameters());
    AMPHORA_TRY(parse_callable_body(*macro, "macro", "endmacro", at));
    return Statement{at, MacroDefinition{std::move(macro)}};
  }

  Result<Statement> parse_call_block(Position at) {
    auto caller = std::make_shared<Callable>();
    if (is_operator("(")) {
      AMPHORA_ASSIGN(caller->parameters, parse_parameters());
    }
    AMPHORA_ASSIGN(ExpressionPtr call, parse_expression());
    const auto* node = std::get_if<Call>(&call->node);
    if (node == nullptr) return syntax_error(at, "expected call");
    for (const auto& [name, value] : node->arguments.named)
      if (name == "caller") return syntax_error(at, "keyword argument repeated: caller");
    AMPHORA_TRY(parse_callable_body(*caller, "call", "endcall", at));
    return Statement{at, CallBlock{std::move(caller), std::move(call)}};
  }

  Result<Statement> parse_generation(Position at) {
    const Temporarily branch(in_branch_, false);
    const Temporarily loop(in_loop_, false);
    AMPHORA_ASSIGN(Block body, parse_whole_body("generation", "endgeneration"));
    return Statement{at, Generation{{std::move(body), {}}}};
  }

  Result<Statement> parse_break(Position at) {
    if (!in_loop_) return syntax_error(at, "'break' outside loop");
    return Statement{at, Break{}};
  }

  Result<Statement> parse_continue(Position at) {
    if (!in_loop_) return syntax_error(at, "'continue' not properly in loop");
    return Statement{at, Continue{}};
  }

  Status parse_callable_body(Callable& callable, std::string_view tag, std::string_view end, Position at) {
    const Temporarily branch(in_branch_, false);
    const Temporarily loop(in_loop_, false);
    std::set<std::string> outer_names = std::exchange(read_names_, {});
    auto body = parse_whole_body(tag, end);
    if (!body) return std::unexpected(std::move(body).error());
    callable.body.statements = *std::move(body);
    const auto& names = callable.parameters.names;
    const auto is_parameter = [&](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    };
    const auto reads = [&](const char* name) { return read_names_.contains(name); };
    callable.uses_varargs = reads("varargs") && !is_parameter("varargs");
    callable.uses_kwargs = reads("kwargs") && !is_parameter("kwargs");
    callable.uses_caller = reads("caller");
    if (callable.uses_caller && is_parameter("caller")) {
      const auto index = static_cast<size_t>(std::ranges::find(names, "caller") - names.begin());
      if (index + callable.parameters.defaults.size() < names.size())
        return syntax_error(
            at,
            "When defining macros or call blocks the special \"caller\" argument must be omitted or "
            "be given a default.");
    }
    read_names_.merge(outer_names);
    return {};
  }

  Result<Parameters> parse_parameters() {
    AMPHORA_TRY(expect_operator("("));
    Parameters parameters;
    while (!is_operator(")")) {
      if (!parameters.names.empty()) AMPHORA_TRY(expect_operator(","));
      const Position at = current().at;
      AMPHORA_ASSIGN(std::string name, expect_identifier());
      AMPHORA_TRY(check_assignable(name, at));
      if (std::ranges::find(parameters.names, name) != parameters.names.end())
        return syntax_error(at, "duplicate argument '" + name + "' in function definition");
      if (skip_operator("=")) {
        AMPHORA_ASSIGN(ExpressionPtr value, parse_expression());
        parameters.defaults.push_back(std::move(value));
      } else if (!parameters.defaults.empty()) {
        return syntax_error(current().at, "non-default argument follows default argument");
      }
      parameters.names.push_back(std::move(name));
    }
    AMPHORA_TRY(expect_operator(")"));
    return parameters;
  }

  Status check_assignable(std::string_view name, Position at) const {
    static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::ranges::find(kConstants, name) != std::end(kConstants))
      return syntax_error(at, "can't assign to 'const'");
    return {};
  }

  // A name, or several with commas, possibly in parentheses. As in Jinja, neither `in` nor `=` ends them
  // after a comma: `in` is one more name there.
  Result<Target> parse_target(bool with_namespace) {
    Target result;
    result.at = current().at;
    while (true) {
      if (!result.parts.empty() && is_target_end()) break;
      AMPHORA_ASSIGN(Target part, parse_single_target(with_namespace));
      result.parts.push_back(std::move(part));
      if (!skip_operator(",")) break;
      result.is_tuple = true;
    }
    if (result.is_tuple) return result;
    return std::move(result.parts.front());
  }

  bool is_target_end() const {
    return current().type == TokenType::kBlockEnd || current().type == TokenType::kVariableEnd ||
           is_operator(")");
  }

  Result<Target> parse_single_target(bool with_namespace) {
    const Nesting nesting(nesting_);
    if (!nesting.ok()) return too_deep();
    const Position at = current().at;
    if (skip_operator("(")) {
      AMPHORA_ASSIGN(Target inner, parse_target(false));
      AMPHORA_TRY(expect_operator(")"));
      return inner;
    }
    if (current().type == TokenType::kName) {
      Target target{at, current().text, std::nullopt, {}};
      advance();
      AMPHORA_TRY(check_assignable(target.name, at));
      if (with_namespace && skip_operator(".")) {
        AMPHORA_ASSIGN(target.attribute, expect_identifier());
      } else if (in_for_ && target.name == "loop") {
        return syntax_error(at, "Can't assign to special loop variable in for-loop target");
      }
      return target;
    }
    if (current().type == TokenType::kString || current().type == TokenType::kInteger ||
        current().type == TokenType::kFloat)
      return syntax_error(at, "can't assign to 'const'");
    return syntax_error(at, "unexpected '" + describe(current()) + "'");
  }

  std::vector<std::string> open_tags_;
  bool in_for_ = false;   ///< anywhere within a for, where `loop` cannot be assigned to
  bool in_loop_ = false;  ///< where break and continue make sense
};

}  // namespace

Result<ScopedBlock> parse_template(std::string_view source) {
  AMPHORA_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace amphora::text::jinja
