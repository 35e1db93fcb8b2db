// str() and repr() of values, and json.dumps().
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "headlight/text/jinja/value.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

std::string escaped(const char* form, char32_t value) {
  char written[16];
  std::snprintf(written, sizeof written, form, static_cast<unsigned>(value));
  return written;
}

// Python writes them as escapes: controls, formats, unassigned and spaces but the plain one.
bool is_printable(char32_t value) {
  if (value < 0x20 || (value >= 0x7F && value < 0xA1) || value == 0xAD) return false;
  return value < 0xA1 ||
         !(is_control_or_private(value) || is_unassigned(value) || is_white_space(value));
}

MarkedText quoted(const MarkedText& text, Meter& meter) {
  meter.make(text.bytes.size());
  const bool has_single = text.bytes.find('\'') != std::string::npos;
  const char quote = has_single && text.bytes.find('"') == std::string::npos ? '"' : '\'';
  MarkedText result;
  result.append(std::string_view(&quote, 1));
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint letter = code_point_at(text.bytes, at);
    const std::string_view bytes = std::string_view(text.bytes).substr(at, letter.length);
    const bool is_given = text.is_given(at);
    if (letter.value == '\n') {
      result.append("\\n", is_given);
    } else if (letter.value == '\r') {
      result.append("\\r", is_given);
    } else if (letter.value == '\t') {
      result.append("\\t", is_given);
    } else if (letter.value == '\\' || letter.value == static_cast<unsigned char>(quote)) {
      result.append("\\", is_given).append(bytes, is_given);
    } else if (is_printable(letter.value)) {
      result.append(bytes, is_given);
    } else {
      const char* form = letter.value < 0x100     ? "\\x%02x"
                         : letter.value < 0x10000 ? "\\u%04x"
                                                  : "\\U%08x";
      result.append(escaped(form, letter.value), is_given);
    }
    at += letter.length;
  }
  return result.append(std::string_view(&quote, 1));
}

MarkedText sequence_text(const Sequence& sequence, Meter& meter) {
  MarkedText result;
  for (const Value& item : sequence.items) {
    if (!result.bytes.empty()) result.append(", ");
    result.append(representation(item, meter));
  }
  const auto within = [&](std::string_view begin, std::string_view end) {
    MarkedText whole;
    meter.make(result.bytes.size());
    return whole.append(begin).append(result).append(end);
  };
  switch (sequence.kind) {
    case SequenceKind::list:
      return within("[", "]");
    case SequenceKind::tuple:
      return within("(", sequence.items.size() == 1 ? ",)" : ")");
    case SequenceKind::keys:
      return within("dict_keys([", "])");
    case SequenceKind::values:
      return within("dict_values([", "])");
    case SequenceKind::items:
      return within("dict_items([", "])");
    default:
      meter.refuse("a range or an iterator has no text; | list makes a list of it");
  }
}

MarkedText dict_text(const Dict& dict, Meter& meter) {
  MarkedText result;
  result.append("{");
  for (const auto& [key, value] : dict.members) {
    if (result.bytes.size() > 1) result.append(", ");
    result.append(representation(key, meter)).append(": ").append(representation(value, meter));
  }
  meter.make(result.bytes.size());
  return result.append("}");
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Meter& meter) : style_(style), meter_(meter) {}

  MarkedText write(const Value& value) {
    add(value, 0);
    meter_.make(result_.bytes.size());
    return std::move(result_);
  }

 private:
  void add(const Value& value, int level) {
    meter_.step();
    if (value.text()) {
      add_text(*value.text());
    } else if (value.is_none() || value.is_number()) {
      result_.append(plain(value));
    } else if (value.dict()) {
      add_dict(*value.dict(), level);
    } else if (value.is_sequence(SequenceKind::list) || value.is_sequence(SequenceKind::tuple)) {
      add_list(value.sequence()->items, level);
    } else {
      meter_.refuse(type_name(value) + " cannot be written as JSON");
    }
  }

  static std::string plain(const Value& value) {
    if (value.is_none()) return "null";
    if (value.boolean()) return *value.boolean() ? "true" : "false";
    if (value.integer()) return std::to_string(*value.integer());
    const double number = *value.real();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return real_text(number);
  }

  void add_text(const MarkedText& text) {
    meter_.make(text.bytes.size());
    result_.append("\"");
    for (size_t at = 0; at < text.bytes.size();) {
      const CodePoint letter = code_point_at(text.bytes, at);
      const bool is_given = text.is_given(at);
      if (const std::string written = escape(letter.value); !written.empty()) {
        result_.append(written, is_given);
      } else {
        result_.append(std::string_view(text.bytes).substr(at, letter.length), is_given);
      }
      at += letter.length;
    }
    result_.append("\"");
  }

  std::string escape(char32_t letter) const {
    constexpr std::string_view kLetters = "\"\\\n\r\t\f\b";
    constexpr std::string_view kNames = "\"\\nrtfb";
    const size_t named = letter < 0x80 ? kLetters.find(static_cast<char>(letter)) : kLetters.npos;
    if (named != kLetters.npos) return std::string("\\") + kNames[named];
    if (letter < 0x20 || (style_.ascii && letter > 0x7E && letter < 0x10000)) {
      return escaped("\\u%04x", letter);
    }
    if (!style_.ascii || letter < 0x80) return "";
    const char32_t pair = letter - 0x10000;
    return escaped("\\u%04x", 0xD800 + (pair >> 10)) + escaped("\\u%04x", 0xDC00 + (pair & 0x3FF));
  }

  void begin_line(int level) {
    if (!style_.has_indent) return;
    meter_.make(style_.indent.size() * static_cast<size_t>(level));
    result_.append("\n");
    for (int i = 0; i < level; ++i) result_.append(style_.indent);
  }

  void add_list(const Values& items, int level) {
    result_.append("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) result_.append(style_.between);
      begin_line(level + 1);
      add(items[i], level + 1);
    }
    if (!items.empty()) begin_line(level);
    result_.append("]");
  }

  void add_dict(const Dict& dict, int level) {
    std::vector<const std::pair<Value, Value>*> members;
    for (const auto& member : dict.members) members.push_back(&member);
    if (style_.sorts_keys) {
      std::stable_sort(members.begin(), members.end(), [&](const auto* left, const auto* right) {
        return compare(left->first, right->first, meter_) < 0;
      });
    }
    result_.append("{");
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) result_.append(style_.between);
      begin_line(level + 1);
      add_key(members[i]->first);
      result_.append(style_.after_key);
      add(members[i]->second, level + 1);
    }
    if (!members.empty()) begin_line(level);
    result_.append("}");
  }

  void add_key(const Value& key) {
    if (key.text()) return add_text(*key.text());
    if (!key.is_none() && !key.is_number()) {
      meter_.refuse("keys of JSON must be texts, numbers, booleans or None, not " + type_name(key));
    }
    result_.append("\"" + plain(key) + "\"");
  }

  const JsonStyle& style_;
  Meter& meter_;
  MarkedText result_;
};

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view written(buffer, static_cast<size_t>(end - buffer));
  const size_t mark = written.find('e');
  const std::string sign = written[0] == '-' ? "-" : "";
  std::string digits(written.substr(sign.size(), mark - sign.size()));
  std::erase(digits, '.');
  int exponent = 0;
  const size_t plus = written[mark + 1] == '+' ? 1 : 0;
  std::from_chars(written.data() + mark + 1 + plus, written.data() + written.size(), exponent);
  constexpr int kMostDigits = 16;
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= kMostDigits) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    const std::string power = std::to_string(std::abs(exponent));
    return sign + digits[0] + fraction + "e" + (exponent < 0 ? "-" : "+") +
           (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<size_t>(exponent + 1);
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

MarkedText text_of(const Value& value, Meter& meter) {
  if (const MarkedText* text = value.text()) {
    meter.read(text->bytes.size());
    return *text;
  }
  if (value.is_undefined()) return {};
  return representation(value, meter);
}

MarkedText representation(const Value& value, Meter& meter) {
  meter.step();
  if (const String* string = value.string()) {
    if (!string->is_safe) return quoted(string->text, meter);
    MarkedText result;
    return result.append("Markup(").append(quoted(string->text, meter)).append(")");
  }
  if (value.is_none()) return {"None"};
  if (value.is_undefined()) return {"Undefined"};
  if (value.boolean()) return {*value.boolean() ? "True" : "False"};
  if (value.integer()) return {std::to_string(*value.integer())};
  if (value.real()) return {real_text(*value.real())};
  if (const Sequence* sequence = value.sequence()) return sequence_text(*sequence, meter);
  if (const Dict* dict = value.dict()) return dict_text(*dict, meter);
  meter.refuse("a " + type_name(value) + " has no text");
}

MarkedText json_text(const Value& value, const JsonStyle& style, Meter& meter) {
  return JsonWriter(style, meter).write(value);
}

}  // namespace headlight::text::jinja
