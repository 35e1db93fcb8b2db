// Text and tags in turns; what stands in tags by jinja's rules for names, numbers and operators.
#include "headlight/text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "headlight/io/io.h"
#include "headlight/text/jinja/meter.h"
#include "headlight/text/jinja/string_literal.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

// Every break of a line as \n; one at the end is not part of the template.
std::string with_plain_breaks(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      text += source[at];
    } else {
      text += '\n';
      if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name)
      : source_(with_plain_breaks(source)), name_(name) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_text_and_tag();
    tokens_.push_back({TokenKind::end, "", line_});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  [[noreturn]] void refuse(std::string_view why) const { refuse_template(name_, line_, why); }

  void advance(size_t count) {
    const auto begin = source_.begin() + static_cast<std::ptrdiff_t>(at_);
    line_ += std::count(begin, begin + static_cast<std::ptrdiff_t>(count), '\n');
    at_ += count;
    starts_line_ = count > 0 && source_[at_ - 1] == '\n';
  }

  void add(TokenKind kind, std::string text = {}) {
    tokens_.push_back({kind, std::move(text), line_});
  }

  // The place of the next tag; npos: there is none.
  size_t next_tag() const {
    for (size_t at = source_.find('{', at_); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("%{#").find(source_[at + 1]) != std::string_view::npos) {
        return at;
      }
    }
    return std::string::npos;
  }

  // What is left of the text before a tag: `sign` is the one after the tag's braces.
  std::string_view before_tag(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return text.substr(0, text.size() - space_at_end(text));
    if (sign == '+' || is_variable) return text;
    const size_t line = text.rfind('\n') + 1;  // 0 where there is none
    if (line == 0 && !starts_line_) return text;
    const std::string_view last = text.substr(line);
    return space_at_begin(last) == last.size() ? text.substr(0, line) : text;
  }

  void read_text_and_tag() {
    const size_t tag = next_tag();
    const std::string_view text = rest().substr(0, tag == std::string::npos ? tag : tag - at_);
    if (tag == std::string::npos) {
      add(TokenKind::data, std::string(text));
      advance(text.size());
      return;
    }
    const char kind = source_[tag + 1];
    const char after = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const char sign = after == '-' || after == '+' ? after : '\0';
    const std::string_view left = before_tag(text, sign, kind == '{');
    if (!left.empty()) add(TokenKind::data, std::string(left));
    if (kind == '%') {
      if (const size_t length = raw_begin(tag); length > 0) {
        advance(text.size() + length);
        read_raw();
        return;
      }
    }
    advance(text.size() + (sign == '\0' ? 2 : 3));
    if (kind == '#') {
      read_comment();
    } else {
      add(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin);
      read_tag(kind == '%');
    }
  }

  // Bytes that match "{%-? raw -?%}" (with the white space that a - takes); 0: they do not.
  size_t raw_begin(size_t tag) const {
    const std::string_view text = std::string_view(source_).substr(tag);
    size_t at = 2;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    at += space_at_begin(text.substr(std::min(at, text.size())));
    if (!text.substr(std::min(at, text.size())).starts_with("raw")) return 0;
    at += 3;
    at += space_at_begin(text.substr(at));
    if (text.substr(at).starts_with("%}")) return at + 2;
    if (!text.substr(at).starts_with("-%}")) return 0;
    return at + 3 + space_at_begin(text.substr(at + 3));
  }

  // After the end of a tag: the white space that a - takes, or the line's end after a block.
  void skip_after_tag(bool takes_space, bool takes_break) {
    size_t count = 0;
    if (takes_space) {
      count = space_at_begin(rest());
    } else if (takes_break && rest().starts_with('\n')) {
      count = 1;
    }
    if (count > 0) advance(count);
  }

  void read_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment {# does not end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    skip_after_tag(sign == '-', sign != '+');
  }

  void read_raw() {
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      const std::string_view text = std::string_view(source_).substr(tag);
      size_t at = 2;
      const char sign = at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : '\0';
      if (sign != '\0') ++at;
      at += space_at_begin(text.substr(std::min(at, text.size())));
      if (!text.substr(std::min(at, text.size())).starts_with("endraw")) continue;
      at += 6;
      at += space_at_begin(text.substr(at));
      const bool has_sign = at < text.size() && (text[at] == '-' || text[at] == '+');
      const char end_sign = has_sign ? text[at] : '\0';
      if (has_sign) ++at;
      if (!text.substr(std::min(at, text.size())).starts_with("%}")) continue;
      const std::string_view left = before_tag(rest().substr(0, tag - at_), sign, false);
      if (!left.empty()) add(TokenKind::data, std::string(left));
      advance(tag - at_ + at + 2);
      skip_after_tag(end_sign == '-', end_sign != '+');
      return;
    }
    refuse("{% raw %} without {% endraw %}");
  }

  // Whether the tag ends here; then it has been read.
  bool read_tag_end(bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    const std::string_view text = rest();
    const bool has_minus = text.starts_with('-') && text.substr(1).starts_with(end);
    const bool has_plus = is_block && text.starts_with('+') && text.substr(1).starts_with(end);
    if (!has_minus && !has_plus && !text.starts_with(end)) return false;
    add(is_block ? TokenKind::block_end : TokenKind::variable_end);
    advance(has_minus || has_plus ? 3 : 2);
    skip_after_tag(has_minus, is_block && !has_plus);
    return true;
  }

  void read_tag(bool is_block) {
    const int64_t first_line = line_;
    while (at_ < source_.size()) {
      if (brackets_.empty() && read_tag_end(is_block)) return;
      read_token();
    }
    line_ = first_line;
    refuse(is_block ? "a tag {% does not end" : "a tag {{ does not end");
  }

  void read_token() {
    const std::string_view text = rest();
    if (const size_t space = space_at_begin(text); space > 0) return advance(space);
    if (is_digit(text[0])) return read_number();
    if (text[0] == '\'' || text[0] == '"') return read_string();
    const CodePoint first = code_point_at(text, 0);
    if (is_word(first.value)) return read_name();
    read_symbol();
  }

  void read_name() {
    const std::string_view text = rest();
    size_t length = 0;
    while (length < text.size()) {
      const CodePoint letter = code_point_at(text, length);
      if (!is_word(letter.value)) break;
      length += letter.length;
    }
    add(TokenKind::name, std::string(text.substr(0, length)));
    advance(length);
  }

  // Digits with single _ between them, from `at` on.
  static size_t digits_end(std::string_view text, size_t at) {
    size_t end = at;
    while (at < text.size() && is_digit(text[at])) {
      end = ++at;
      if (at + 1 < text.size() && text[at] == '_' && is_digit(text[at + 1])) ++at;
    }
    return end;
  }

  // Where a fraction or an exponent ends; 0: the digits up to `digits` are a whole number.
  size_t real_end(std::string_view text, size_t digits) const {
    if (at_ > 0 && source_[at_ - 1] == '.') return 0;
    size_t end = digits;
    if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
      end = digits_end(text, end + 1);
    }
    size_t exponent = end;
    if (exponent < text.size() && (text[exponent] == 'e' || text[exponent] == 'E')) {
      ++exponent;
      if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
      if (exponent < text.size() && is_digit(text[exponent])) return digits_end(text, exponent);
    }
    return end > digits ? end : 0;
  }

  void read_number() {
    const std::string_view text = rest();
    const size_t digits = digits_end(text, 0);
    if (const size_t end = real_end(text, digits); end > 0) {
      return add_number(TokenKind::real, text.substr(0, end));
    }
    if (text.size() > 2 && text[0] == '0' &&
        std::string_view("xXoObB").find(text[1]) != std::string_view::npos) {
      size_t end = 2;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0)) ++end;
      return add_number(TokenKind::integer, text.substr(0, end));
    }
    // Python has no number 012.
    size_t end = digits;
    if (text[0] == '0') {
      end = 1;
      while (end < digits && (text[end] == '0' || text[end] == '_')) ++end;
    }
    add_number(TokenKind::integer, text.substr(0, end));
  }

  void add_number(TokenKind kind, std::string_view digits) {
    std::string number(digits);
    std::erase(number, '_');
    add(kind, std::move(number));
    advance(digits.size());
  }

  void read_string() {
    const std::string_view text = rest();
    size_t end = 1;
    while (end < text.size() && text[end] != text[0]) end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) refuse("a text in quotes does not end");
    const auto value = string_literal(text.substr(1, end - 1));
    if (!value) refuse("a text in quotes has an escape that is not supported");
    add(TokenKind::string, *value);
    advance(end + 1);
  }

  void read_symbol() {
    constexpr std::array<std::string_view, 6> kPairs = {"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view kSingles = "+-/*%~[](){}<>=.:|,;";
    const std::string_view text = rest();
    const auto pair = std::ranges::find_if(
        kPairs, [&](std::string_view symbol) { return text.starts_with(symbol); });
    if (pair == kPairs.end() && kSingles.find(text[0]) == std::string_view::npos) {
      const CodePoint letter = code_point_at(text, 0);
      refuse("unexpected character " + io::in_quotes(text.substr(0, letter.length)));
    }
    const std::string_view symbol = pair == kPairs.end() ? text.substr(0, 1) : *pair;
    balance(symbol[0]);
    add(TokenKind::symbol, std::string(symbol));
    advance(symbol.size());
  }

  void balance(char symbol) {
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (const size_t open = kOpening.find(symbol); open != std::string_view::npos) {
      brackets_ += kClosing[open];
    } else if (kClosing.find(symbol) != std::string_view::npos) {
      if (brackets_.empty() || brackets_.back() != symbol) {
        refuse(std::string("unexpected ") + symbol);
      }
      brackets_.pop_back();
    }
  }

  const std::string source_;
  const std::string& name_;
  size_t at_ = 0;
  int64_t line_ = 1;
  bool starts_line_ = true;  // what was read last ended a line
  std::string brackets_;     // that are to be closed
  std::vector<Token> tokens_;
};

}  // namespace

bool is_python_space(char32_t code_point) {
  const auto within = [code_point](char32_t low, char32_t high) {
    return code_point >= low && code_point <= high;
  };
  return within(0x09, 0x0D) || within(0x1C, 0x20) || code_point == 0x85 || code_point == 0xA0 ||
         code_point == 0x1680 || within(0x2000, 0x200A) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
         code_point == 0x3000;
}

size_t space_at_begin(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint letter = code_point_at(text, at);
    if (!is_python_space(letter.value)) break;
    at += letter.length;
  }
  return at;
}

size_t space_at_end(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!is_python_space(code_point_at(text, at).value)) break;
    end = at;
  }
  return text.size() - end;
}

std::vector<Token> tokens_of(std::string_view source, const std::string& name) {
  return Lexer(source, name).run();
}

std::string unexpected(const Token& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the template ends too early";
    case TokenKind::block_end:
      return "unexpected %}";
    case TokenKind::variable_end:
      return "unexpected }}";
    case TokenKind::data:
    case TokenKind::block_begin:
    case TokenKind::variable_begin:
      return "unexpected text";
    default:
      return "unexpected " + io::in_quotes(token.text);
  }
}

}  // namespace headlight::text::jinja
