// Lists of one kind throughout, and messages whose content is text.
#include "apps/server/openai/request_inputs.h"

namespace headlight::server::openai {
namespace {

std::string at(const std::string& param, size_t index) {
  return param + "[" + std::to_string(index) + "]";
}

void check_count(const std::string& param, size_t count, size_t most, std::string_view what) {
  if (count == 0) refuse_value(param, "is an empty list", "empty_array");
  if (count > most) {
    refuse_value(param,
                 "has " + std::to_string(count) + " " + std::string(what) + ", at most " +
                     std::to_string(most) + " are taken",
                 "array_above_max_length");
  }
}

Ids read_ids(const std::string& param, const io::Json::Array& list) {
  Ids ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const auto id = list[i].integer();
    if (!id) {
      refuse_value(at(param, i), "must be the id of a token, is " + shown(list[i]), "invalid_type");
    }
    if (*id < 0) {
      refuse_value(at(param, i), "is " + std::to_string(*id) + ", ids are not negative",
                   "below_min_value");
    }
    ids.push_back(*id);
  }
  return ids;
}

Input read_list_input(const std::string& param, const io::Json& value, bool is_text) {
  if (is_text) {
    if (value.text() != nullptr) return *value.text();
    refuse_value(param, "must be a string as the first one is, is " + shown(value), "invalid_type");
  }
  if (value.array() == nullptr) {
    refuse_value(param, "must be a list of ids as the first one is, is " + shown(value),
                 "invalid_type");
  }
  check_count(param, value.array()->size(), SIZE_MAX, "ids");
  return read_ids(param, *value.array());
}

// Content in parts: texts, joined as they are.
std::string read_parts(const std::string& param, const io::Json::Array& parts) {
  std::string text;
  check_count(param, parts.size(), kMostMessages, "parts");
  for (size_t i = 0; i < parts.size(); ++i) {
    BodyFields fields(parts[i], at(param, i) + ".");
    fields.needed_text("type");
    fields.only_text("type", {"text"}, "messages are text");
    text += fields.needed_text("text");
    fields.only_empty("prompt_cache_breakpoint", "nothing is kept between requests");
    fields.refuse_unknown();
  }
  return text;
}

ChatMessage read_message(const io::Json& value, const std::string& param) {
  BodyFields fields(value, param + ".");
  ChatMessage message;
  message.role = fields.needed_text("role");
  fields.only_text("role", {"user", "system", "developer", "assistant"},
                   "models here call no tools");
  const io::Json* content = fields.find("content");
  if (content != nullptr && content->array() != nullptr) {
    message.content = read_parts(fields.path("content"), *content->array());
  } else {
    message.content = fields.needed_text("content");
  }
  // The template has no place for names.
  fields.ignore_text("name");
  // What an answer has besides its content, when it is given back as it came.
  fields.only_empty("refusal", "there are no refusals");
  fields.only_empty("annotations", "messages are text");
  fields.only_empty("audio", "messages are text");
  fields.only_empty("tool_calls", "models here call no tools");
  fields.only_empty("function_call", "models here call no tools");
  fields.refuse_unknown();
  return message;
}

}  // namespace

std::vector<Input> read_inputs(const std::string& param, const io::Json& value, size_t most) {
  if (value.text() != nullptr) return {*value.text()};
  const io::Json::Array* list = value.array();
  if (list == nullptr) {
    refuse_value(param,
                 "must be a string, a list of strings, a list of ids or a list of such lists, is " +
                     shown(value),
                 "invalid_type");
  }
  if (list->empty()) check_count(param, 0, most, "");
  const io::Json& first = list->front();
  if (first.number()) return {read_ids(param, *list)};
  check_count(param, list->size(), most, "texts");
  std::vector<Input> inputs;
  inputs.reserve(list->size());
  const bool is_text = first.text() != nullptr;
  if (!is_text && first.array() == nullptr) {
    refuse_value(at(param, 0), "must be a string, an id or a list of ids, is " + shown(first),
                 "invalid_type");
  }
  for (size_t i = 0; i < list->size(); ++i) {
    inputs.push_back(read_list_input(at(param, i), (*list)[i], is_text));
  }
  return inputs;
}

std::vector<ChatMessage> read_messages(BodyFields& fields) {
  const io::Json::Array* list = fields.array("messages");
  if (list == nullptr) refuse_value("messages", "is missing", "missing_required_parameter");
  check_count("messages", list->size(), kMostMessages, "messages");
  std::vector<ChatMessage> messages;
  messages.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    messages.push_back(read_message((*list)[i], at("messages", i)));
  }
  return messages;
}

}  // namespace headlight::server::openai
