// From tokens to the tree of a template. For text's own use.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/jinja/lexer.h"
#include "headlight/text/jinja/syntax.h"

namespace headlight::text::jinja {

// Throws Error(bad_input) with the line of the mistake.
Statements parse_template(std::string_view source, const std::string& name);

// The tokens, one after the other, and what expressions are made of.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}

 protected:
  const Token& current() const { return tokens_[next_]; }
  const Token& look() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool skip_name(std::string_view name);
  bool skip_symbol(std::string_view symbol);
  void expect_symbol(std::string_view symbol);
  std::string expect_name();
  [[noreturn]] void refuse(std::string_view why) const;
  [[noreturn]] void refuse_token() const;

  // One level deeper while it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  ExpressionHandle expression();
  ExpressionHandle expression_without_condition();
  // a, b: a tuple; without a comma, what stands there. `end` is a name that may follow a comma.
  ExpressionHandle tuple(std::string_view end = {}, bool has_condition = true);
  ExpressionHandle tuple_in_parentheses();
  // What can be assigned to: a name, a member of a namespace, or a tuple of these.
  ExpressionHandle target(std::string_view end, bool with_members);
  ExpressionHandle postfix(ExpressionHandle value);
  ExpressionHandle filter(ExpressionHandle value);  // after the |
  ExpressionHandle filters(ExpressionHandle value);
  Arguments arguments();

  // Names that the body of a macro uses.
  struct UsedNames {
    bool caller = false;
    bool rest = false;
    bool named_rest = false;
  };
  UsedNames used_ = {};
  // Inside of what may never be evaluated: an unknown filter is told only when it is used.
  int maybe_ = 0;

 private:
  friend class Nesting;
  ExpressionHandle made(Expression expression) const;
  ExpressionHandle made_of(ExpressionKind kind, int64_t line, ExpressionHandle left,
                           ExpressionHandle right = {}, std::string name = {}) const;
  ExpressionHandle either();
  ExpressionHandle both();
  ExpressionHandle negation();
  ExpressionHandle comparison();
  ExpressionHandle sum();
  ExpressionHandle joined();
  ExpressionHandle product();
  ExpressionHandle power();
  ExpressionHandle unary(bool with_filters = true);
  ExpressionHandle primary();
  ExpressionHandle named();
  ExpressionHandle number();
  ExpressionHandle list();
  ExpressionHandle dict();
  ExpressionHandle subscript(ExpressionHandle value);
  ExpressionHandle in_brackets(ExpressionHandle value, int64_t line);
  ExpressionHandle test(ExpressionHandle value);
  ExpressionHandle single_target(bool with_members);
  bool is_tuple_end(std::string_view end) const;

  std::vector<Token> tokens_;
  std::string name_;
  size_t next_ = 0;
  int nesting_ = 0;
};

}  // namespace headlight::text::jinja
