// The files of sentence-transformers, each read as that program reads it.
#include "headlight/recipes/sentence_settings.h"

#include <algorithm>
#include <array>

#include "headlight/io/io.h"

namespace headlight::recipes {
namespace {

using io::Json;
using models::Pooling;

constexpr uint64_t kMostBytes = uint64_t{1} << 20;  // of a file of settings

// An object in a file, or nothing where there is no such file.
class SettingsFile {
 public:
  SettingsFile(base::FileSystem& files, std::string path) : path_(std::move(path)) {
    if (!base::exists(files, path_)) return;
    json_ = io::parse_json(base::read_all(*base::open_input(files, path_), kMostBytes), path_);
    if (json_->object() == nullptr && json_->array() == nullptr) {
      base::refuse(path_, "", "is neither an object nor a list");
    }
  }

  bool is_there() const { return json_.has_value(); }
  const Json& json() const { return *json_; }
  // Null counts as absent.
  const Json* find(std::string_view key) const {
    const Json* value = json_ && json_->object() != nullptr ? json_->find(key) : nullptr;
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  bool boolean(std::string_view key, bool otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->boolean()) refuse(key, "is not true or false");
    return *value->boolean();
  }
  std::string text(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) return "";
    if (value->text() == nullptr) refuse(key, "is no text");
    return *value->text();
  }
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
    base::refuse(path_, key, why);
  }

 private:
  std::string path_;
  std::optional<Json> json_;
};

// "pooling_mode": "mean", or flags of which one is true.
Pooling pooling_of(const SettingsFile& file) {
  constexpr std::string_view kFlag = "pooling_mode_";
  std::vector<std::string> modes;
  if (const std::string mode = file.text("pooling_mode"); !mode.empty()) modes.push_back(mode);
  if (modes.empty() && file.json().object() != nullptr) {
    for (const auto& [key, value] : *file.json().object()) {
      if (!key.starts_with(kFlag)) continue;
      if (file.boolean(key, false)) modes.push_back(key.substr(kFlag.size()));
    }
  }
  std::string all;
  for (const std::string& mode : modes) all.append(all.empty() ? "" : " and ").append(mode);
  if (modes.empty() || all == "mean" || all == "mean_tokens") return Pooling::mean;
  if (all == "cls" || all == "cls_token") return Pooling::first;
  file.refuse("pooling_mode", "is " + all + "; vectors are made by mean_tokens or by cls_token");
}

// How llama.cpp numbers the ways: 0 says nothing, 1 is the mean, 2 the first.
Pooling pooling_of(const io::Gguf& file) {
  const io::Json* architecture = file.setting("general.architecture");
  const std::string key =
      (architecture != nullptr && architecture->text() ? *architecture->text() : "") +
      ".pooling_type";
  const io::Json* type = file.setting(key);
  const int64_t number = type == nullptr ? 0 : type->integer().value_or(-1);
  if (number == 0 || number == 1) return Pooling::mean;
  if (number == 2) return Pooling::first;
  base::refuse("sentence vectors", file.path(),
               key + " is " + json_text(*type) + "; vectors are made by 1 (mean) or 2 (first)");
}

class SentenceFolder {
 public:
  SentenceFolder(base::FileSystem& files, const LoadedModel& loaded)
      : files_(files), loaded_(loaded) {}

  SentenceSettings read() const {
    SentenceSettings settings;
    if (io::is_gguf_file(files_, loaded_.folder)) {
      settings.pooling = pooling_of(io::open_gguf(files_, loaded_.folder));
      return settings;
    }
    const SettingsFile prompts = file("config_sentence_transformers.json");
    settings.prompt = default_prompt(prompts);
    const std::string pooling = pooling_folder();
    if (const SettingsFile modes = file(pooling + "/config.json"); modes.is_there()) {
      settings.pooling = pooling_of(modes);
      if (!settings.prompt.empty() && !modes.boolean("include_prompt", true)) {
        modes.refuse("include_prompt", "is false: tokens of the prompt would have to be left out");
      }
    }
    read_lengths(settings);
    return settings;
  }

 private:
  SettingsFile file(const std::string& name) const { return {files_, loaded_.folder + "/" + name}; }

  // The folder of the one module that pools; others may do nothing that changes a direction.
  std::string pooling_folder() const {
    const SettingsFile list = file("modules.json");
    if (!list.is_there()) {
      if (file("2_Dense/config.json").is_there()) refuse_module("Dense", "2_Dense");
      return "1_Pooling";
    }
    if (list.json().array() == nullptr) list.refuse("", "is not a list");
    std::string pooling;
    for (const Json& module : *list.json().array()) {
      const std::string path = member_of(list, module, "path");
      std::string type = member_of(list, module, "type");
      type.erase(0, type.rfind('.') + 1);
      if (type == "Pooling") {
        if (!pooling.empty()) list.refuse(path, "is a second Pooling");
        pooling = path;
      } else if (type != "Transformer" && type != "Normalize" && type != "Dropout") {
        refuse_module(type, path);
      }
    }
    return pooling.empty() ? "1_Pooling" : pooling;
  }

  static std::string member_of(const SettingsFile& list, const Json& module, const char* key) {
    const Json* value = module.object() == nullptr ? nullptr : module.find(key);
    if (value == nullptr || value->text() == nullptr) {
      list.refuse(key, "is missing in one of the modules");
    }
    return *value->text();
  }

  [[noreturn]] void refuse_module(const std::string& type, const std::string& path) const {
    base::refuse("sentence vectors", loaded_.folder,
                 "the folder asks for a module " + io::in_quotes(type) + " (" + path +
                     "), which is not computed here; read are Transformer, Pooling, Normalize and "
                     "Dropout");
  }

  static std::string default_prompt(const SettingsFile& file) {
    if (file.find("truncate_dim") != nullptr) {
      file.refuse("truncate_dim", "is set: cut vectors are not computed here");
    }
    const std::string name = file.text("default_prompt_name");
    if (name.empty()) return "";
    const Json* prompts = file.find("prompts");
    const Json* prompt =
        prompts == nullptr || prompts->object() == nullptr ? nullptr : prompts->find(name);
    if (prompt == nullptr || prompt->text() == nullptr) {
      file.refuse("default_prompt_name",
                  "is " + io::in_quotes(name) + ", and no prompt is so called");
    }
    return *prompt->text();
  }

  // Without max_seq_length, what model and tokenizer can read is the length.
  void read_lengths(SentenceSettings& settings) const {
    const SettingsFile transformer = file("sentence_bert_config.json");
    const bool is_sentence_folder = transformer.is_there() || file("modules.json").is_there();
    if (!is_sentence_folder) return;
    settings.lower_case = transformer.boolean("do_lower_case", false);
    if (const std::string task = transformer.text("transformer_task");
        !task.empty() && task != "feature-extraction") {
      transformer.refuse("transformer_task", "is " + io::in_quotes(task) +
                                                 ", vectors are made of "
                                                 "what \"feature-extraction\" gives");
    }
    if (const std::string output = transformer.text("module_output_name");
        !output.empty() && output != "token_embeddings") {
      transformer.refuse("module_output_name", "is " + io::in_quotes(output) +
                                                   ", \"token_embeddings\" are what is pooled");
    }
    if (const Json* length = transformer.find("max_seq_length")) {
      if (!length->integer() || *length->integer() < 1) {
        transformer.refuse("max_seq_length", "is no whole number from 1 on");
      }
      settings.longest = *length->integer();
      return;
    }
    settings.longest = loaded_.model->context_length();
    const SettingsFile tokenizer = file("tokenizer_config.json");
    const Json* length = tokenizer.find("model_max_length");
    if (length != nullptr && length->integer() && *length->integer() > 0) {
      settings.longest = std::min(*settings.longest, *length->integer());
    }
  }

  base::FileSystem& files_;
  const LoadedModel& loaded_;
};

}  // namespace

std::string SentenceSettings::prepared(const std::string& sentence) const {
  return lower_case ? text::lower(prompt + sentence) : prompt + sentence;
}

SentenceSettings sentence_settings(base::FileSystem& files, const LoadedModel& loaded) {
  return SentenceFolder(files, loaded).read();
}

}  // namespace headlight::recipes
