// Types and ranges, with messages that name the field and the value.
#include "apps/server/openai/body_fields.h"

#include <algorithm>

namespace headlight::server::openai {
namespace {

constexpr size_t kLongestShown = 80;  // bytes of a client's own text within an error

std::string cut(std::string text) {
  if (text.size() <= kLongestShown) return text;
  text.resize(kLongestShown);
  text.resize(io::valid_utf8_length(text));
  return text + "...";
}

std::string_view type_name(const io::Json& value) {
  if (value.is_null()) return "null";
  if (value.boolean()) return "a boolean";
  if (value.number()) return "a number";
  if (value.text() != nullptr) return "a string";
  return value.array() != nullptr ? "an array" : "an object";
}

[[noreturn]] void refuse_type(const std::string& param, const io::Json& value,
                              std::string_view wanted) {
  refuse_value(param,
               "must be " + std::string(wanted) + ", is " + std::string(type_name(value)) + " (" +
                   shown(value) + ")",
               "invalid_type");
}

template <class Number>
void check_range(const std::string& param, Number value, Number low, Number high) {
  if (value >= low && value <= high) return;
  const std::string given = io::number_text(value);
  // Limits that nobody meets are not worth a word.
  const bool has_top = static_cast<double>(high) < 1e15;
  refuse_value(param,
               "is " + given + ", must be " +
                   (has_top ? "from " + io::number_text(low) + " to " + io::number_text(high)
                            : io::number_text(low) + " or more"),
               value < low ? "below_min_value" : "above_max_value");
}

bool is_empty(const io::Json& value) {
  if (value.text() != nullptr) return value.text()->empty();
  if (value.array() != nullptr) return value.array()->empty();
  return value.object() != nullptr && value.object()->empty();
}

}  // namespace

void refuse_value(std::string_view param, std::string_view why, std::string_view code) {
  const std::string name = cut(std::string(param));
  // An Error makes one line of it, whatever the client wrote.
  const base::Error line(base::ErrorKind::bad_input, name, "", why);
  throw HttpError(
      {.status = 400, .message = line.what(), .param = name, .code = std::string(code)});
}

io::Json parse_body(std::string_view body) {
  io::Json json;
  try {
    json = io::parse_json(body, "body");
  } catch (const base::Error& error) {
    throw HttpError({.status = 400, .message = error.what(), .code = "invalid_json"});
  }
  if (json.object() == nullptr) {
    throw HttpError({.status = 400,
                     .message = "body: must be a JSON object, is " + std::string(type_name(json)),
                     .code = "invalid_json"});
  }
  return json;
}

std::string shown(const io::Json& value) { return cut(io::json_text(value)); }

BodyFields::BodyFields(const io::Json& object, std::string place)
    : object_(object), place_(std::move(place)) {
  if (object_.object() == nullptr) {
    refuse_type(place_.substr(0, place_.size() - std::min<size_t>(1, place_.size())), object_,
                "an object");
  }
}

const io::Json* BodyFields::find(std::string_view name) {
  known_.emplace(name);
  const io::Json* value = object_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<bool> BodyFields::boolean(std::string_view name) {
  const io::Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->boolean()) refuse_type(path(name), *value, "true or false");
  return value->boolean();
}

std::optional<int64_t> BodyFields::integer(std::string_view name, int64_t low, int64_t high) {
  const io::Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->integer()) refuse_type(path(name), *value, "an integer of 64 bits");
  check_range(path(name), *value->integer(), low, high);
  return value->integer();
}

std::optional<double> BodyFields::number(std::string_view name, double low, double high) {
  const io::Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->number()) refuse_type(path(name), *value, "a number");
  check_range(path(name), *value->number(), low, high);
  return value->number();
}

std::optional<std::string> BodyFields::text(std::string_view name) {
  const io::Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->text() == nullptr) refuse_type(path(name), *value, "a string");
  return *value->text();
}

const io::Json::Array* BodyFields::array(std::string_view name) {
  const io::Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->array() == nullptr) refuse_type(path(name), *value, "an array");
  return value->array();
}

std::string BodyFields::needed_text(std::string_view name) {
  if (auto given = text(name)) return *std::move(given);
  refuse_value(path(name), "is missing", "missing_required_parameter");
}

void BodyFields::only_text(std::string_view name, const std::vector<std::string_view>& allowed,
                           std::string_view why) {
  const auto given = text(name);
  if (!given || std::ranges::find(allowed, *given) != allowed.end()) return;
  refuse_value(path(name), shown(*given) + " is not supported: " + std::string(why),
               "unsupported_value");
}

void BodyFields::only_zero(std::string_view name, double low, double high) {
  const auto given = number(name, low, high);
  if (!given || *given == 0) return;
  refuse_value(path(name), "is " + io::number_text(*given) + "; only 0 is supported",
               "unsupported_value");
}

void BodyFields::only_false(std::string_view name, std::string_view why) {
  if (boolean(name).value_or(false)) {
    refuse_value(path(name), "is not supported: " + std::string(why), "unsupported_value");
  }
}

void BodyFields::only_empty(std::string_view name, std::string_view why) {
  const io::Json* value = find(name);
  if (value == nullptr || is_empty(*value)) return;
  refuse_value(path(name), "is not supported: " + std::string(why), "unsupported_parameter");
}

void BodyFields::refuse_unknown() const {
  for (const auto& [name, value] : *object_.object()) {
    if (known_.contains(name)) continue;
    refuse_value(path(name), "is no field of this request", "unknown_parameter");
  }
}

}  // namespace headlight::server::openai
