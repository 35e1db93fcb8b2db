// From flags, environment, configuration file, run folder, preset and defaults to settings.
#include "headlight/recipes/train_settings.h"

#include <algorithm>

#include "headlight/base/base.h"
#include "headlight/recipes/config_file.h"
#include "headlight/recipes/habits.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/train_check.h"
#include "headlight/recipes/train_keys.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

// Presets have the switches of one architecture; another one keeps its own.
bool is_for_another(const GivenValues& values, const Preset& preset) {
  const auto arch = values.text("arch");
  if (!arch) return false;
  std::string task = values.text("task").value_or("");
  for (const auto& [name, value] : preset.values) {
    if (task.empty() && name == "task") task = value;
  }
  return *arch != models_of_task(task).fresh_type;
}

void fill(GivenValues& values, const Preset& preset, const std::string& source) {
  constexpr std::string_view kSwitches[] = {"bias", "tie-embeddings", "norm", "positions",
                                            "activation"};
  // Batches are counted in one way, and a model that is given has its own context.
  const bool skips_tokens = values.has("batch-size");
  const bool skips_block = values.has("init");
  const bool skips_switches = is_for_another(values, preset);
  for (const auto& [name, value] : preset.values) {
    if ((skips_tokens && name == "batch-tokens") || (skips_block && name == "block-size")) continue;
    if (skips_switches && std::ranges::find(kSwitches, name) != std::end(kSwitches)) continue;
    if (values.has(name)) continue;
    values.set(name, {std::string(value), source + " " + key_in_files(name), Level::preset});
  }
}

// Throws an error of this kind, which names where the key stands.
void check_key(const std::string& key, ErrorKind kind, const std::string& where) {
  std::vector<std::string_view> names;
  for (const TrainKey& known : train_keys()) names.push_back(known.name);
  names.push_back("seed");
  if (std::ranges::find(names, key) != names.end()) return;
  const HabitAnswer habit = answer_to_option("train", key);
  std::string why;
  if (std::ranges::find(names, habit.option) != names.end()) {
    why = "; here it is " + key_in_files(habit.option);
  } else if (!habit.sentence.empty()) {
    why = "; " + std::string(habit.sentence);
  } else if (const auto near = base::nearest(key, names)) {
    why = "; the nearest is " + key_in_files(*near);
  }
  throw Error(kind, where, io::in_quotes(key), "is no key" + why);
}

void fill_from_file(GivenValues& values, base::FileSystem& files, const std::string& path) {
  for (const ConfigEntry& entry : read_config_file(files, path)) {
    const std::string where = path + " line " + std::to_string(entry.line);
    check_key(entry.key, ErrorKind::bad_input, where);
    if (values.has(entry.key)) continue;
    values.set(entry.key, {entry.value, where + " " + key_in_files(entry.key), Level::file});
  }
}

template <class T>
io::Json json_of(const T& value) {
  return value;
}
io::Json json_of(const std::optional<bool>& value) { return value ? io::Json(*value) : io::Json(); }

std::string text_of(const io::Json& value) {
  if (const std::string* text = value.text()) return *text;
  if (const auto flag = value.boolean()) return *flag ? "true" : "false";
  return io::json_text(value);
}

std::string run_value(const io::Json& run, std::string_view option) {
  const std::string name = key_in_files(option);
  if (const io::Json* value = run.find(name)) return text_of(*value);
  throw Error(ErrorKind::bad_input, "run.json", name,
              "is missing: the file is not one that train has written");
}

// How run.json writes that a key was left open, where that is not an empty text.
std::string_view left_open(const TrainKey& key) {
  const auto* integer = std::get_if<IntegerKey>(&key.kind);
  const auto* real = std::get_if<RealKey>(&key.kind);
  if (integer && integer->range.lowest > 0) return "0";
  if (real && real->range.lowest > 0) return "0.0";
  return std::holds_alternative<SwitchKey>(key.kind) ? "null" : "";
}

void fill_from_run(GivenValues& values, const io::Json& run) {
  const auto fill_in = [&](std::string_view name, const std::string& text) {
    if (!values.has(name)) values.set(name, {text, "run.json " + key_in_files(name), Level::run});
  };
  for (const TrainKey& key : train_keys()) {
    const std::string text = run_value(run, key.name);
    // Keys that the first run left open are open here too.
    if (text.empty() || text == left_open(key)) continue;
    fill_in(key.name, text);
  }
  fill_in("seed", run_value(run, "seed"));
  if (values.has("task")) return;
  throw Error(ErrorKind::bad_input, "run.json", "task",
              "is empty: the file is not one that train has written");
}

void fill_from_preset(GivenValues& values) {
  if (!values.has("preset")) return;
  std::vector<std::string_view> names;
  for (const Preset& preset : train_presets()) names.push_back(preset.name);
  const std::string name = values.choice("preset", names);
  fill(values, *std::ranges::find(train_presets(), name, &Preset::name), "preset " + name);
}

std::optional<bool> switch_of(const GivenValues& values, std::string_view name) {
  const auto text = values.text(name);
  if (!text) return std::nullopt;
  const std::string small = in_small_letters(*text);
  if (small == "true" || small == "1" || small == "yes" || small == "on") return true;
  if (small == "false" || small == "0" || small == "no" || small == "off") return false;
  throw Error(ErrorKind::usage, values.source(name), io::in_quotes(*text), "must be true or false");
}

void read_key(const GivenValues& values, const TrainKey& key, TrainSettings& to) {
  const std::string_view name = key.name;
  if (const auto* integer = std::get_if<IntegerKey>(&key.kind)) {
    if (const auto value = values.integer(name, integer->range)) to.*integer->field = *value;
  } else if (const auto* real = std::get_if<RealKey>(&key.kind)) {
    if (const auto value = values.real(name, real->range)) to.*real->field = *value;
  } else if (const auto* flag = std::get_if<SwitchKey>(&key.kind)) {
    to.*flag->field = switch_of(values, name);
  } else if (const auto* choice = std::get_if<ChoiceKey>(&key.kind)) {
    if (values.has(name)) to.*choice->field = values.choice(name, choice->choices);
  } else if (const auto value = values.text(name)) {
    to.*std::get<TextKey>(key.kind).field = *value;
  }
}

// Where neither preset nor task says otherwise.
constexpr std::pair<std::string_view, std::string_view> kDefaultValues[] = {
    {"optimizer", "adamw"}, {"schedule", "cosine"},   {"beta1", "0.9"},      {"beta2", "0.98"},
    {"grad-clip", "1"},     {"weight-decay", "0.01"}, {"log-interval", "10"}};

// The type of the model and what it takes where nothing is said. A model that is given has its own.
void fill_from_architecture(GivenValues& values, const std::string& task) {
  if (values.has("init")) return;
  if (!values.has("arch")) {
    const std::string type(models_of_task(task).fresh_type);
    values.set("arch", {type, "task " + task + " arch", Level::preset});
  }
  const std::string type = *values.text("arch");
  const models::Architecture* known = models::known_architectures().find(type);
  if (known == nullptr) return;  // told later
  for (const auto& [key, value] : models::default_values(known->choices)) {
    const std::string name = key_of(key);
    if (values.has(name)) continue;
    values.set(name, {std::string(value), "arch " + type + " " + std::string(key), Level::preset});
  }
}

void fill_from_defaults(GivenValues& values) {
  const std::string task = values.text("task").value_or("lm");
  fill(values, task_defaults(task), "task " + task);
  fill_from_architecture(values, task);
  fill(values, {"defaults", kDefaultValues}, "defaults");
}

}  // namespace

GivenValues train_values(const std::vector<std::pair<std::string, std::string>>& values) {
  GivenValues given;
  for (const auto& [name, text] : values) {
    const std::string key = key_of(name);
    check_key(key, ErrorKind::usage, "train");
    given.set(key, {text, key_in_files(name)});
  }
  return given;
}

TrainSettings read_train_settings(GivenValues values, base::FileSystem& files,
                                  const io::Json* resumed, int64_t shards,
                                  const std::string& run_path) {
  if (const auto path = values.text("config")) fill_from_file(values, files, *path);
  settle_train_values(values);
  if (resumed != nullptr) fill_from_run(values, *resumed);
  // When a file is wrong, the command line is not.
  const auto reading = [&](std::string_view name, const auto& read) {
    try {
      return read();
    } catch (const Error& error) {
      throw error.with_kind(kind_of_wrong(values, name));
    }
  };
  reading("preset", [&] { fill_from_preset(values); });
  fill_from_defaults(values);
  TrainSettings settings;
  settings.shards = shards;
  settings.seed = reading("seed", [&] {
                    return values.integer("seed", {0, INT64_MAX});
                  }).value_or(0);
  for (const TrainKey& key : train_keys())
    reading(key.name, [&] { read_key(values, key, settings); });
  // A preset's end of the cosine is for its own beginning.
  if (values.has("min-lr") && values.level("min-lr") == Level::preset)
    settings.min_lr = std::min(settings.min_lr, settings.learning_rate);
  if (settings.lr_decay_iters == 0) settings.lr_decay_iters = settings.max_iters;
  // First what was changed: keys of the run that contradict it are not to blame.
  if (resumed != nullptr) check_unchanged(*resumed, settings_json(settings), run_path);
  check_train_settings(values, settings);
  return settings;
}

void add_later_keys(io::Json& run) {
  if (run.object() == nullptr) return;
  const auto text = [&run](const char* key) {
    const io::Json* value = run.find(key);
    return value != nullptr && value->text() != nullptr ? *value->text() : "";
  };
  const std::string_view type = models_of_task(text("task")).fresh_type;
  const std::pair<const char*, io::Json> later[] = {{"shards", 1},
                                                    {"arch", text("init").empty() ? type : ""},
                                                    {"n_kv_head", 0},
                                                    {"sliding_window", 0},
                                                    {"rope_theta", 0.0}};
  for (const auto& [key, value] : later) {
    if (run.find(key) == nullptr) run.object()->emplace_back(key, value);
  }
}

io::Json settings_json(const TrainSettings& settings) {
  io::Json::Object object;
  for (const TrainKey& key : train_keys()) {
    const std::string name = key_in_files(key.name);
    std::visit([&](const auto& kind) { object.emplace_back(name, json_of(settings.*kind.field)); },
               key.kind);
  }
  object.emplace_back("seed", settings.seed);
  return object;
}

void check_unchanged(const io::Json& before, const io::Json& now, const std::string& path) {
  for (const auto& [label, value] : *now.object()) {
    const std::string& name = label;  // what a lambda may hold on to
    const auto key = std::ranges::find_if(
        train_keys(), [&](const TrainKey& entry) { return key_in_files(entry.name) == name; });
    if (key != train_keys().end() && key->may_change) continue;
    const io::Json* old = before.find(name);
    if (text_of(*old) == text_of(value)) continue;
    throw Error(ErrorKind::bad_input, path, name,
                "was " + io::json_text(*old) + " and is now " + io::json_text(value) +
                    "; a run that is resumed keeps what it was started with");
  }
}

}  // namespace headlight::recipes
