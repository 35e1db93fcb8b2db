// ConfigReader: one function per type.
#include "headlight/models/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;
using nn::Activation;

// Those that configurations may name.
constexpr std::array<Activation, 3> kNamed = {Activation::relu, Activation::gelu,
                                              Activation::gelu_tanh};

std::string range_text(int64_t least, int64_t most) {
  return "it must be from " + std::to_string(least) + " to " + std::to_string(most);
}

// The value as it stands in the file, cut to a message's length.
std::string shown(const io::Json& value) {
  constexpr size_t kMost = 40;
  if (value.array() != nullptr) return "a list";
  if (value.object() != nullptr) return "an object";
  std::string text = io::json_text(value);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace

ConfigReader::ConfigReader(const io::Json& json, const std::string& path)
    : json_(json), path_(path) {
  if (json.object() == nullptr) {
    throw Error(ErrorKind::bad_input, path, "", "is " + shown(json) + ", an object is needed");
  }
}

void ConfigReader::refuse(std::string_view key, const std::string& why) const {
  throw Error(ErrorKind::bad_input, path_, key, why);
}

const io::Json* ConfigReader::find(std::string_view key) const {
  const io::Json* value = json_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

int64_t ConfigReader::size(std::string_view key, int64_t most) const {
  if (find(key) == nullptr) {
    refuse(key, std::string(json_.find(key) == nullptr ? "is missing" : "is null") +
                    ", a whole number from 1 to " + std::to_string(most) + " is needed");
  }
  return integer(key, 1, most, 1);
}

int64_t ConfigReader::size(std::string_view key, int64_t most, int64_t otherwise) const {
  return integer(key, 1, most, otherwise);
}

int64_t ConfigReader::integer(std::string_view key, int64_t least, int64_t most,
                              int64_t otherwise) const {
  const io::Json* value = find(key);
  if (value == nullptr) return otherwise;
  const auto integer = value->integer();
  if (!integer) refuse(key, "is " + shown(*value) + ", a whole number is needed");
  if (*integer < least || *integer > most) {
    refuse(key, "is " + std::to_string(*integer) + ", " + range_text(least, most));
  }
  return *integer;
}

float ConfigReader::fraction(std::string_view key, bool zero, float otherwise) const {
  const io::Json* value = find(key);
  if (value == nullptr) return otherwise;
  const auto number = value->number();
  if (!number) refuse(key, "is " + shown(*value) + ", a number is needed");
  const auto rounded = static_cast<float>(*number);
  if (!(*number >= 0 && rounded < 1) || (!zero && rounded == 0)) {
    refuse(key, "is " + shown(*value) + ", it must be " +
                    (zero ? "at least 0 and below 1" : "above 0 and below 1"));
  }
  return rounded;
}

bool ConfigReader::boolean(std::string_view key, bool otherwise) const {
  const io::Json* value = find(key);
  if (value == nullptr) return otherwise;
  const auto boolean = value->boolean();
  if (!boolean) refuse(key, "is " + shown(*value) + ", true or false is needed");
  return *boolean;
}

std::string_view ConfigReader::choice(std::string_view key,
                                      std::span<const std::string_view> choices,
                                      std::string_view otherwise) const {
  return find(key) == nullptr ? otherwise : choice(key, choices);
}

std::string_view ConfigReader::choice(std::string_view key,
                                      std::span<const std::string_view> choices) const {
  const io::Json* value = find(key);
  if (value != nullptr && value->text() != nullptr) {
    const auto found = std::find(choices.begin(), choices.end(), *value->text());
    if (found != choices.end()) return *found;
  }
  std::string supported;
  for (const std::string_view choice : choices) {
    supported.append(supported.empty() ? "" : ", ").append(choice);
  }
  refuse(key,
         (value == nullptr ? "is missing" : "is " + shown(*value)) + ", supported: " + supported);
}

Activation ConfigReader::activation(std::string_view key, Activation otherwise) const {
  std::array<std::string_view, kNamed.size()> names;
  std::ranges::transform(kNamed, names.begin(), kernels::name_of);
  const std::string_view name = choice(key, names, kernels::name_of(otherwise));
  return *std::ranges::find(kNamed, name, kernels::name_of);
}

std::optional<int64_t> ConfigReader::id(std::string_view key, int64_t vocab_size,
                                        OutsideIds outside) const {
  const io::Json* value = find(key);
  return value == nullptr ? std::nullopt : id_of(key, *value, vocab_size, outside);
}

std::optional<int64_t> ConfigReader::id_of(std::string_view key, const io::Json& value,
                                           int64_t vocab_size, OutsideIds outside) const {
  const auto integer = value.integer();
  if (!integer) refuse(key, "is " + shown(value) + ", a whole number is needed");
  if (*integer < 0 || *integer >= vocab_size) {
    if (outside == OutsideIds::none) return std::nullopt;
    refuse(key, "is " + std::to_string(*integer) + ", the vocabulary has ids 0 to " +
                    std::to_string(vocab_size - 1));
  }
  return integer;
}

SpecialIds ConfigReader::special_ids(int64_t vocab_size, OutsideIds outside) const {
  SpecialIds ids{.padding = id("pad_token_id", vocab_size, outside),
                 .begin = id("bos_token_id", vocab_size, outside),
                 .decoder_start = id("decoder_start_token_id", vocab_size, outside)};
  const io::Json* ends = find("eos_token_id");
  if (ends == nullptr || ends->array() == nullptr) {
    ids.end = id("eos_token_id", vocab_size, outside);
    return ids;
  }
  for (const io::Json& value : *ends->array()) {
    const std::optional<int64_t> end = id_of("eos_token_id", value, vocab_size, outside);
    if (end && ids.end) ids.other_ends.push_back(*end);
    if (!ids.end) ids.end = end;
  }
  return ids;
}

void ConfigReader::require(std::string_view key, const io::Json& value) const {
  const io::Json* given = find(key);
  if (given == nullptr || *given == value) return;
  refuse(key, "is " + shown(*given) + ", only " + shown(value) + " is supported");
}

void ConfigReader::refuse_if_set(std::string_view key, const std::string& what) const {
  const io::Json* given = find(key);
  if (given == nullptr || *given == io::Json(false)) return;
  if (given->object() != nullptr && given->object()->empty()) return;
  if (given->array() != nullptr && given->array()->empty()) return;
  refuse(key, "is " + shown(*given) + ": " + what);
}

void ConfigReader::require_same(std::string_view key, std::string_view other) const {
  const io::Json* one = find(key);
  const io::Json* two = find(other);
  if (one == nullptr || two == nullptr || *one == *two) return;
  if (one->number() && two->number() && *one->number() == *two->number()) return;
  refuse(key, "is " + shown(*one) + ", and " + std::string(other) + ", another name of it, is " +
                  shown(*two) + "; leave one of them out");
}

std::string_view ConfigReader::spelling(std::string_view key, std::string_view other) const {
  require_same(key, other);
  return find(key) == nullptr && find(other) != nullptr ? other : key;
}

void ConfigReader::check_heads(std::string_view key, int64_t heads, int64_t width) const {
  if (width % heads == 0) return;
  refuse(key, std::to_string(heads) + " heads do not divide the width " + std::to_string(width));
}

void refuse_quantized(const ConfigReader& reader) {
  reader.refuse_if_set("quantization_config",
                       "quantized weights are not read; take the folder in float32, float16 or "
                       "bfloat16");
}

void refuse_foreign_settings(const ConfigReader& reader) {
  refuse_quantized(reader);
  reader.refuse_if_set("pruned_heads",
                       "heads that are missing are not read; take the model with all its heads");
  reader.refuse_if_set("is_encoder_decoder", "the model is read as one stack of layers");
  reader.refuse_if_set("add_cross_attention", "the model is read without cross-attention");
}

bool any_starts_with(const io::Safetensors& tensors, std::string_view prefix) {
  return std::ranges::any_of(tensors.entries(), [prefix](const io::Safetensors::Entry& entry) {
    return entry.name.starts_with(prefix);
  });
}

void write_special_ids(io::Json::Object& config, const SpecialIds& ids) {
  const auto write = [&config](const char* key, const std::optional<int64_t>& id) {
    config.emplace_back(key, id ? io::Json(*id) : io::Json());
  };
  write("pad_token_id", ids.padding);
  write("bos_token_id", ids.begin);
  write("eos_token_id", ids.end);
  if (!ids.other_ends.empty()) {
    io::Json::Array ends{*ids.end};
    ends.insert(ends.end(), ids.other_ends.begin(), ids.other_ends.end());
    config.back().second = std::move(ends);
  }
  write("decoder_start_token_id", ids.decoder_start);
}

double short_number(float number) {
  return io::parse_number<double>(io::number_text(number)).value_or(number);
}

}  // namespace headlight::models
