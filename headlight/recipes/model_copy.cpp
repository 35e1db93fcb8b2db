// Files of a model's folder, written beside it and renamed together.
#include "headlight/recipes/model_copy.h"

#include <array>

#include "headlight/recipes/named_model.h"
#include "headlight/recipes/task_sources.h"

namespace headlight::recipes {
namespace {

// What tells text from ids and how text is to be generated.
constexpr std::array<const char*, 10> kCopied = {"tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "encoder.json",
                                                 "vocab.bpe",
                                                 "vocab.txt",
                                                 "generation_config.json"};
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;  // of one of them

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
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

void write_model_copy(base::FileSystem& files, const models::Model& model,
                      const std::string& source, const std::string& folder) {
  check_new_folder(files, folder);
  const std::string task = generated_task_of(files, source);
  base::write_directory(files, without_slashes(folder), [&](const std::string& temporary) {
    for (const char* file : kCopied) {
      const std::string from = source + "/" + file;
      if (!base::exists(files, from)) continue;
      base::write_file(files, temporary + "/" + file,
                       base::read_all(*base::open_input(files, from), kMostFileBytes));
    }
    if (!task.empty()) {
      base::write_file(files, temporary + "/run.json",
                       io::json_text(io::Json::Object{{"task", task}}) + "\n");
    }
    models::save_model(files, temporary, model);
  });
}

}  // namespace headlight::recipes
