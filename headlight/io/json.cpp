// JSON values and their text.
#include "headlight/io/json.h"

#include <cmath>

#include "headlight/io/numbers.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

void append_escaped(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (byte >= 0x20) {
    out += static_cast<char>(byte);
  } else {
    out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
}

// Most characters: written as they are.
bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out.append(text, at, end - at);
    if (end == text.size()) break;
    const size_t length = code_point_length(text, end);
    if (length == 1) append_escaped(out, static_cast<unsigned char>(text[end]));
    if (length > 1) out.append(text, end, length);
    if (length == 0) out += "\uFFFD";
    at = end + (length > 0 ? length : 1);
  }
  out += '"';
}

void append(std::string& out, const Json& value) {
  if (const auto integer = value.integer()) {
    out += number_text(*integer);
  } else if (const auto number = value.number()) {
    out += std::isfinite(*number) ? number_text(*number) : "null";
  } else if (const auto boolean = value.boolean()) {
    out += *boolean ? "true" : "false";
  } else if (const std::string* text = value.text()) {
    append_text(out, *text);
  } else if (const Json::Array* array = value.array()) {
    out += '[';
    for (const Json& element : *array) {
      if (&element != array->data()) out += ',';
      append(out, element);
    }
    out += ']';
  } else if (const Json::Object* object = value.object()) {
    out += '{';
    for (const Json::Member& member : *object) {
      if (&member != object->data()) out += ',';
      append_text(out, member.first);
      out += ':';
      append(out, member.second);
    }
    out += '}';
  } else {
    out += "null";
  }
}

template <class T, class Variant>
std::optional<T> held(const Variant& variant) {
  const T* value = std::get_if<T>(&variant);
  return value ? std::optional<T>(*value) : std::nullopt;
}

}  // namespace

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

std::optional<bool> Json::boolean() const { return held<bool>(value_); }
std::optional<int64_t> Json::integer() const { return held<int64_t>(value_); }

std::optional<double> Json::number() const {
  if (const auto value = integer()) return static_cast<double>(*value);
  return held<double>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (const Object* members = object()) {
    for (const auto& [name, value] : *members) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

std::string json_text(const Json& value) {
  std::string text;
  append(text, value);
  return text;
}

}  // namespace headlight::io
