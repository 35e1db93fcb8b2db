// The table of keys that a training run has, and the presets.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "headlight/recipes/train_settings.h"

namespace headlight::recipes {

struct IntegerKey {
  int64_t TrainSettings::*field;
  Range<int64_t> range;
};
struct RealKey {
  double TrainSettings::*field;
  Range<double> range;
};
struct SwitchKey {
  std::optional<bool> TrainSettings::*field;
};
struct ChoiceKey {
  std::string TrainSettings::*field;
  std::span<const std::string_view> choices;
};
struct TextKey {
  std::string TrainSettings::*field;
};

struct TrainKey {
  std::string_view name;   // with dashes, e.g. "n-layer"
  std::string_view value;  // what help calls the value, e.g. "N"
  std::string_view help;
  std::variant<IntegerKey, RealKey, SwitchKey, ChoiceKey, TextKey> kind;
  bool may_change = false;  // while a run is resumed: it cannot change the past
};

std::span<const TrainKey> train_keys();

// Keys with values as they would be typed.
struct Preset {
  std::string_view name;
  std::span<const std::pair<std::string_view, std::string_view>> values;
};
std::span<const Preset> train_presets();
// What a task takes where nothing else is said.
const Preset& task_defaults(std::string_view task);

}  // namespace headlight::recipes
