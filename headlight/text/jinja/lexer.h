// A template as tokens, with jinja's rules for white space around tags. For text's own use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text::jinja {

enum class TokenKind {
  data,            // text outside tags
  block_begin,     // {%
  block_end,       // %}
  variable_begin,  // {{
  variable_end,    // }}
  name,
  string,  // without its quotes and escapes
  integer,
  real,
  symbol,  // an operator or a bracket
  end,     // of the template
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text = {};
  int64_t line = 1;

  bool is_name(std::string_view name) const { return kind == TokenKind::name && text == name; }
  bool is_symbol(std::string_view symbol) const {
    return kind == TokenKind::symbol && text == symbol;
  }
};

// With trim_blocks and lstrip_blocks, as transformers sets them. The last token is the end. Throws
// Error(bad_input); `name` is for it.
std::vector<Token> tokens_of(std::string_view source, const std::string& name);

// As str.isspace() and \s have it.
bool is_python_space(char32_t code_point);
// Bytes of white space that the text begins with, or ends with.
size_t space_at_begin(std::string_view text);
size_t space_at_end(std::string_view text);

// Of a token that cannot stand where it does, for an error.
std::string unexpected(const Token& token);

}  // namespace headlight::text::jinja
