// Members of the right type, and one sentence for each other one.
#include "headlight/text/component.h"

#include "headlight/text/vocabulary.h"

namespace headlight::text {

Component::Component(const io::Json& json, std::string place, std::string name)
    : json_(json), place_(std::move(place)), name_(std::move(name)) {
  if (json_.is_null()) return;
  if (!json_.object()) refuse("is not an object");
  type_ = text("type", "");
}

bool Component::flag(std::string_view key, bool missing) const {
  const io::Json* member = json_.find(key);
  if (!member || member->is_null()) return missing;
  if (const auto value = member->boolean()) return *value;
  refuse("\"" + std::string(key) + "\" is not true or false");
}

std::string Component::text(std::string_view key, std::string_view missing) const {
  const io::Json* member = json_.find(key);
  if (!member || member->is_null()) return std::string(missing);
  if (const std::string* value = member->text()) return *value;
  refuse("\"" + std::string(key) + "\" is not a text");
}

int64_t Component::integer(std::string_view key, int64_t missing) const {
  const io::Json* member = json_.find(key);
  if (!member || member->is_null()) return missing;
  if (const auto value = member->integer()) return *value;
  refuse("\"" + std::string(key) + "\" is not a whole number");
}

std::string Component::character(std::string_view key, std::string_view missing) const {
  std::string value = text(key, missing);
  if (!value.empty() && io::code_point_length(value, 0) == value.size()) return value;
  refuse("\"" + std::string(key) + "\" is not one character");
}

const io::Json::Array& Component::array(std::string_view key) const {
  const io::Json* member = json_.find(key);
  if (member && member->array()) return *member->array();
  refuse("\"" + std::string(key) + (member ? "\" is not a list" : "\" is missing"));
}

const io::Json::Object& Component::object(std::string_view key) const {
  const io::Json* member = json_.find(key);
  if (member && member->object()) return *member->object();
  refuse("\"" + std::string(key) + (member ? "\" is not an object" : "\" is missing"));
}

void Component::refuse(const std::string& why) const {
  refuse_tokenizer(name_, place_ + (type_.empty() ? "" : " " + io::in_quotes(type_)) + ": " + why);
}

void Component::refuse_type(std::string_view read) const {
  refuse("is not supported; read are " + std::string(read));
}

void Component::check_steps(size_t count) const {
  constexpr size_t kMost = 64;
  if (count > kMost) refuse("more than " + std::to_string(kMost) + " steps");
}

}  // namespace headlight::text
