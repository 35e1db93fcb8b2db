// Files of a model's folder, written beside it and renamed together.
#include "headlight/recipes/model_copy.h"

#include <algorithm>
#include <array>
#include <vector>

#include "headlight/recipes/named_model.h"
#include "headlight/recipes/task_sources.h"

namespace headlight::recipes {
namespace {

// What tells text from ids, how text is to be generated, and how it becomes a vector.
constexpr std::array<const char*, 19> kCopied = {"tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "encoder.json",
                                                 "vocab.bpe",
                                                 "vocab.txt",
                                                 "tokenizer.model",
                                                 "spiece.model",
                                                 "source.spm",
                                                 "target.spm",
                                                 "target_vocab.json",
                                                 "chat_template.jinja",
                                                 "generation_config.json",
                                                 "modules.json",
                                                 "sentence_bert_config.json",
                                                 "config_sentence_transformers.json"};
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;  // of one of them

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Folders of the modules that sentence-transformers lists, each with a config.json.
std::vector<std::string> module_folders(base::FileSystem& files, const std::string& source) {
  std::vector<std::string> folders = {"1_Pooling"};
  const std::string path = source + "/modules.json";
  if (!base::exists(files, path)) return folders;
  const io::Json list = io::read_json(files, path);
  if (list.array() == nullptr) return folders;
  for (const io::Json& module : *list.array()) {
    const io::Json* place = module.find("path");
    if (place == nullptr || place->text() == nullptr || place->text()->empty()) continue;
    if (place->text()->find_first_of("/\\") != std::string::npos ||
        place->text()->starts_with('.')) {
      base::refuse("model", path,
                   "the path " + io::in_quotes(*place->text()) + " is no plain folder name");
    }
    if (std::ranges::find(folders, *place->text()) == folders.end())
      folders.push_back(*place->text());
  }
  return folders;
}

void copy_file(base::FileSystem& files, const std::string& from, const std::string& to) {
  if (!base::exists(files, from)) return;
  base::make_directories(files, base::directory_of(to));
  base::write_file(files, to, base::read_all(*base::open_input(files, from), kMostFileBytes));
}

// What a GGUF file holds beside the model: its tokenizer and chat template, as files of a folder.
void write_gguf_files(base::FileSystem& files, const std::string& source,
                      const std::string& folder) {
  const io::Gguf file = io::open_gguf(files, source);
  if (const auto tokenizer = text::find_tokenizer(files, source)) tokenizer->save(files, folder);
  const std::string chat = text::gguf_chat_template(file);
  if (!chat.empty()) base::write_file(files, folder + "/chat_template.jinja", chat);
}

}  // namespace

std::string unfinished_folder(const std::string& folder) {
  return without_slashes(folder) + ".unfinished";
}

void check_new_folder(base::FileSystem& files, const std::string& folder, std::string_view what) {
  if (base::exists(files, without_slashes(folder))) {
    base::refuse(what, folder, "is there already; give another name");
  }
  std::string place = base::directory_of(without_slashes(folder));
  while (!base::exists(files, place) && base::directory_of(place) != place)
    place = base::directory_of(place);
  base::check_files_can_be_made(files, place);
}

uint64_t model_bytes(base::FileSystem& files, const std::string& folder) {
  const auto bytes_of = [&](const std::string& path) {
    base::FileStatus status;
    const bool is_file =
        files.path_status(path, status) >= 0 && status.kind != base::FileStatus::Kind::directory;
    return is_file ? static_cast<uint64_t>(status.size) : 0;
  };
  if (const uint64_t single = bytes_of(folder); single > 0) return single;
  const bool has_safetensors = base::exists(files, folder + "/model.safetensors") ||
                               base::exists(files, folder + "/model.safetensors.index.json");
  uint64_t bytes = 0;
  for (const std::string& name : model_file_names(files, folder)) {
    // The same numbers once more, which nobody reads.
    if (has_safetensors && name.starts_with("pytorch_model")) continue;
    bytes += bytes_of(folder + "/" + name);
  }
  return bytes;
}

void copy_files_beside_model(base::FileSystem& files, const std::string& source,
                             const std::string& folder) {
  const std::vector<std::string> modules = module_folders(files, source);
  const auto copy = [&](const std::string& file) {
    copy_file(files, source + "/" + file, folder + "/" + file);
  };
  if (io::is_gguf_file(files, source)) write_gguf_files(files, source, folder);
  std::ranges::for_each(kCopied, copy);
  for (const std::string& module : modules) copy(module + "/config.json");
}

void write_model_copy(base::FileSystem& files, const models::Model& model,
                      const std::string& source, const std::string& folder, tensor::DType kind) {
  check_new_folder(files, folder);
  const std::string task = generated_task_of(files, source);
  base::write_directory(files, without_slashes(folder), [&](const std::string& temporary) {
    copy_files_beside_model(files, source, temporary);
    if (!task.empty()) {
      base::write_file(files, temporary + "/run.json",
                       io::json_text(io::Json::Object{{"task", task}}) + "\n");
    }
    models::save_model(files, temporary, model, kind);
  });
}

}  // namespace headlight::recipes
