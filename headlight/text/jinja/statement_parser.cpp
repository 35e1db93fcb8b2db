// Statements: tags {% … %} with what stands between them.
#include <algorithm>
#include <set>
#include <utility>

#include "headlight/text/jinja/parser.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

constexpr size_t kMostBytes = 1'000'000;  // of a template

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Statements whole() {
    Statements all = statements({});
    if (current().kind != TokenKind::end) refuse_token();
    return all;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  // Up to a tag that begins with one of the names, which is the current token then.
  Statements statements(Ends ends) {
    const Nesting nesting(*this);
    Statements all;
    while (current().kind != TokenKind::end) {
      const int64_t line = current().line;
      if (current().kind == TokenKind::data) {
        all.push_back({.kind = StatementKind::text, .line = line, .text = take().text});
      } else if (current().kind == TokenKind::variable_begin) {
        take();
        Statement output{.kind = StatementKind::output, .line = line};
        output.expressions.push_back(tuple());
        if (current().kind != TokenKind::variable_end) refuse_token();
        take();
        all.push_back(std::move(output));
      } else {
        take();
        if (std::ranges::any_of(ends, [&](auto name) { return current().is_name(name); })) {
          return all;
        }
        all.push_back(statement(line));
        end_tag();
      }
    }
    if (ends.size() > 0) {
      refuse("the template ends before {% " + std::string(*(ends.end() - 1)) + " %}");
    }
    return all;
  }

  // The body of a tag that ends with {% name %}; the name has been read then.
  Statements body_up_to(std::string_view name) {
    end_tag();
    Statements body = statements({name});
    take();
    return body;
  }

  void end_tag() {
    if (current().kind != TokenKind::block_end) refuse_token();
    take();
  }

  Statement statement(int64_t line) {
    if (current().kind != TokenKind::name) refuse_token();
    const std::string name = take().text;
    if (name == "if") return condition(line);
    if (name == "for") return loop(line);
    if (name == "set") return assignment(line);
    if (name == "macro") return macro(line);
    if (name == "call") return call(line);
    if (name == "filter") return filter_block(line);
    if (name == "with") return scope(line);
    if (name == "print") return print(line);
    if (name == "generation") {
      Statement result{.kind = StatementKind::generation, .line = line};
      result.bodies.push_back(outside_of_loops([&] { return body_up_to("endgeneration"); }));
      return result;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) refuse("{% " + name + " %} stands outside of a loop");
      return {.kind = name == "break" ? StatementKind::break_loop : StatementKind::continue_loop,
              .line = line};
    }
    static const std::set<std::string_view> kRefused = {"block",  "extends", "include",
                                                        "import", "from",    "autoescape"};
    if (kRefused.contains(name)) refuse("{% " + name + " %} is not supported: a template is alone");
    refuse("unknown tag {% " + name + " %}");
  }

  // break and continue do not reach out of a macro.
  template <class Parse>
  Statements outside_of_loops(const Parse& parse) {
    const int loops = std::exchange(loops_, 0);
    Statements result = parse();
    loops_ = loops;
    return result;
  }

  Statement condition(int64_t line) {
    Statement result{.kind = StatementKind::condition, .line = line};
    ++maybe_;
    result.expressions.push_back(tuple({}, false));
    for (;;) {
      end_tag();
      result.bodies.push_back(statements({"elif", "else", "endif"}));
      const std::string name = take().text;
      if (name == "endif") break;
      if (name == "elif") {
        result.expressions.push_back(tuple({}, false));
        continue;
      }
      result.bodies.push_back(body_up_to("endif"));
      break;
    }
    --maybe_;
    return result;
  }

  Statement loop(int64_t line) {
    Statement result{.kind = StatementKind::loop, .line = line};
    result.expressions.push_back(target("in", false));
    if (!skip_name("in")) refuse_token();
    result.expressions.push_back(tuple("recursive", false));
    result.expressions.push_back(skip_name("if") ? expression() : nullptr);
    result.is_recursive = skip_name("recursive");
    end_tag();
    ++loops_;
    result.bodies.push_back(statements({"else", "endfor"}));
    --loops_;
    if (take().text == "else") result.bodies.push_back(body_up_to("endfor"));
    return result;
  }

  Statement assignment(int64_t line) {
    Statement result{.kind = StatementKind::assignment, .line = line};
    result.expressions.push_back(target({}, true));
    if (skip_symbol("=")) {
      result.expressions.push_back(tuple());
      return result;
    }
    result.kind = StatementKind::block_value;
    ExpressionHandle filtered;
    while (skip_symbol("|")) filtered = filter(std::move(filtered));
    result.expressions.push_back(std::move(filtered));
    result.bodies.push_back(body_up_to("endset"));
    return result;
  }

  void signature(Procedure& procedure) {
    expect_symbol("(");
    while (!skip_symbol(")")) {
      if (!procedure.parameters.empty()) expect_symbol(",");
      std::string name = expect_name();
      if (std::ranges::find(procedure.parameters, name) != procedure.parameters.end()) {
        refuse("the parameter " + io::in_quotes(name) + " stands twice");
      }
      procedure.parameters.push_back(std::move(name));
      if (skip_symbol("=")) {
        procedure.defaults.push_back(expression());
      } else if (!procedure.defaults.empty()) {
        refuse("a parameter without a default follows one with a default");
      }
    }
  }

  void read_body(Procedure& procedure, std::string_view end) {
    const UsedNames before = std::exchange(used_, {});
    procedure.body = outside_of_loops([&] { return body_up_to(end); });
    procedure.takes_caller = used_.caller;
    procedure.takes_rest = used_.rest;
    procedure.takes_named_rest = used_.named_rest;
    used_.caller |= before.caller;
    used_.rest |= before.rest;
    used_.named_rest |= before.named_rest;
  }

  Statement macro(int64_t line) {
    Procedure procedure;
    procedure.name = expect_name();
    signature(procedure);
    read_body(procedure, "endmacro");
    return {.kind = StatementKind::macro,
            .line = line,
            .procedure = std::make_shared<const Procedure>(std::move(procedure))};
  }

  Statement call(int64_t line) {
    Statement result{.kind = StatementKind::call, .line = line};
    Procedure procedure{.name = "caller"};
    if (current().is_symbol("(")) signature(procedure);
    result.expressions.push_back(expression());
    if (result.expressions[0]->kind != ExpressionKind::call) refuse("{% call %} needs a call");
    read_body(procedure, "endcall");
    result.procedure = std::make_shared<const Procedure>(std::move(procedure));
    return result;
  }

  Statement filter_block(int64_t line) {
    Statement result{.kind = StatementKind::filter, .line = line};
    ExpressionHandle filtered = filter({});
    while (skip_symbol("|")) filtered = filter(std::move(filtered));
    result.expressions.push_back(std::move(filtered));
    result.bodies.push_back(body_up_to("endfilter"));
    return result;
  }

  Statement scope(int64_t line) {
    Statement result{.kind = StatementKind::scope, .line = line};
    while (current().kind != TokenKind::block_end) {
      if (!result.expressions.empty()) expect_symbol(",");
      result.expressions.push_back(target({}, false));
      expect_symbol("=");
      result.expressions.push_back(expression());
    }
    result.bodies.push_back(body_up_to("endwith"));
    return result;
  }

  Statement print(int64_t line) {
    Statement result{.kind = StatementKind::output, .line = line};
    while (current().kind != TokenKind::block_end) {
      if (!result.expressions.empty()) expect_symbol(",");
      result.expressions.push_back(expression());
    }
    return result;
  }

  int loops_ = 0;
};

}  // namespace

Statements parse_template(std::string_view source, const std::string& name) {
  if (source.size() > kMostBytes) {
    refuse_template(name, 1,
                    "has " + std::to_string(source.size()) + " bytes, at most " +
                        std::to_string(kMostBytes) + " are read");
  }
  if (const size_t valid = io::valid_utf8_length(source); valid < source.size()) {
    refuse_template(name, 1 + std::ranges::count(source.substr(0, valid), '\n'), "is not UTF-8");
  }
  return StatementParser(tokens_of(source, name), name).whole();
}

}  // namespace headlight::text::jinja
