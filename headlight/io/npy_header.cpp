// A parser for the three keys of an .npy header.
#include "headlight/io/npy_header.h"

#include "headlight/base/base.h"
#include "headlight/io/numbers.h"
#include "headlight/io/utf8.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      member();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ < text_.size()) refuse("the end");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      fail("the header needs descr, fortran_order and shape; it is " + in_quotes(text_));
    }
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw base::Error(base::ErrorKind::bad_input, "npy", path_, why);
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    fail("the header is wrong at byte " + std::to_string(at_) + ": " + expected + " is expected, " +
         (at_ < text_.size() ? in_quotes(text_.substr(at_, 16)) : "the end") + " is there");
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  bool accept(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool accept(char letter) { return accept(std::string_view(&letter, 1)); }
  void expect(char letter) {
    if (!accept(letter)) refuse(std::string(1, letter));
  }

  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("a string");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("a string with an end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) refuse("True or False");
    return false;
  }

  int64_t size() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    const auto value = parse_number<int64_t>(text_.substr(at_, end - at_));
    if (!value) refuse("a size");
    at_ = end;
    accept('L');  // Python 2 wrote long integers so
    return *value;
  }

  std::vector<int64_t> sizes() {
    std::vector<int64_t> result;
    expect('(');
    while (!accept(')')) {
      if (result.size() == tensor::Shape::kMaxRank) fail("the rank is over 8");
      result.push_back(size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  void once(bool& flag, const std::string& key) {
    if (flag) fail("the header's key " + key + " stands twice");
    flag = true;
  }

  void member() {
    const std::string key = string();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      if (accept('[')) fail("arrays of records are not read, only arrays of numbers");
      header_.descr = string();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      header_.is_fortran_order = boolean();
    } else if (key == "shape") {
      once(has_shape_, key);
      header_.shape = sizes();
    } else {
      fail("the header's key " + in_quotes(key) + " is unknown");
    }
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) {
  return Parser(text, path).parse();
}

}  // namespace headlight::io
