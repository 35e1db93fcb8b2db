// Rotary positions in config.json: one object, whichever way it is written.
#include "headlight/models/rotary_config.h"

#include <algorithm>
#include <array>

namespace headlight::models {
namespace {

using kernels::RotaryRates;
using kernels::RotaryScaling;

constexpr std::array<std::string_view, 3> kScalings = {"default", "linear", "llama3"};

// "rope_type" was once "type".
RotaryScaling scaling_of(const ConfigReader& object) {
  const std::string_view key = object.spelling("rope_type", "type");
  const std::string_view name = object.choice(key, kScalings, kScalings[0]);
  return static_cast<RotaryScaling>(std::ranges::find(kScalings, name) - kScalings.begin());
}

void require_keys(const ConfigReader& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (object.find(key) == nullptr) object.refuse(key, "is missing, a number is needed");
  }
}

// Whatever stands in the object says something of the rotation.
void refuse_other_keys(const ConfigReader& object) {
  for (const auto& [key, value] : *object.json().object()) {
    if (object.asked(key) || value.is_null()) continue;
    object.refuse(key, "is not computed for this kind of scaling; remove it if it does not count");
  }
}

double share_of(const ConfigReader& object, std::string_view key, const RotaryDefaults& defaults) {
  const double share = object.positive(key, defaults.share);
  if (share > 1 || (!defaults.any_share && share != defaults.share)) {
    object.refuse(key, defaults.any_share ? "is more than 1" : "is not 1: all columns are rotated");
  }
  return share;
}

// As many as other programs count.
int64_t rotated_columns(const RotaryDefaults& defaults, double share) {
  return static_cast<int64_t>(static_cast<double>(defaults.width) * share);
}

bool is_empty(const io::Json* value) {
  return value == nullptr || (value->object() != nullptr && value->object()->empty());
}

// All of a rotation from one object.
RotaryRates read_rotary_object(const ConfigReader& object, const RotaryDefaults& defaults) {
  const double share = share_of(object, "partial_rotary_factor", defaults);
  RotaryRates rates{.width = rotated_columns(defaults, share),
                    .base = object.positive("rope_theta", defaults.base),
                    .scaling = scaling_of(object)};
  if (rates.scaling != RotaryScaling::none) {
    require_keys(object, {"factor"});
    rates.factor = object.positive("factor", 1);
  }
  // Of no consequence to linear scaling.
  if (rates.scaling == RotaryScaling::linear) object.find("original_max_position_embeddings");
  if (rates.scaling == RotaryScaling::llama3) {
    require_keys(object, {"low_freq_factor", "high_freq_factor"});
    rates.low_freq_factor = object.positive("low_freq_factor", 1);
    rates.high_freq_factor = object.positive("high_freq_factor", 1);
    rates.original_positions = static_cast<double>(
        object.size("original_max_position_embeddings", kMostIds, defaults.positions));
    if (rates.high_freq_factor <= rates.low_freq_factor) {
      object.refuse("high_freq_factor", "must be more than low_freq_factor");
    }
  }
  refuse_other_keys(object);
  return rates;
}

// What rope_scaling holds; null without scaling.
io::Json rotary_scaling(const RotaryRates& rates) {
  if (rates.scaling == RotaryScaling::none) return {};
  io::Json::Object scaling = {{"rope_type", kScalings[static_cast<size_t>(rates.scaling)]},
                              {"factor", rates.factor}};
  if (rates.scaling == RotaryScaling::llama3) {
    scaling.emplace_back("low_freq_factor", rates.low_freq_factor);
    scaling.emplace_back("high_freq_factor", rates.high_freq_factor);
    scaling.emplace_back("original_max_position_embeddings",
                         static_cast<int64_t>(rates.original_positions));
  }
  return scaling;
}

// Everything in one object.
io::Json rotary_object(const RotaryRates& rates) {
  io::Json::Object object = {{"rope_theta", rates.base}};
  const io::Json scaling = rotary_scaling(rates);
  if (scaling.is_null()) {
    object.emplace_back("rope_type", kScalings[0]);
  } else {
    object.insert(object.end(), scaling.object()->begin(), scaling.object()->end());
  }
  return object;
}

constexpr const char* kWholeKey = "full_attention";
constexpr const char* kWindowedKey = "sliding_attention";

}  // namespace

RotaryRates read_rotary(const ConfigReader& reader, const RotaryDefaults& defaults) {
  const io::Json* scaling = reader.find("rope_scaling");
  const io::Json* nested = reader.find("rope_parameters");
  RotaryDefaults given = defaults;
  given.base = reader.positive(defaults.base_key, defaults.base);
  const bool has_both = reader.find(defaults.base_key) != nullptr && reader.has("rope_theta");
  if (has_both) reader.require_same(defaults.base_key, "rope_theta");
  given.share = share_of(reader, defaults.share_key, defaults);
  if (is_empty(scaling) && is_empty(nested)) {
    return {.width = rotated_columns(given, given.share), .base = given.base};
  }
  const auto rates_of = [&](const io::Json& json, std::string_view key) {
    const ConfigReader object(json, reader.path(), std::string(key) + ".");
    const RotaryRates rates = read_rotary_object(object, given);
    if (reader.find(defaults.base_key) != nullptr && rates.base != given.base) {
      object.refuse("rope_theta",
                    "has another value than the " + std::string(defaults.base_key) + " beside it");
    }
    return rates;
  };
  if (is_empty(nested)) return rates_of(*scaling, "rope_scaling");
  const RotaryRates rates = rates_of(*nested, "rope_parameters");
  if (!is_empty(scaling) &&
      rotary_scaling(rates_of(*scaling, "rope_scaling")) != rotary_scaling(rates)) {
    reader.refuse("rope_scaling",
                  "says something else than rope_parameters; leave one of them out");
  }
  return rates;
}

double read_rotary_share(const ConfigReader& reader, const RotaryDefaults& defaults) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const io::Json* object = reader.find(key);
    const io::Json* share = is_empty(object) ? nullptr : object->find("partial_rotary_factor");
    if (share != nullptr && share->number()) return *share->number();
  }
  return reader.positive(defaults.share_key, defaults.share);
}

void write_rotary(io::Json::Object& config, const RotaryRates& rates, std::string_view base_key) {
  config.emplace_back(base_key, rates.base);
  config.emplace_back("rope_scaling", rotary_scaling(rates));
}

RotaryOfWindows read_rotary_of_windows(const ConfigReader& reader, const RotaryDefaults& defaults) {
  RotaryDefaults windowed = defaults;
  windowed.base = reader.positive(defaults.window_key, defaults.window_base);
  const io::Json* nested = reader.find("rope_parameters");
  if (is_empty(nested)) {
    return {read_rotary(reader, defaults), {.width = windowed.width, .base = windowed.base}};
  }
  reader.refuse_if_set("rope_scaling", "rope_parameters says it too; leave one of them out");
  RotaryDefaults whole = defaults;
  whole.base = reader.positive(defaults.base_key, defaults.base);
  const ConfigReader kinds(*nested, reader.path(), "rope_parameters.");
  const auto rates_of = [&](const char* key, const RotaryDefaults& otherwise,
                            std::string_view base_key) -> RotaryRates {
    const io::Json* json = kinds.find(key);
    if (json == nullptr) return {.width = otherwise.width, .base = otherwise.base};
    const ConfigReader object(*json, reader.path(), "rope_parameters." + std::string(key) + ".");
    const RotaryRates rates = read_rotary_object(object, otherwise);
    if (reader.find(base_key) != nullptr && rates.base != otherwise.base) {
      object.refuse("rope_theta",
                    "has another value than the " + std::string(base_key) + " beside it");
    }
    return rates;
  };
  const RotaryOfWindows both{rates_of(kWholeKey, whole, defaults.base_key),
                             rates_of(kWindowedKey, windowed, defaults.window_key)};
  refuse_other_keys(kinds);
  return both;
}

void write_rotary_of_windows(io::Json::Object& config, const RotaryRates& whole,
                             const RotaryRates& windowed, const RotaryDefaults& keys) {
  const bool unscaled_only = keys.base_key != "rope_theta";
  if (windowed.scaling == RotaryScaling::none &&
      (whole.scaling == RotaryScaling::none || !unscaled_only)) {
    config.emplace_back(keys.base_key, whole.base);
    config.emplace_back(keys.window_key, windowed.base);
    if (!unscaled_only) config.emplace_back("rope_scaling", rotary_scaling(whole));
    return;
  }
  config.emplace_back("rope_parameters", io::Json::Object{{kWholeKey, rotary_object(whole)},
                                                          {kWindowedKey, rotary_object(windowed)}});
}

}  // namespace headlight::models
