// Files of a model's folder, written beside it and renamed together.
#include "headlight/recipes/model_copy.h"

#include <array>

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

void check_new_folder(base::FileSystem& files, const std::string& folder, std::string_view what) {
  if (base::exists(files, without_slashes(folder))) {
    base::refuse(what, folder, "is there already; give another name");
  }
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
