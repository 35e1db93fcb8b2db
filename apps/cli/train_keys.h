// The table of keys that a training run has, and the presets. Inside train_settings only.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <variant>

#include "apps/cli/train_settings.h"

namespace headlight::cli {

struct IntegerKey {
  int64_t TrainSettings::*field;
  Range<int64_t> range;
};
struct RealKey {
  double TrainSettings::*field;
  Range<double> range;
};
struct SwitchKey {
  bool TrainSettings::*field;
};
struct ChoiceKey {
  std::string TrainSettings::*field;
  std::span<const std::string_view> choices;
};
struct TextKey {
  std::string TrainSettings::*field;
};

struct Key {
  Option option;
  std::variant<IntegerKey, RealKey, SwitchKey, ChoiceKey, TextKey> kind;
  bool may_change = false;  // while a run is resumed: it cannot change the past
};

extern const std::span<const Key> kKeys;

// Keys with values as they would be typed.
struct Preset {
  std::string_view name;
  std::span<const std::pair<std::string_view, std::string_view>> values;
};
extern const std::span<const Preset> kPresets;
// What a task takes where nothing else is said.
const Preset& task_defaults(std::string_view task);

}  // namespace headlight::cli
