// CSV line by line.
#include "headlight/io/csv.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>

#include "headlight/io/numbers.h"
#include "headlight/io/text_array.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::Tensor;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

class Reader {
 public:
  Reader(const Input& input, std::string_view text) : input_(input), rest_(text) {}

  Tensor read() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    rest_ = rest_.substr(0, rest_.find_last_not_of(" \r\n") + 1);
    if (rest_.empty()) refuse("it holds no numbers");
    separator_ = separator_of(rest_.substr(0, rest_.find('\n')));
    while (!rest_.empty()) line(cut('\n'));
    return numbers_.tensor({lines_, columns_});
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::bad_input, "csv", input_.name(), why);
  }

  static char separator_of(std::string_view line) {
    for (const char separator : {';', '\t'}) {
      if (line.find(separator) != std::string_view::npos) return separator;
    }
    return ',';
  }

  // Takes the text up to the mark off what is left.
  std::string_view cut(char mark) {
    const size_t end = rest_.find(mark);
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return part;
  }

  void line(std::string_view text) {
    ++lines_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    int64_t columns = 0;
    for (size_t begin = 0; begin <= text.size(); ++columns) {
      const size_t end = std::min(text.find(separator_, begin), text.size());
      cell(trimmed(text.substr(begin, end - begin)), columns + 1);
      begin = end + 1;
    }
    if (lines_ == 1) columns_ = columns;
    if (columns != columns_) {
      refuse("line " + std::to_string(lines_) + " has " + std::to_string(columns) +
             " columns, line 1 has " + std::to_string(columns_));
    }
  }

  void cell(std::string_view text, int64_t column) {
    if (const auto integer = parse_number<int64_t>(text)) {
      numbers_.add(*integer);
    } else if (const auto real = parse_float32(text)) {
      numbers_.add(*real);
    } else {
      const std::string place =
          "line " + std::to_string(lines_) + ", column " + std::to_string(column) + ": ";
      if (parse_number<double>(text)) refuse(place + in_quotes(text) + " is beyond float32");
      refuse(place + in_quotes(text) +
             " is no number (a line of titles is not read; columns are separated by comma, "
             "semicolon or tab)");
    }
  }

  const Input& input_;
  std::string_view rest_;
  char separator_ = ',';
  int64_t lines_ = 0;
  int64_t columns_ = 0;
  NumberList numbers_;
};

}  // namespace

Tensor read_csv(const Input& input) {
  const std::string text = base::read_all(input, kTextArrayLimit);
  return Reader(input, text).read();
}

void write_csv(base::Output& output, const Tensor& array) {
  assert(array.rank() == 2);
  ElementWriter writer(output, array, {"1", "0", true});
  for (int64_t row = 0; row < array.size(0); ++row) {
    for (int64_t column = 0; column < array.size(1); ++column) {
      if (column > 0) writer.write(",");
      writer.write_element();
    }
    writer.write("\n");
  }
  writer.finish();
}

}  // namespace headlight::io
