// From flags, environment, configuration file, run folder, preset and defaults to settings.
#include "apps/cli/train_settings.h"

#include <algorithm>

#include "apps/cli/config_file.h"
#include "apps/cli/train_keys.h"
#include "apps/cli/words.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

std::string typed_name(std::string_view option) {
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

void fill(Arguments& arguments, const Preset& preset, const std::string& source) {
  for (const auto& [name, value] : preset.values) {
    if (!arguments.has(name)) arguments.set(name, std::string(value), source);
  }
}

void fill_from_file(Arguments& arguments, base::FileSystem& files, const std::string& path) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) names.push_back(key.option.name);
  names.push_back("preset");
  names.push_back("seed");
  for (const ConfigEntry& entry : read_config_file(files, path)) {
    const std::string where = path + " line " + std::to_string(entry.line);
    if (std::ranges::find(names, entry.key) == names.end()) {
      throw Error(ErrorKind::bad_input, where, io::in_quotes(entry.key),
                  "is no key; the nearest is " + typed_name(nearest(entry.key, names)));
    }
    if (!arguments.has(entry.key)) arguments.set(entry.key, entry.value, where);
  }
}

std::string text_of(const io::Json& value) {
  if (const std::string* text = value.text()) return *text;
  if (const auto flag = value.boolean()) return *flag ? "true" : "false";
  return io::json_text(value);
}

void fill_from_run(Arguments& arguments, const io::Json& run) {
  for (const Key& key : kKeys) {
    const io::Json* value = run.find(typed_name(key.option.name));
    if (value == nullptr || arguments.has(key.option.name)) continue;
    const std::string text = text_of(*value);
    const auto* integer = std::get_if<IntegerKey>(&key.kind);
    // Keys that the first run left open are open here too.
    if (text.empty() || (integer && integer->range.lowest > 0 && text == "0")) continue;
    arguments.set(key.option.name, text, "run.json");
  }
  const io::Json* seed = run.find("seed");
  if (seed != nullptr && !arguments.has("seed")) arguments.set("seed", text_of(*seed), "run.json");
}

const Preset& preset_called(const Arguments& arguments) {
  std::vector<std::string_view> names;
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  const std::string name = arguments.choice("preset", names);
  return *std::ranges::find(kPresets, name, &Preset::name);
}

// Given on the command line or in the environment.
bool is_typed(const Arguments& arguments, std::string_view name) {
  const std::string source = arguments.source(name);
  return arguments.has(name) && (source.starts_with("--") || source.starts_with("HEADLIGHT_"));
}

bool switch_of(const Arguments& arguments, std::string_view name, bool otherwise) {
  const auto text = arguments.text(name);
  if (!text) return otherwise;
  const std::string small = in_small_letters(*text);
  if (small == "true" || small == "1" || small == "yes" || small == "on") return true;
  if (small == "false" || small == "0" || small == "no" || small == "off") return false;
  throw Error(ErrorKind::usage, arguments.source(name), io::in_quotes(*text),
              "must be true or false");
}

void read_key(const Arguments& arguments, const Key& key, TrainSettings& to) {
  const std::string_view name = key.option.name;
  if (const auto* integer = std::get_if<IntegerKey>(&key.kind)) {
    if (const auto value = arguments.integer(name, integer->range)) to.*integer->field = *value;
  } else if (const auto* real = std::get_if<RealKey>(&key.kind)) {
    if (const auto value = arguments.real(name, real->range)) to.*real->field = *value;
  } else if (const auto* flag = std::get_if<SwitchKey>(&key.kind)) {
    to.*flag->field = switch_of(arguments, name, to.*flag->field);
  } else if (const auto* choice = std::get_if<ChoiceKey>(&key.kind)) {
    to.*choice->field = arguments.choice(name, choice->choices);
  } else if (const auto value = arguments.text(name)) {
    to.*std::get<TextKey>(key.kind).field = *value;
  }
}

// Where neither preset nor task says otherwise.
constexpr std::pair<std::string_view, std::string_view> kDefaultValues[] = {
    {"norm", "pre"},        {"activation", "relu"},
    {"optimizer", "adamw"}, {"schedule", "cosine"},
    {"beta1", "0.9"},       {"beta2", "0.98"},
    {"grad-clip", "1"},     {"weight-decay", "0.01"},
    {"log-interval", "10"}, {"positions", "sinusoidal"}};

[[noreturn]] void contradict(const Arguments& arguments, std::string_view first,
                             const std::string& why) {
  throw Error(ErrorKind::usage, arguments.source(first), "", why);
}

// What can be seen from the settings alone.
void check(const Arguments& arguments, const TrainSettings& s) {
  if (!arguments.has("task"))
    throw Error(ErrorKind::usage, "--task", "",
                "is missing: --task lm|translate|numbers|copy|reverse");
  if (s.is_generated()) {
    for (const std::string_view name : {"data", "valid", "source", "target", "tokenizer"}) {
      if (arguments.has(name))
        contradict(arguments, name, "task " + s.task + " makes its own data and tokens");
    }
  } else if (s.data.empty() && s.source.empty()) {
    throw Error(ErrorKind::usage, "--data", "", "is missing: task " + s.task + " reads text");
  }
  if (s.source.empty() != s.target.empty())
    contradict(arguments, s.source.empty() ? "target" : "source",
               "--source and --target go together");
  if (!s.source.empty() && (s.task != "translate" || !s.data.empty()))
    contradict(arguments, "source", "goes with --task translate and instead of --data");
  if (!s.init.empty()) {
    for (const std::string_view name :
         {"n-layer", "n-encoder-layer", "n-decoder-layer", "n-head", "n-embd", "d-ff", "dropout",
          "bias", "tie-embeddings", "norm", "positions", "activation", "tokenizer"}) {
      if (is_typed(arguments, name)) contradict(arguments, name, "comes with the model of --init");
    }
  }
  if (s.n_embd % s.n_head != 0) {
    throw Error(ErrorKind::bad_input, "n_embd", std::to_string(s.n_embd),
                "is not a multiple of n_head " + std::to_string(s.n_head));
  }
  if (s.learning_rate == 0) contradict(arguments, "learning-rate", "must be more than 0");
  if (s.min_lr > s.learning_rate && s.schedule == "cosine")
    contradict(arguments, "min-lr", "is more than learning_rate");
}

}  // namespace

TrainSettings read_train_settings(Arguments arguments, base::FileSystem& files,
                                  const io::Json* resumed, int64_t seed) {
  if (const auto path = arguments.text("config")) fill_from_file(arguments, files, *path);
  if (resumed != nullptr) fill_from_run(arguments, *resumed);
  if (arguments.has("preset")) {
    const Preset& preset = preset_called(arguments);
    fill(arguments, preset, "preset " + std::string(preset.name));
  }
  const std::string task = arguments.text("task").value_or("lm");
  // An encoder-decoder reads positions as the paper has them, a GPT as GPT-2.
  if (!arguments.has("positions") && task == "lm") arguments.set("positions", "learned", "task lm");
  fill(arguments, task_defaults(task), "task " + task);
  fill(arguments, {"defaults", kDefaultValues}, "defaults");
  TrainSettings settings;
  settings.seed = arguments.integer("seed", {0, INT64_MAX}).value_or(seed);
  for (const Key& key : kKeys) {
    try {
      read_key(arguments, key, settings);
    } catch (const Error& error) {
      if (is_typed(arguments, key.option.name)) throw;
      throw error.with_kind(ErrorKind::bad_input);  // a file is wrong, not the command line
    }
  }
  check(arguments, settings);
  if (settings.lr_decay_iters == 0) settings.lr_decay_iters = settings.max_iters;
  return settings;
}

io::Json settings_json(const TrainSettings& settings) {
  io::Json::Object object;
  for (const Key& key : kKeys) {
    const std::string name = typed_name(key.option.name);
    std::visit([&](const auto& kind) { object.emplace_back(name, settings.*kind.field); },
               key.kind);
  }
  object.emplace_back("seed", settings.seed);
  return object;
}

void check_unchanged(const io::Json& before, const io::Json& now, const std::string& path) {
  for (const auto& [name, value] : *now.object()) {
    const auto key = std::ranges::find_if(
        kKeys, [&](const Key& entry) { return typed_name(entry.option.name) == name; });
    if (key != kKeys.end() && key->may_change) continue;
    const io::Json* old = before.find(name);
    if (old != nullptr && text_of(*old) == text_of(value)) continue;
    throw Error(ErrorKind::bad_input, path, name,
                "was " + (old == nullptr ? "not there" : io::json_text(*old)) + " and is now " +
                    io::json_text(value) +
                    "; a run that is resumed keeps what it was started with");
  }
}

}  // namespace headlight::cli
