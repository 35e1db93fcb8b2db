// "%s" % value and "{}".format(value).
#include "headlight/text/jinja/formatting.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/operators.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

constexpr int64_t kMostWidth = 10'000;
constexpr int64_t kMostPrecision = 300;

// How one value is written.
struct Field {
  std::string fill = " ";
  char align = '\0';  // < > ^ or = (after the sign); 0: as the type has it
  char sign = '-';    // + and blank: before positive numbers too
  bool has_commas = false;
  bool is_alternate = false;
  int64_t width = 0;
  std::optional<int64_t> precision = {};
  size_t least_digits = 0;  // of a whole number, zeros before it
  char type = '\0';
};

std::string real_digits(double value, int64_t precision) {
  char buffer[1024];
  const int length =
      std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(precision), value);
  return {buffer, static_cast<size_t>(length)};
}

std::string with_commas(const std::string& digits) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string hexadecimal(uint64_t value, bool is_large) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, is_large ? "%lX" : "%lx", static_cast<unsigned long>(value));
  return buffer;
}

// The digits of a number without its sign.
std::string digits_of(const Value& value, const Field& field, Meter& meter) {
  const bool is_real = value.real() != nullptr;
  switch (field.type) {
    case 'f':
    case 'F':
      return real_digits(std::abs(value.number()), field.precision.value_or(6));
    case '%':
      return real_digits(std::abs(value.number() * 100), field.precision.value_or(6)) + "%";
    case 'x':
    case 'X':
    case 'd':
    case '\0':
      break;
    default:
      meter.refuse(std::string("the format ") + field.type + " is not supported");
  }
  if (is_real && field.type == '\0' && !field.precision) return real_text(std::abs(*value.real()));
  if (is_real || field.precision) meter.refuse("a format that does not fit " + type_name(value));
  const int64_t whole = value.whole();
  const uint64_t size = whole < 0 ? 0 - static_cast<uint64_t>(whole) : static_cast<uint64_t>(whole);
  if (field.type == 'x' || field.type == 'X') return hexadecimal(size, field.type == 'X');
  return std::to_string(size);
}

MarkedText padded(const MarkedText& text, std::string_view sign, const Field& field, Meter& meter) {
  const int64_t length =
      letters_before(text.bytes, text.bytes.size()) + static_cast<int64_t>(sign.size());
  const int64_t room = std::max<int64_t>(0, field.width - length);
  meter.make(static_cast<size_t>(room) * field.fill.size() + text.bytes.size());
  const int64_t left = field.align == '<' ? 0 : field.align == '^' ? room / 2 : room;
  const auto fill = [&](int64_t count) {
    std::string all;
    for (int64_t i = 0; i < count; ++i) all += field.fill;
    return all;
  };
  MarkedText result;
  if (field.align == '=') {
    return result.append(sign).append(fill(room)).append(text);
  }
  return result.append(fill(left)).append(sign).append(text).append(fill(room - left));
}

MarkedText number_text(const Value& value, Field field, Meter& meter) {
  std::string digits = digits_of(value, field, meter);
  if (digits.size() < field.least_digits) {
    digits.insert(0, field.least_digits - digits.size(), '0');
  }
  if (field.has_commas) digits = with_commas(digits);
  const bool is_negative = value.real() ? std::signbit(*value.real()) : value.whole() < 0;
  const std::string sign = is_negative ? "-" : field.sign == '-' ? "" : std::string(1, field.sign);
  if (field.align == '\0') field.align = field.fill == "0" ? '=' : '>';
  const auto length = static_cast<int64_t>(digits.size() + sign.size());
  if (field.has_commas && field.fill == "0" && field.align == '=' && length < field.width) {
    meter.refuse("zeros before a number with commas are not supported");
  }
  return padded({digits}, sign, field, meter);
}

MarkedText cut_to(const MarkedText& text, const std::optional<int64_t>& letters) {
  size_t end = 0;
  for (int64_t i = 0; letters && i < *letters && end < text.bytes.size(); ++i) {
    end += code_point_at(text.bytes, end).length;
  }
  return letters ? text.slice(0, end) : text;
}

MarkedText plain_text(const MarkedText& text, Field field, Meter& meter) {
  if (field.align == '\0') field.align = '<';
  return padded(cut_to(text, field.precision), "", field, meter);
}

// Reads a form from left to right.
class Form {
 public:
  Form(const MarkedText& text, Meter& meter) : text_(text), meter_(meter) {
    meter.make(text.bytes.size());
  }

 protected:
  bool is_at_end() const { return at_ >= text_.bytes.size(); }
  char letter() const { return is_at_end() ? '\0' : text_.bytes[at_]; }
  bool skip(char wanted) {
    if (is_at_end() || letter() != wanted) return false;
    ++at_;
    return true;
  }
  void copy() {
    result_.append(text_.slice(at_, at_ + 1));
    ++at_;
  }
  int64_t number(int64_t most) {
    int64_t value = 0;
    for (; letter() >= '0' && letter() <= '9'; ++at_) {
      value = meter_.up_to(most, value * 10 + (letter() - '0'));
    }
    return value;
  }

  const MarkedText& text_;
  Meter& meter_;
  size_t at_ = 0;
  MarkedText result_;
};

class PercentForm : public Form {
 public:
  PercentForm(const MarkedText& text, const Values& values, Meter& meter)
      : Form(text, meter), values_(values) {}

  MarkedText run() {
    while (!is_at_end()) {
      if (letter() != '%') {
        copy();
      } else {
        ++at_;
        write_field();
      }
    }
    if (next_ < values_.size()) meter_.refuse("not all values are used by the text before %");
    return std::move(result_);
  }

 private:
  void write_field() {
    if (skip('%')) {
      result_.append("%");
      return;
    }
    Field field;
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      if (skip('-')) field.align = '<', goes_on = true;
      if (skip('0')) field.fill = "0", goes_on = true;
      if (skip('+')) field.sign = '+', goes_on = true;
      if (skip(' ')) field.sign = field.sign == '+' ? '+' : ' ', goes_on = true;
    }
    if (field.fill == "0") field.align = field.align == '<' ? '<' : '=';
    if (field.align == '<') field.fill = " ";
    field.width = number(kMostWidth);
    if (skip('.')) field.precision = number(kMostPrecision);
    field.type = letter();
    ++at_;
    if (next_ >= values_.size()) meter_.refuse("there are fewer values than the text before % has");
    write_value(values_[next_++], field);
  }

  void write_value(const Value& value, Field field) {
    if (field.type == 's' || field.type == 'r') {
      if (field.align == '\0' || field.align == '=') field.align = '>';
      field.fill = " ";
      result_.append(
          plain_text(field.type == 's' ? text_of(value, meter_) : representation(value, meter_),
                     field, meter_));
      return;
    }
    if (field.type == 'i' || field.type == 'u') field.type = 'd';
    const bool is_known = field.type == 'd' || field.type == 'f' || field.type == 'F' ||
                          field.type == 'x' || field.type == 'X';
    if (!is_known || !value.is_number()) {
      meter_.refuse(std::string("cannot write ") + type_name(value) + " in the place of %" +
                    (field.type >= ' ' && field.type < 127 ? std::string(1, field.type) : ""));
    }
    if (field.type == 'd' && value.real()) {
      if (!(std::abs(*value.real()) < 9e18)) meter_.refuse("a number is too large for %d");
      return write_value(Value(static_cast<int64_t>(*value.real())), field);
    }
    if (field.type == 'd') {
      field.least_digits = static_cast<size_t>(field.precision.value_or(0));
      field.precision.reset();
    }
    result_.append(number_text(value, field, meter_));
  }

  const Values& values_;
  size_t next_ = 0;
};

class BraceForm : public Form {
 public:
  BraceForm(const MarkedText& text, const Given& given, Meter& meter)
      : Form(text, meter), given_(given) {}

  MarkedText run() {
    while (!is_at_end()) {
      if (skip('{')) {
        skip('{') ? void(result_.append("{")) : write_field();
      } else if (skip('}')) {
        if (!skip('}')) meter_.refuse("format: a single }");
        result_.append("}");
      } else {
        copy();
      }
    }
    return std::move(result_);
  }

 private:
  void write_field() {
    const size_t begin = at_;
    while (!is_at_end() && std::string_view("!:}.[{").find(letter()) == std::string_view::npos) {
      ++at_;
    }
    const std::string name = text_.bytes.substr(begin, at_ - begin);
    if (letter() == '.' || letter() == '[' || letter() == '{') {
      meter_.refuse("format: attributes, items and nested fields are not supported");
    }
    Value value = value_called(name);
    if (skip('!')) {
      const char conversion = letter();
      ++at_;
      if (conversion != 's' && conversion != 'r') meter_.refuse("format: !s and !r are supported");
      value = Value(conversion == 's' ? text_of(value, meter_) : representation(value, meter_));
    }
    Field field;
    const size_t before = at_;
    if (skip(':')) field = read_field();
    const bool has_field = at_ > before + 1;
    if (!skip('}')) meter_.refuse("format: a field does not end, or has a form that is none");
    if (value.is_number() && !value.boolean() && field.type != 's') {
      result_.append(number_text(value, field, meter_));
    } else if (has_field && !value.text()) {
      meter_.refuse("format: a width for " + type_name(value) + " is not supported");
    } else if ((field.type != '\0' && field.type != 's') || field.align == '=') {
      meter_.refuse("format: a form that does not fit " + type_name(value));
    } else {
      result_.append(plain_text(text_of(value, meter_), field, meter_));
    }
  }

  Value value_called(const std::string& name) {
    const auto index = name.empty() ? std::optional<int64_t>(static_cast<int64_t>(next_++))
                                    : io::parse_number<int64_t>(name);
    if (index) {
      if (*index < 0 || *index >= static_cast<int64_t>(given_.positional.size())) {
        meter_.refuse("format: there is no value " + std::to_string(*index));
      }
      return given_.positional[static_cast<size_t>(*index)];
    }
    for (const auto& [known, value] : given_.named) {
      if (known == name) return value;
    }
    meter_.refuse("format: there is no value " + io::in_quotes(name));
  }

  static bool is_align(char letter) {
    return letter == '<' || letter == '>' || letter == '^' || letter == '=';
  }

  Field read_field() {
    Field field;
    const std::string_view rest = std::string_view(text_.bytes).substr(at_);
    const size_t first = rest.empty() ? 0 : code_point_at(rest, 0).length;
    bool has_fill = false;
    if (first > 0 && first < rest.size() && is_align(rest[first])) {
      field.fill = rest.substr(0, first);
      field.align = rest[first];
      has_fill = true;
      at_ += first + 1;
    } else if (is_align(letter())) {
      field.align = letter();
      ++at_;
    }
    if (letter() == '+' || letter() == '-' || letter() == ' ') {
      field.sign = letter();
      ++at_;
    }
    if (!has_fill && skip('0')) field.fill = "0";
    field.width = number(kMostWidth);
    field.has_commas = skip(',');
    if (skip('.')) field.precision = number(kMostPrecision);
    if (!is_at_end() && letter() != '}') {
      field.type = letter();
      ++at_;
    }
    return field;
  }

  const Given& given_;
  size_t next_ = 0;
};

}  // namespace

MarkedText formatted_percent(const MarkedText& form, const Values& values, Meter& meter) {
  return PercentForm(form, values, meter).run();
}

MarkedText formatted_braces(const MarkedText& form, const Given& given, Meter& meter) {
  return BraceForm(form, given, meter).run();
}

}  // namespace headlight::text::jinja
