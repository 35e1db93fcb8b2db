// Numbers, texts and lists of them under the keys of one architecture.
#include "headlight/models/gguf_settings_reader.h"

#include <algorithm>
#include <cmath>

namespace headlight::models {
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  base::refuse("gguf", path, why);
}

std::string text_of(const io::Gguf& file, std::string_view key) {
  const io::Json* value = file.setting(key);
  if (value == nullptr) return "";
  if (value->text() == nullptr) refuse_file(file.path(), std::string(key) + " is no text");
  return *value->text();
}

// The one value of a list whose elements are all the same, or the value itself.
const io::Json* single(const io::Json* value) {
  if (value == nullptr || value->array() == nullptr) return value;
  const io::Json::Array& list = *value->array();
  const bool is_uniform = !list.empty() && std::ranges::all_of(list, [&](const io::Json& one) {
    return one == list[0];
  });
  return is_uniform ? &list[0] : nullptr;
}

}  // namespace

GgufSettingsReader::GgufSettingsReader(const io::Gguf& file)
    : file_(file), path_(file.path()), architecture_(text_of(file, "general.architecture")) {
  if (file.entries().empty()) refuse_file(path_, "it holds no tensors, only settings");
  const std::string type = text_of(file, "general.type");
  if (!type.empty() && type != "model") {
    refuse_file(path_, "it is of the type " + io::in_quotes(type) + ", not a whole model");
  }
  if (architecture_.empty()) refuse_file(path_, "general.architecture is missing");
}

std::string GgufSettingsReader::full(std::string_view key) const {
  return architecture_ + "." + std::string(key);
}

const io::Json* GgufSettingsReader::find(std::string_view key) const {
  const std::string name = full(key);
  asked_.insert(name);
  return file_.setting(name);
}

std::optional<int64_t> GgufSettingsReader::find_integer(std::string_view key) const {
  const io::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const io::Json* one = single(value);
  if (one == nullptr) refuse(key, "has other numbers for other layers, which is not computed");
  if (!one->integer()) refuse(key, "is no whole number");
  return one->integer();
}

int64_t GgufSettingsReader::integer(std::string_view key) const {
  const auto value = find_integer(key);
  if (!value) refuse(key, "is missing");
  return *value;
}

std::optional<double> GgufSettingsReader::find_number(std::string_view key) const {
  const io::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const io::Json* one = single(value);
  if (one == nullptr || !one->number() || !std::isfinite(*one->number())) {
    refuse(key, "is no finite number");
  }
  return one->number();
}

double GgufSettingsReader::number(std::string_view key) const {
  const auto value = find_number(key);
  if (!value) refuse(key, "is missing");
  return *value;
}

std::optional<bool> GgufSettingsReader::find_boolean(std::string_view key) const {
  const io::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->boolean()) refuse(key, "is not true or false");
  return value->boolean();
}

std::string GgufSettingsReader::text(std::string_view key) const {
  const io::Json* value = find(key);
  if (value == nullptr) return "";
  if (value->text() == nullptr) refuse(key, "is no text");
  return *value->text();
}

void GgufSettingsReader::pass(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) asked_.insert(full(key));
}

void GgufSettingsReader::refuse_unread() const {
  const std::string prefix = architecture_ + ".";
  for (const auto& [key, value] : file_.settings()) {
    if (!key.starts_with(prefix) || asked_.contains(key)) continue;
    refuse(key.substr(prefix.size()), "is not known; it may change the model's numbers");
  }
}

void GgufSettingsReader::refuse(std::string_view key, const std::string& why) const {
  refuse_file(path_, full(key) + " " + why);
}

int64_t GgufSettingsReader::rows(std::string_view tensor) const {
  const io::Gguf::Entry* entry = file_.find(tensor);
  if (entry == nullptr) refuse_file(path_, "the tensor " + std::string(tensor) + " is missing");
  if (entry->array.shape.rank() != 2) {
    refuse_file(path_, "the tensor " + std::string(tensor) + " has the shape " +
                           entry->array.shape.text() + ", two axes are needed");
  }
  return entry->array.shape[0];
}

}  // namespace headlight::models
