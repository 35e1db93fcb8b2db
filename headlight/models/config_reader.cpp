// ConfigReader: one function per type.
#include "headlight/models/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;
using nn::Activation;

// Those that configurations may name, first under the names that are written.
struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr std::array<NamedActivation, 10> kNamed = {{{"relu", Activation::relu},
                                                     {"gelu", Activation::gelu},
                                                     {"gelu_new", Activation::gelu_tanh},
                                                     {"silu", Activation::silu},
                                                     {"swish", Activation::silu},
                                                     {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                     {"gelu_fast", Activation::gelu_tanh},
                                                     {"gelu_python", Activation::gelu},
                                                     {"gelu_python_tanh", Activation::gelu_tanh},
                                                     {"gelu_accurate", Activation::gelu_tanh}}};

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

std::string listed(std::span<const std::string_view> choices) {
  std::string text;
  for (const std::string_view choice : choices)
    text.append(text.empty() ? "" : ", ").append(choice);
  return text;
}

// Settings of the configurations of one family or another that change what is computed, and the
// value that changes nothing besides null, false and nothing.
struct NumberSetting {
  std::string_view key;
  double neutral = 0;
};
constexpr NumberSetting kNumberSettings[] = {{"attention_bias"},
                                             {"mlp_bias"},
                                             {"use_bias"},
                                             {"bias"},
                                             {"qkv_bias"},
                                             {"use_qkv_bias"},
                                             {"enable_bias"},
                                             {"rope_theta"},
                                             {"rope_scaling"},
                                             {"rope_parameters"},
                                             {"rope_interleaved"},
                                             {"rope_local_base_freq"},
                                             {"global_rope_theta"},
                                             {"local_rope_theta"},
                                             {"rotary_emb_base"},
                                             {"rotary_pct", 1},
                                             {"rotary_dim"},
                                             {"partial_rotary_factor", 1},
                                             {"original_max_position_embeddings"},
                                             {"no_rope_layers"},
                                             {"layer_types"},
                                             {"sliding_window"},
                                             {"use_sliding_window"},
                                             {"attention_layers"},
                                             {"local_attention"},
                                             {"use_bidirectional_attention"},
                                             {"query_pre_attn_scalar"},
                                             {"attn_logit_softcapping"},
                                             {"final_logit_softcapping"},
                                             {"attention_multiplier", 1},
                                             {"residual_multiplier", 1},
                                             {"embedding_multiplier", 1},
                                             {"logits_scaling", 1},
                                             {"logit_scale", 1},
                                             {"scale_emb", 1},
                                             {"scale_depth", 1},
                                             {"dim_model_base"},
                                             {"clip_qkv"},
                                             {"qk_layernorm"},
                                             {"use_qk_norm"},
                                             {"use_parallel_residual"},
                                             {"parallel_attn"},
                                             {"alibi"},
                                             {"num_experts"},
                                             {"num_local_experts"},
                                             {"n_routed_experts"},
                                             {"word_embed_proj_dim"},
                                             {"embedding_size"},
                                             {"kv_lora_rank"},
                                             {"layerdrop"},
                                             {"encoder_layerdrop"},
                                             {"decoder_layerdrop"},
                                             {"multi_query"},
                                             {"per_layer_config"}};

}  // namespace

ConfigReader::ConfigReader(const io::Json& json, const std::string& path, std::string prefix)
    : json_(json), path_(path), prefix_(std::move(prefix)) {
  if (json.object() == nullptr) {
    const std::string where = prefix_.substr(0, prefix_.empty() ? 0 : prefix_.size() - 1);
    throw Error(ErrorKind::bad_input, path, where, "is " + shown(json) + ", an object is needed");
  }
}

void ConfigReader::refuse(std::string_view key, const std::string& why) const {
  throw Error(ErrorKind::bad_input, path_, prefix_ + std::string(key), why);
}

const io::Json* ConfigReader::find(std::string_view key) const {
  asked_.emplace(key);
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

double ConfigReader::positive(std::string_view key, double otherwise) const {
  constexpr double kMost = 1e30;
  const io::Json* value = find(key);
  if (value == nullptr) return otherwise;
  const auto number = value->number();
  if (!number) refuse(key, "is " + shown(*value) + ", a number is needed");
  if (!(*number > 1 / kMost && *number < kMost)) {
    refuse(key, "is " + shown(*value) + ", it must be above 1e-30 and below 1e30");
  }
  return *number;
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
  refuse(key, (value == nullptr ? "is missing" : "is " + shown(*value)) +
                  ", supported: " + listed(choices));
}

std::optional<std::vector<std::string_view>> ConfigReader::choices(
    std::string_view key, std::span<const std::string_view> choices, int64_t count) const {
  const io::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const io::Json::Array* list = value->array();
  if (list == nullptr || static_cast<int64_t>(list->size()) != count) {
    refuse(key, "is " + (list == nullptr ? shown(*value) : std::to_string(list->size()) + " long") +
                    ", a list of " + std::to_string(count) + " is needed, one for each layer");
  }
  std::vector<std::string_view> words;
  for (const io::Json& one : *list) {
    const auto found =
        one.text() == nullptr ? choices.end() : std::ranges::find(choices, *one.text());
    if (found == choices.end())
      refuse(key, "has " + shown(one) + ", supported: " + listed(choices));
    words.push_back(*found);
  }
  return words;
}

Activation ConfigReader::activation(std::string_view key, Activation otherwise) const {
  std::array<std::string_view, kNamed.size()> names;
  std::ranges::transform(kNamed, names.begin(), &NamedActivation::name);
  const std::string_view name = choice(key, names, kernels::name_of(otherwise));
  return std::ranges::find(kNamed, name, &NamedActivation::name)->activation;
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

// A list that is something else is refused by who generates. The end is not banned as a word, as
// transformers has it.
std::vector<int64_t> ConfigReader::banned_ids(int64_t vocab_size, const SpecialIds& ids) const {
  std::vector<int64_t> banned;
  const auto ban = [&](std::string_view key, const io::Json& value) {
    const std::optional<int64_t> id = id_of(key, value, vocab_size, OutsideIds::none);
    if (id && std::ranges::find(banned, *id) == banned.end()) banned.push_back(*id);
  };
  const auto is_end = [&](const io::Json& value) {
    const auto is_it = [&](int64_t end) { return value.integer() == end; };
    return (ids.end && is_it(*ids.end)) || std::ranges::any_of(ids.other_ends, is_it);
  };
  const io::Json* words = find("bad_words_ids");
  if (words != nullptr && words->array() != nullptr) {
    for (const io::Json& word : *words->array()) {
      if (word.array() == nullptr || word.array()->size() != 1) continue;
      if (!is_end(word.array()->front())) ban("bad_words_ids", word.array()->front());
    }
  }
  const io::Json* suppressed = find("suppress_tokens");
  if (suppressed != nullptr && suppressed->array() != nullptr) {
    for (const io::Json& id : *suppressed->array()) ban("suppress_tokens", id);
  }
  return banned;
}

SpecialIds ConfigReader::special_ids(int64_t vocab_size, OutsideIds outside) const {
  SpecialIds ids{.padding = id("pad_token_id", vocab_size, outside),
                 .begin = id("bos_token_id", vocab_size, outside),
                 .decoder_start = id("decoder_start_token_id", vocab_size, outside)};
  const io::Json* ends = find("eos_token_id");
  if (ends == nullptr || ends->array() == nullptr) {
    ids.end = id("eos_token_id", vocab_size, outside);
  } else {
    for (const io::Json& value : *ends->array()) {
      const std::optional<int64_t> end = id_of("eos_token_id", value, vocab_size, outside);
      if (end && ids.end) ids.other_ends.push_back(*end);
      if (!ids.end) ids.end = end;
    }
  }
  ids.banned = banned_ids(vocab_size, ids);
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

void refuse_unread_settings(const ConfigReader& reader, std::string_view type) {
  for (const auto& [key, neutral] : kNumberSettings) {
    if (reader.asked(key)) continue;
    const io::Json* value = reader.find(key);
    if (value == nullptr || (value->number() && *value->number() == neutral)) continue;
    reader.refuse_if_set(key, "models of type " + std::string(type) +
                                  " are computed without it; remove it if they were trained so");
  }
}

bool any_starts_with(const io::StoredTensors& tensors, std::string_view prefix) {
  return std::ranges::any_of(tensors.entries(), [prefix](const io::StoredTensors::Entry& entry) {
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
  if (ids.banned.empty()) return;
  config.emplace_back("suppress_tokens", io::Json::Array(ids.banned.begin(), ids.banned.end()));
}

double short_number(float number) {
  return io::parse_number<double>(io::number_text(number)).value_or(number);
}

}  // namespace headlight::models
