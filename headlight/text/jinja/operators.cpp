// Python's arithmetic, on numbers, texts and lists.
#include "headlight/text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "headlight/text/jinja/text_search.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

[[noreturn]] void refuse_operands(std::string_view sign, const Value& left, const Value& right,
                                  Meter& meter) {
  for (const Value* value : {&left, &right}) {
    if (const Absence* absence = value->absence()) meter.refuse(absence->why);
  }
  meter.refuse("cannot compute " + type_name(left) + " " + std::string(sign) + " " +
               type_name(right));
}

int64_t floor_divided(int64_t left, int64_t right) {
  const int64_t quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

int64_t power_of(int64_t base, int64_t exponent, Meter& meter) {
  int64_t result = 1;
  bool overflows = false;
  // 0, 1 and -1 have powers of any size.
  if (base >= -1 && base <= 1)
    return base == -1 && exponent % 2 == 0 ? 1 : exponent == 0 ? 1 : base;
  for (; exponent > 0 && !overflows; --exponent) {
    overflows = __builtin_mul_overflow(result, base, &result);
  }
  if (overflows) meter.refuse("a whole number grows beyond 64 bits");
  return result;
}

Value whole_binary(std::string_view sign, int64_t left, int64_t right, Meter& meter) {
  int64_t result = 0;
  bool overflows = false;
  if (sign == "+") {
    overflows = __builtin_add_overflow(left, right, &result);
  } else if (sign == "-") {
    overflows = __builtin_sub_overflow(left, right, &result);
  } else if (sign == "*") {
    overflows = __builtin_mul_overflow(left, right, &result);
  } else if (sign == "**") {
    if (right < 0) return Value(std::pow(static_cast<double>(left), static_cast<double>(right)));
    result = power_of(left, right, meter);
  } else if (right == 0) {
    meter.refuse("division by zero");
  } else if (sign == "/") {
    return Value(static_cast<double>(left) / static_cast<double>(right));
  } else if (right == -1) {
    if (sign == "//") overflows = __builtin_sub_overflow(int64_t{0}, left, &result);
  } else {
    const int64_t quotient = floor_divided(left, right);
    result = sign == "//" ? quotient : left - quotient * right;
  }
  if (overflows) meter.refuse("a whole number grows beyond 64 bits");
  return Value(result);
}

Value real_binary(std::string_view sign, double left, double right, Meter& meter) {
  if (sign == "+") return Value(left + right);
  if (sign == "-") return Value(left - right);
  if (sign == "*") return Value(left * right);
  if (sign == "**") {
    const double power = std::pow(left, right);
    if (std::isnan(power) || std::isinf(power)) meter.refuse("a power that is no number");
    return Value(power);
  }
  if (right == 0) meter.refuse("division by zero");
  if (sign == "/") return Value(left / right);
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) rest += right;
  if (sign == "%") return Value(rest == 0 ? std::copysign(0.0, right) : rest);
  const double quotient = (left - rest) / right;
  return Value(std::floor(quotient + 0.5));
}

Value sum_of_texts(const String& left, const String& right, Meter& meter) {
  const bool is_safe = left.is_safe || right.is_safe;
  meter.make(left.text.bytes.size() + right.text.bytes.size());
  MarkedText result =
      is_safe && !left.is_safe ? escaped_html(left.text, meter) : MarkedText(left.text);
  result.append(is_safe && !right.is_safe ? escaped_html(right.text, meter) : right.text);
  return Value(std::move(result), is_safe);
}

bool is_list_or_tuple(const Value& value) {
  return value.is_sequence(SequenceKind::list) || value.is_sequence(SequenceKind::tuple);
}

Value repeated(const Value& value, int64_t count, Meter& meter) {
  count = std::max<int64_t>(count, 0);
  const String* string = value.string();
  const size_t size = string ? string->text.bytes.size() : value.sequence()->items.size();
  constexpr int64_t kMost = int64_t{1} << 40;
  if (size > 0 && count > kMost / static_cast<int64_t>(size)) meter.refuse("makes too much text");
  meter.make(size * static_cast<size_t>(count) * (string ? 1 : sizeof(Value)));
  if (size == 0) count = 0;
  if (string) {
    MarkedText result;
    for (int64_t i = 0; i < count; ++i) result.append(string->text);
    return Value(std::move(result), string->is_safe);
  }
  Values items;
  for (int64_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.sequence()->items.begin(), value.sequence()->items.end());
  }
  return make_sequence(value.sequence()->kind, std::move(items), meter);
}

// The places that a slice takes, of so many.
std::vector<size_t> places(int64_t size, const Bounds& bounds, Meter& meter) {
  const auto whole = [&](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    if (value.is_whole()) return value.whole();
    if (const Absence* absence = value.absence()) meter.refuse(absence->why);
    meter.refuse("a slice's bounds are whole numbers, not " + type_name(value));
  };
  const int64_t step = whole(bounds.step, 1);
  if (step == 0) meter.refuse("a slice's step is 0");
  const auto within = [&](int64_t at) {
    if (at < 0) at = at < -size ? -1 : at + size;
    const int64_t low = step > 0 ? 0 : -1;
    return std::clamp(at, low, step > 0 ? size : size - 1);
  };
  const int64_t begin =
      bounds.begin.is_none() ? (step > 0 ? 0 : size - 1) : within(whole(bounds.begin, 0));
  const int64_t end = bounds.end.is_none() ? (step > 0 ? size : -1) : within(whole(bounds.end, 0));
  std::vector<size_t> result;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    result.push_back(static_cast<size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  meter.make(result.size() * sizeof(size_t));
  return result;
}

}  // namespace

Value binary(std::string_view sign, const Value& left, const Value& right, Meter& meter) {
  if (left.is_whole() && right.is_whole()) {
    return whole_binary(sign, left.whole(), right.whole(), meter);
  }
  if (left.is_number() && right.is_number()) {
    return real_binary(sign, left.number(), right.number(), meter);
  }
  if (sign == "+") {
    if (left.string() && right.string())
      return sum_of_texts(*left.string(), *right.string(), meter);
    if (is_list_or_tuple(left) && right.is_sequence(left.sequence()->kind)) {
      Values items = left.sequence()->items;
      const Values& more = right.sequence()->items;
      items.insert(items.end(), more.begin(), more.end());
      return make_sequence(left.sequence()->kind, std::move(items), meter);
    }
  }
  if (sign == "*") {
    if ((left.text() || is_list_or_tuple(left)) && right.is_whole()) {
      return repeated(left, right.whole(), meter);
    }
    if ((right.text() || is_list_or_tuple(right)) && left.is_whole()) {
      return repeated(right, left.whole(), meter);
    }
  }
  if (sign == "%" && left.text() && !left.string()->is_safe) {
    const bool is_tuple = right.is_sequence(SequenceKind::tuple);
    return Value(
        formatted_percent(*left.text(), is_tuple ? right.sequence()->items : Values{right}, meter));
  }
  refuse_operands(sign, left, right, meter);
}

Value unary(std::string_view sign, const Value& value, Meter& meter) {
  if (value.is_whole()) {
    if (sign == "+") return Value(value.whole());
    return whole_binary("-", 0, value.whole(), meter);
  }
  if (value.real()) return Value(sign == "+" ? *value.real() : -*value.real());
  if (const Absence* absence = value.absence()) meter.refuse(absence->why);
  meter.refuse("cannot compute " + std::string(sign) + type_name(value));
}

bool contains(const Value& container, const Value& value, Meter& meter) {
  if (const MarkedText* text = container.text()) {
    if (const Absence* absence = value.absence()) meter.refuse(absence->why);
    if (!value.text()) meter.refuse("only a text can be in a text, not " + type_name(value));
    meter.read(text->bytes.size());
    const TextSearch search(value.text()->bytes, TextSearch::Direction::from_left, meter);
    return search.find(text->bytes) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    check_key(value, meter);
    return find(*dict, value, meter) != nullptr;
  }
  for (const Value& item : items_of(container, meter)) {
    if (item.is_same(value) || equal(item, value, meter)) return true;
  }
  return false;
}

bool compared(std::string_view sign, const Value& left, const Value& right, Meter& meter) {
  if (sign == "==") return equal(left, right, meter);
  if (sign == "!=") return !equal(left, right, meter);
  if (sign == "in") return contains(right, left, meter);
  if (sign == "not in") return !contains(right, left, meter);
  for (const Value* value : {&left, &right}) {
    if (value->real() && std::isnan(*value->real()) && left.is_number() && right.is_number()) {
      return false;
    }
  }
  const int order = compare(left, right, meter);
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  return order >= 0;
}

Value sliced(const Value& value, const Bounds& bounds, Meter& meter) {
  if (const String* string = value.string()) {
    const MarkedText& text = string->text;
    meter.make(text.bytes.size() * sizeof(size_t));
    std::vector<size_t> letters;  // where they begin, and the end
    for (size_t at = 0; at < text.bytes.size(); at += code_point_at(text.bytes, at).length) {
      letters.push_back(at);
    }
    letters.push_back(text.bytes.size());
    const std::vector<size_t> taken =
        places(static_cast<int64_t>(letters.size()) - 1, bounds, meter);
    MarkedText result;
    if (!taken.empty() && taken.back() - taken.front() + 1 == taken.size()) {
      result = text.slice(letters[taken.front()], letters[taken.back() + 1]);
    } else {
      for (const size_t place : taken) {
        result.append(text.slice(letters[place], letters[place + 1]));
      }
    }
    return Value(std::move(result), string->is_safe);
  }
  const Sequence* sequence = value.sequence();
  if (!sequence || !is_list_or_tuple(value)) {
    if (const Absence* absence = value.absence()) meter.refuse(absence->why);
    meter.refuse(type_name(value) + " cannot be sliced");
  }
  Values items;
  for (const size_t place : places(static_cast<int64_t>(sequence->items.size()), bounds, meter)) {
    items.push_back(sequence->items[place]);
  }
  return make_sequence(sequence->kind, std::move(items), meter);
}

MarkedText escaped_html(const MarkedText& text, Meter& meter) {
  meter.make(text.bytes.size());
  MarkedText result;
  for (size_t at = 0; at < text.bytes.size(); ++at) {
    const char letter = text.bytes[at];
    const char* name = letter == '&'    ? "&amp;"
                       : letter == '<'  ? "&lt;"
                       : letter == '>'  ? "&gt;"
                       : letter == '\'' ? "&#39;"
                       : letter == '"'  ? "&#34;"
                                        : nullptr;
    if (name) {
      result.append(name, text.is_given(at));
    } else {
      result.append(std::string_view(&letter, 1), text.is_given(at));
    }
  }
  return result;
}

}  // namespace headlight::text::jinja
