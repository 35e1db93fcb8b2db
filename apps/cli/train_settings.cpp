// From flags, environment, configuration file, run folder, preset and defaults to settings.
#include "apps/cli/train_settings.h"

#include <algorithm>

#include "apps/cli/config_file.h"
#include "apps/cli/train_check.h"
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
  // Batches are counted in one way, and a model that is given has its own context.
  const bool skips_tokens = arguments.has("batch-size");
  const bool skips_block = arguments.has("init");
  for (const auto& [name, value] : preset.values) {
    if ((skips_tokens && name == "batch-tokens") || (skips_block && name == "block-size")) continue;
    if (arguments.has(name)) continue;
    arguments.set(name, {std::string(value), source + " " + typed_name(name), Level::preset});
  }
}

void fill_from_file(Arguments& arguments, base::FileSystem& files, const std::string& path) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) names.push_back(key.option.name);
  names.push_back("seed");
  for (const ConfigEntry& entry : read_config_file(files, path)) {
    const std::string where = path + " line " + std::to_string(entry.line);
    if (std::ranges::find(names, entry.key) == names.end()) {
      throw Error(ErrorKind::bad_input, where, io::in_quotes(entry.key),
                  "is no key; the nearest is " + typed_name(nearest(entry.key, names)));
    }
    if (arguments.has(entry.key)) continue;
    arguments.set(entry.key, {entry.value, where + " " + typed_name(entry.key), Level::file});
  }
}

std::string text_of(const io::Json& value) {
  if (const std::string* text = value.text()) return *text;
  if (const auto flag = value.boolean()) return *flag ? "true" : "false";
  return io::json_text(value);
}

std::string run_value(const io::Json& run, std::string_view option) {
  const std::string name = typed_name(option);
  if (const io::Json* value = run.find(name)) return text_of(*value);
  throw Error(ErrorKind::bad_input, "run.json", name,
              "is missing: the file is not one that train has written");
}

void fill_from_run(Arguments& arguments, const io::Json& run) {
  const auto fill_in = [&](std::string_view name, const std::string& text) {
    if (!arguments.has(name))
      arguments.set(name, {text, "run.json " + typed_name(name), Level::run});
  };
  for (const Key& key : kKeys) {
    const std::string text = run_value(run, key.option.name);
    const auto* integer = std::get_if<IntegerKey>(&key.kind);
    // Keys that the first run left open are open here too.
    if (text.empty() || (integer && integer->range.lowest > 0 && text == "0")) continue;
    fill_in(key.option.name, text);
  }
  fill_in("seed", run_value(run, "seed"));
}

void fill_from_preset(Arguments& arguments) {
  if (!arguments.has("preset")) return;
  std::vector<std::string_view> names;
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  const std::string name = arguments.choice("preset", names);
  fill(arguments, *std::ranges::find(kPresets, name, &Preset::name), "preset " + name);
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

void fill_from_defaults(Arguments& arguments) {
  const std::string task = arguments.text("task").value_or("lm");
  // An encoder-decoder reads positions as the paper has them, a GPT as GPT-2.
  if (!arguments.has("positions") && task == "lm")
    arguments.set("positions", {"learned", "task lm positions", Level::preset});
  fill(arguments, task_defaults(task), "task " + task);
  fill(arguments, {"defaults", kDefaultValues}, "defaults");
}

}  // namespace

TrainSettings read_train_settings(Arguments arguments, base::FileSystem& files,
                                  const io::Json* resumed) {
  if (const auto path = arguments.text("config")) fill_from_file(arguments, files, *path);
  settle_train_options(arguments);
  if (resumed != nullptr) fill_from_run(arguments, *resumed);
  // When a file is wrong, the command line is not.
  const auto reading = [&](std::string_view name, const auto& read) {
    try {
      return read();
    } catch (const Error& error) {
      throw error.with_kind(kind_of_wrong(arguments, name));
    }
  };
  reading("preset", [&] { fill_from_preset(arguments); });
  fill_from_defaults(arguments);
  TrainSettings settings;
  settings.seed = reading("seed", [&] {
                    return arguments.integer("seed", {0, INT64_MAX});
                  }).value_or(0);
  for (const Key& key : kKeys)
    reading(key.option.name, [&] { read_key(arguments, key, settings); });
  if (!arguments.has("task")) settings.task.clear();
  // A preset's end of the cosine is for its own beginning.
  if (arguments.has("min-lr") && arguments.level("min-lr") == Level::preset)
    settings.min_lr = std::min(settings.min_lr, settings.learning_rate);
  check_train_settings(arguments, settings);
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
  for (const auto& [label, value] : *now.object()) {
    const std::string& name = label;  // what a lambda may hold on to
    const auto key = std::ranges::find_if(
        kKeys, [&](const Key& entry) { return typed_name(entry.option.name) == name; });
    if (key != kKeys.end() && key->may_change) continue;
    const io::Json* old = before.find(name);
    if (text_of(*old) == text_of(value)) continue;
    throw Error(ErrorKind::bad_input, path, name,
                "was " + io::json_text(*old) + " and is now " + io::json_text(value) +
                    "; a run that is resumed keeps what it was started with");
  }
}

}  // namespace headlight::cli
