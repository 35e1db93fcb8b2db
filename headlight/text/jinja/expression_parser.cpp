// Expressions, a function for each level of precedence.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "headlight/text/jinja/library.h"
#include "headlight/text/jinja/parser.h"

namespace headlight::text::jinja {
namespace {

constexpr int kMostNesting = 150;  // of parentheses, blocks and the like
constexpr int kMostLevelsOfTree = 300;

int depth_of(const ExpressionHandle& part) { return part ? part->depth : 0; }

int depth_of(const Expression& expression) {
  int depth = 0;
  for (const ExpressionHandle& part : expression.parts) depth = std::max(depth, depth_of(part));
  const Arguments& arguments = expression.arguments;
  for (const ExpressionHandle& part : arguments.positional) depth = std::max(depth, depth_of(part));
  for (const auto& [name, part] : arguments.named) depth = std::max(depth, depth_of(part));
  return 1 + std::max({depth, depth_of(arguments.rest), depth_of(arguments.named_rest)});
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (parser_.nesting_ >= kMostNesting) parser_.refuse("nests too deep");
  ++parser_.nesting_;
}

void ExpressionParser::refuse(std::string_view why) const {
  refuse_template(name_, current().line, why);
}

void ExpressionParser::refuse_token() const { refuse(unexpected(current())); }

Token ExpressionParser::take() {
  Token token = std::move(tokens_[next_]);
  // The end stays.
  if (next_ + 1 < tokens_.size()) {
    ++next_;
  } else {
    tokens_[next_] = token;
  }
  return token;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_symbol(std::string_view symbol) {
  if (!current().is_symbol(symbol)) return false;
  take();
  return true;
}

void ExpressionParser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) refuse_token();
}

std::string ExpressionParser::expect_name() {
  if (current().kind != TokenKind::name) refuse_token();
  const std::string& name = current().text;
  if (name[0] >= '0' && name[0] <= '9') refuse_token();
  return take().text;
}

ExpressionHandle ExpressionParser::made(Expression expression) const {
  expression.depth = depth_of(expression);
  if (expression.depth > kMostLevelsOfTree) refuse("an expression has too many levels");
  return std::make_unique<const Expression>(std::move(expression));
}

ExpressionHandle ExpressionParser::made_of(ExpressionKind kind, int64_t line, ExpressionHandle left,
                                           ExpressionHandle right, std::string name) const {
  Expression made_up{.kind = kind, .line = line, .name = std::move(name)};
  made_up.parts.push_back(std::move(left));
  if (right) made_up.parts.push_back(std::move(right));
  return made(std::move(made_up));
}

ExpressionHandle ExpressionParser::expression() {
  const Nesting nesting(*this);
  ExpressionHandle value = either();
  while (current().is_name("if")) {
    const int64_t line = take().line;
    ++maybe_;
    Expression conditional{.kind = ExpressionKind::conditional, .line = line};
    conditional.parts.push_back(either());
    conditional.parts.push_back(std::move(value));
    conditional.parts.push_back(skip_name("else") ? expression() : nullptr);
    --maybe_;
    value = made(std::move(conditional));
  }
  return value;
}

ExpressionHandle ExpressionParser::expression_without_condition() {
  const Nesting nesting(*this);
  return either();
}

ExpressionHandle ExpressionParser::either() {
  ExpressionHandle left = both();
  while (current().is_name("or")) {
    const int64_t line = take().line;
    left = made_of(ExpressionKind::either, line, std::move(left), both());
  }
  return left;
}

ExpressionHandle ExpressionParser::both() {
  ExpressionHandle left = negation();
  while (current().is_name("and")) {
    const int64_t line = take().line;
    left = made_of(ExpressionKind::both, line, std::move(left), negation());
  }
  return left;
}

ExpressionHandle ExpressionParser::negation() {
  if (!current().is_name("not")) return comparison();
  const Nesting nesting(*this);
  const int64_t line = take().line;
  return made_of(ExpressionKind::negation, line, negation());
}

ExpressionHandle ExpressionParser::comparison() {
  constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  Expression chain{.kind = ExpressionKind::comparison, .line = current().line};
  chain.parts.push_back(sum());
  for (;;) {
    const Token& token = current();
    std::string name;
    if (token.kind == TokenKind::symbol &&
        std::ranges::find(kOperators, token.text) != std::end(kOperators)) {
      name = take().text;
    } else if (skip_name("in")) {
      name = "in";
    } else if (token.is_name("not") && look().is_name("in")) {
      take();
      take();
      name = "not in";
    } else {
      break;
    }
    chain.operators.push_back(std::move(name));
    chain.parts.push_back(sum());
  }
  if (chain.operators.empty()) return std::move(chain.parts[0]);
  return made(std::move(chain));
}

ExpressionHandle ExpressionParser::sum() {
  ExpressionHandle left = joined();
  while (current().is_symbol("+") || current().is_symbol("-")) {
    const Token sign = take();
    left = made_of(ExpressionKind::binary, sign.line, std::move(left), joined(), sign.text);
  }
  return left;
}

ExpressionHandle ExpressionParser::joined() {
  Expression all{.kind = ExpressionKind::joined, .line = current().line};
  all.parts.push_back(product());
  while (skip_symbol("~")) all.parts.push_back(product());
  if (all.parts.size() == 1) return std::move(all.parts[0]);
  return made(std::move(all));
}

ExpressionHandle ExpressionParser::product() {
  constexpr std::string_view kOperators[] = {"*", "/", "//", "%"};
  ExpressionHandle left = power();
  while (current().kind == TokenKind::symbol &&
         std::ranges::find(kOperators, current().text) != std::end(kOperators)) {
    const Token sign = take();
    left = made_of(ExpressionKind::binary, sign.line, std::move(left), power(), sign.text);
  }
  return left;
}

ExpressionHandle ExpressionParser::power() {
  ExpressionHandle left = unary();
  while (current().is_symbol("**")) {
    const int64_t line = take().line;
    left = made_of(ExpressionKind::binary, line, std::move(left), unary(), "**");
  }
  return left;
}

ExpressionHandle ExpressionParser::unary(bool with_filters) {
  const Nesting nesting(*this);
  ExpressionHandle value;
  if (current().is_symbol("-") || current().is_symbol("+")) {
    const Token sign = take();
    value = made_of(ExpressionKind::unary, sign.line, unary(false), {}, sign.text);
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters(std::move(value)) : std::move(value);
}

ExpressionHandle ExpressionParser::primary() {
  const Token& token = current();
  if (token.kind == TokenKind::name) return named();
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) return number();
  if (token.kind == TokenKind::string) {
    const int64_t line = token.line;
    std::string text;
    while (current().kind == TokenKind::string) text += take().text;
    return made({.kind = ExpressionKind::constant, .line = line, .constant = Value(text)});
  }
  if (token.is_symbol("(")) return tuple_in_parentheses();
  if (token.is_symbol("[")) return list();
  if (token.is_symbol("{")) return dict();
  refuse_token();
}

ExpressionHandle ExpressionParser::named() {
  const int64_t line = current().line;
  const std::string name = expect_name();
  Expression result{.kind = ExpressionKind::constant, .line = line};
  if (name == "true" || name == "True") {
    result.constant = Value(true);
  } else if (name == "false" || name == "False") {
    result.constant = Value(false);
  } else if (name != "none" && name != "None") {
    result.kind = ExpressionKind::name;
    result.name = name;
    used_.caller |= name == "caller";
    used_.rest |= name == "varargs";
    used_.named_rest |= name == "kwargs";
  }
  return made(std::move(result));
}

ExpressionHandle ExpressionParser::number() {
  const Token& token = current();
  Expression result{.kind = ExpressionKind::constant, .line = token.line};
  if (token.kind == TokenKind::real) {
    result.constant = Value(io::parse_number<double>(token.text).value_or(HUGE_VAL));
  } else {
    const std::string_view text = token.text;
    const bool has_base = text.size() > 2 && text[0] == '0' && std::isalpha(text[1]) != 0;
    const char letter = has_base ? static_cast<char>(text[1] | 0x20) : '\0';
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    const std::string_view digits = text.substr(has_base ? 2 : 0);
    int64_t value = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (problem != std::errc() || end != digits.data() + digits.size()) {
      refuse("the number " + io::in_quotes(text) + " is none, or too large");
    }
    result.constant = Value(value);
  }
  take();
  return made(std::move(result));
}

ExpressionHandle ExpressionParser::list() {
  Expression result{.kind = ExpressionKind::list, .line = current().line};
  expect_symbol("[");
  while (!skip_symbol("]")) {
    if (!result.parts.empty()) {
      expect_symbol(",");
      if (skip_symbol("]")) break;
    }
    result.parts.push_back(expression());
  }
  return made(std::move(result));
}

ExpressionHandle ExpressionParser::dict() {
  Expression result{.kind = ExpressionKind::dict, .line = current().line};
  expect_symbol("{");
  while (!skip_symbol("}")) {
    if (!result.parts.empty()) {
      expect_symbol(",");
      if (skip_symbol("}")) break;
    }
    result.parts.push_back(expression());
    expect_symbol(":");
    result.parts.push_back(expression());
  }
  return made(std::move(result));
}

bool ExpressionParser::is_tuple_end(std::string_view end) const {
  const Token& token = current();
  return token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end ||
         token.is_symbol(")") || (!end.empty() && token.is_name(end));
}

ExpressionHandle ExpressionParser::tuple(std::string_view end, bool has_condition) {
  Expression result{.kind = ExpressionKind::tuple, .line = current().line};
  bool is_tuple = false;
  while (result.parts.empty() || !is_tuple_end(end)) {
    result.parts.push_back(has_condition ? expression() : expression_without_condition());
    if (!current().is_symbol(",")) break;
    take();
    is_tuple = true;
  }
  return is_tuple ? made(std::move(result)) : std::move(result.parts[0]);
}

ExpressionHandle ExpressionParser::tuple_in_parentheses() {
  const int64_t line = current().line;
  expect_symbol("(");
  if (skip_symbol(")")) return made({.kind = ExpressionKind::tuple, .line = line});
  ExpressionHandle result = tuple();
  expect_symbol(")");
  return result;
}

ExpressionHandle ExpressionParser::single_target(bool with_members) {
  const int64_t line = current().line;
  if (current().is_symbol("(")) {
    const Nesting nesting(*this);
    take();
    ExpressionHandle result = target({}, with_members);
    expect_symbol(")");
    return result;
  }
  std::string name = expect_name();
  for (const char* constant : {"true", "false", "True", "False", "none", "None"}) {
    if (name == constant) refuse("cannot assign to " + name);
  }
  if (!with_members || !skip_symbol(".")) {
    return made({.kind = ExpressionKind::name, .line = line, .name = std::move(name)});
  }
  return made({.kind = ExpressionKind::member,
               .line = line,
               .constant = Value(expect_name()),
               .name = std::move(name)});
}

ExpressionHandle ExpressionParser::target(std::string_view end, bool with_members) {
  Expression result{.kind = ExpressionKind::tuple, .line = current().line};
  bool is_tuple = false;
  while (result.parts.empty() || !is_tuple_end(end)) {
    result.parts.push_back(single_target(with_members));
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  return is_tuple ? made(std::move(result)) : std::move(result.parts[0]);
}

ExpressionHandle ExpressionParser::postfix(ExpressionHandle value) {
  for (;;) {
    if (current().is_symbol(".") || current().is_symbol("[")) {
      value = subscript(std::move(value));
    } else if (current().is_symbol("(")) {
      Expression call{.kind = ExpressionKind::call, .line = current().line};
      call.parts.push_back(std::move(value));
      call.arguments = arguments();
      value = made(std::move(call));
    } else {
      return value;
    }
  }
}

ExpressionHandle ExpressionParser::subscript(ExpressionHandle value) {
  const Token sign = take();
  if (sign.text == "[") return in_brackets(std::move(value), sign.line);
  if (current().kind == TokenKind::integer) {
    ExpressionHandle index = number();
    return made_of(ExpressionKind::subscript, sign.line, std::move(value), std::move(index));
  }
  return made_of(ExpressionKind::attribute, sign.line, std::move(value), {}, expect_name());
}

ExpressionHandle ExpressionParser::in_brackets(ExpressionHandle value, int64_t line) {
  Expression slice{.kind = ExpressionKind::slice, .line = line};
  slice.parts.push_back(std::move(value));
  bool is_slice = false;
  for (int part = 0; part < 3; ++part) {
    const bool is_left_out = current().is_symbol(":") || current().is_symbol("]");
    slice.parts.push_back(is_left_out ? nullptr : expression());
    if (part < 2 && skip_symbol(":")) {
      is_slice = true;
    } else {
      break;
    }
  }
  if (!current().is_symbol("]")) refuse_token();
  take();
  if (is_slice) {
    slice.parts.resize(4);
  } else {
    if (!slice.parts[1]) refuse("nothing stands between [ and ]");
    slice.kind = ExpressionKind::subscript;
  }
  return made(std::move(slice));
}

Arguments ExpressionParser::arguments() {
  Arguments result;
  expect_symbol("(");
  bool is_first = true;
  while (!skip_symbol(")")) {
    if (!is_first) {
      expect_symbol(",");
      if (skip_symbol(")")) break;
    }
    is_first = false;
    if (current().is_symbol("*")) {
      if (result.rest || result.named_rest) refuse_token();
      take();
      result.rest = expression();
    } else if (current().is_symbol("**")) {
      if (result.named_rest) refuse_token();
      take();
      result.named_rest = expression();
    } else if (current().kind == TokenKind::name && look().is_symbol("=")) {
      if (result.named_rest) refuse_token();
      std::string name = expect_name();
      for (const auto& [other, value] : result.named) {
        if (other == name) refuse("the argument " + io::in_quotes(name) + " is given twice");
      }
      take();
      result.named.emplace_back(std::move(name), expression());
    } else {
      if (result.rest || result.named_rest || !result.named.empty()) refuse_token();
      result.positional.push_back(expression());
    }
  }
  return result;
}

ExpressionHandle ExpressionParser::filter(ExpressionHandle value) {
  Expression result{.kind = ExpressionKind::filter, .line = current().line};
  result.name = expect_name();
  if (maybe_ == 0 && !has_filter(result.name)) {
    refuse("there is no filter " + io::in_quotes(result.name));
  }
  result.parts.push_back(std::move(value));
  if (current().is_symbol("(")) result.arguments = arguments();
  return made(std::move(result));
}

ExpressionHandle ExpressionParser::filters(ExpressionHandle value) {
  for (;;) {
    if (skip_symbol("|")) {
      value = filter(std::move(value));
    } else if (current().is_name("is")) {
      value = test(std::move(value));
    } else if (current().is_symbol("(")) {
      value = postfix(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionHandle ExpressionParser::test(ExpressionHandle value) {
  const int64_t line = take().line;
  const bool is_negated = skip_name("not");
  Expression result{.kind = ExpressionKind::test, .line = line};
  result.name = expect_name();
  if (maybe_ == 0 && !has_test(result.name)) {
    refuse("there is no test " + io::in_quotes(result.name));
  }
  result.parts.push_back(std::move(value));
  const Token& next = current();
  if (next.is_symbol("(")) {
    result.arguments = arguments();
  } else if (next.is_name("is")) {
    refuse("tests with is cannot follow each other");
  } else if ((next.kind == TokenKind::name && !next.is_name("else") && !next.is_name("or") &&
              !next.is_name("and")) ||
             next.kind == TokenKind::string || next.kind == TokenKind::integer ||
             next.kind == TokenKind::real || next.is_symbol("[") || next.is_symbol("{")) {
    const Nesting nesting(*this);
    result.arguments.positional.push_back(postfix(primary()));
  }
  ExpressionHandle tested = made(std::move(result));
  return is_negated ? made_of(ExpressionKind::negation, line, std::move(tested))
                    : std::move(tested);
}

}  // namespace headlight::text::jinja
