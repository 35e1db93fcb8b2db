// Filters that take or give numbers, and those of single values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "headlight/text/jinja/filters.h"
#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/lexer.h"
#include "headlight/text/jinja/operators.h"

namespace headlight::text::jinja {
namespace {

// Without white space around it, a plus before it and single _ between digits.
std::string digits_of(std::string_view text) {
  text.remove_prefix(space_at_begin(text));
  text.remove_suffix(space_at_end(text));
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  std::string digits;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_between = text[at] == '_' && at > 0 && at + 1 < text.size() &&
                            std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 &&
                            std::isalnum(static_cast<unsigned char>(text[at + 1])) != 0;
    if (!is_between) digits += text[at];
  }
  return digits;
}

std::optional<double> real_of(std::string_view text) {
  const std::string digits = digits_of(text);
  const bool has_number =
      std::ranges::any_of(digits, [](char letter) { return letter >= '0' && letter <= '9'; });
  const bool is_hexadecimal = digits.find_first_of("xXpP") != std::string::npos;
  if (!has_number || is_hexadecimal) {
    if (digits == "inf" || digits == "infinity") return HUGE_VAL;
    if (digits == "-inf" || digits == "-infinity") return -HUGE_VAL;
    return digits == "nan" ? std::optional<double>(NAN) : std::nullopt;
  }
  return io::parse_number<double>(digits);
}

std::optional<int64_t> whole_of(double value) {
  constexpr double kBeyond = 9.2e18;
  if (std::isnan(value) || std::abs(value) >= kBeyond) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> whole_of(std::string_view text, int64_t base) {
  std::string digits = digits_of(text);
  const size_t sign = digits.starts_with('-') ? 1 : 0;
  if (base == 16 && digits.size() > sign + 2 && digits[sign] == '0' &&
      (digits[sign + 1] | 0x20) == 'x') {
    digits.erase(sign, 2);
  }
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value, static_cast<int>(base));
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

Value integer(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "int", {"default", "base"}, meter);
  const Value otherwise = bound[0] ? *bound[0] : Value(int64_t{0});
  const int64_t base = bound.integer(1, 10);
  if (base < 2 || base > 36) meter.refuse("int: the base is not within 2 and 36");
  if (const Absence* absence = value.absence()) meter.refuse(absence->why);
  std::optional<int64_t> result;
  if (value.is_whole()) result = value.whole();
  if (value.real()) result = whole_of(*value.real());
  if (const MarkedText* text = value.text()) {
    meter.read(text->bytes.size());
    result = whole_of(text->bytes, base);
    if (!result) {
      if (const auto real = real_of(text->bytes)) result = whole_of(*real);
    }
  }
  return result ? Value(*result) : otherwise;
}

Value real(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "float", {"default"}, render.meter());
  if (const Absence* absence = value.absence()) render.meter().refuse(absence->why);
  if (value.is_number()) return Value(value.number());
  if (const MarkedText* text = value.text()) {
    render.meter().read(text->bytes.size());
    if (const auto number = real_of(text->bytes)) return Value(*number);
  }
  return bound[0] ? *bound[0] : Value(0.0);
}

void check_number(const Value& value, std::string_view filter, Meter& meter) {
  if (value.is_number()) return;
  if (const Absence* absence = value.absence()) meter.refuse(absence->why);
  meter.refuse(std::string(filter) + " takes a number, not " + type_name(value));
}

Value absolute(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "abs", {}, render.meter());
  check_number(value, "abs", render.meter());
  if (value.real()) return Value(std::abs(*value.real()));
  return value.whole() < 0 ? unary("-", value, render.meter()) : Value(value.whole());
}

Value rounded(Render& render, const Value& value, Given given) {
  constexpr int64_t kMostDigits = 300;
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "round", {"precision", "method"}, meter);
  check_number(value, "round", meter);
  const int64_t digits = std::clamp(bound.integer(0, 0), -kMostDigits, kMostDigits);
  const std::string method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") {
    meter.refuse("round: the method is common, ceil or floor");
  }
  if (method == "common") {
    if (value.is_whole() && digits >= 0) return Value(value.whole());
    if (digits < 0) meter.refuse("round: a negative precision is not supported");
    if (!std::isfinite(value.number())) return value;
    char buffer[1024];
    const int length =
        std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value.number());
    return Value(io::parse_number<double>(std::string_view(buffer, static_cast<size_t>(length)))
                     .value_or(0));
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = value.number() * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value otherwise(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "default", {"default_value", "boolean"}, render.meter());
  const bool is_missing = value.is_undefined() || (bound.flag(1, false) && !is_true(value));
  if (!is_missing) return value;
  return bound[0] ? *bound[0] : Value("");
}

Value length(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "length", {}, render.meter());
  return Value(length_of(value, render.meter()));
}

Value attribute(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "attr", {"name"}, render.meter());
  const std::string name = bound.marked(0).bytes;
  // Attributes alone, not members.
  if (value.dict() && !has_method(value, name)) {
    return Value::undefined("'dict object' has no attribute '" + name + "'");
  }
  return render.attribute(value, name);
}

}  // namespace

const Filters& number_filters() {
  static const Filters table = {
      {"int", integer},   {"float", real},        {"abs", absolute},
      {"round", rounded}, {"default", otherwise}, {"d", otherwise},
      {"length", length}, {"count", length},      {"attr", attribute},
  };
  return table;
}

}  // namespace headlight::text::jinja
