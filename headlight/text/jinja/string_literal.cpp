// Python's codec unicode_escape, by hand.
#include "headlight/text/jinja/string_literal.h"

#include <cstdio>

#include "headlight/io/io.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\') {
        result_ += text_[at_++];
      } else if (!read_escape()) {
        return std::nullopt;
      }
    }
    return std::move(result_);
  }

 private:
  bool read_escape() {
    constexpr std::string_view kLetters = "\n\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\n\\'\"\a\b\f\n\r\t\v";
    if (at_ + 1 >= text_.size()) return false;
    const char letter = text_[at_ + 1];
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      if (letter != '\n') result_ += kMeanings[known];
      at_ += 2;
      return true;
    }
    if (letter >= '0' && letter <= '7') return read_octal();
    if (letter == 'x') return read_code_point(2);
    if (letter == 'u') return read_code_point(4);
    if (letter == 'U') return read_code_point(8);
    if (letter == 'N') return false;
    if (static_cast<unsigned char>(letter) >= 0x80) return read_escaped_backslash();
    result_ += '\\';
    ++at_;
    return true;
  }

  // Python has written the letter as an escape before, whose backslash this one escapes.
  bool read_escaped_backslash() {
    const CodePoint letter = code_point_at(text_, at_ + 1);
    const auto value = static_cast<unsigned>(letter.value);
    const char* form = value < 0x100 ? "\\x%02x" : value < 0x10000 ? "\\u%04x" : "\\U%08x";
    char written[16];
    std::snprintf(written, sizeof written, form, value);
    result_ += written;
    at_ += 1 + letter.length;
    return true;
  }

  bool read_octal() {
    constexpr size_t kMostDigits = 3;
    char32_t value = 0;
    size_t count = 0;
    for (++at_; count < kMostDigits && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7';
         ++at_, ++count) {
      value = value * 8 + static_cast<char32_t>(text_[at_] - '0');
    }
    append(result_, value);
    return true;
  }

  bool read_code_point(size_t digits) {
    if (at_ + 2 + digits > text_.size()) return false;
    char32_t value = 0;
    for (const char digit : text_.substr(at_ + 2, digits)) {
      const size_t number = std::string_view("0123456789abcdefABCDEF").find(digit);
      if (number == std::string_view::npos) return false;
      value = value * 16 + static_cast<char32_t>(number < 16 ? number : number - 6);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return false;
    append(result_, value);
    at_ += 2 + digits;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::optional<std::string> string_literal(std::string_view text) { return Literal(text).read(); }

}  // namespace headlight::text::jinja
