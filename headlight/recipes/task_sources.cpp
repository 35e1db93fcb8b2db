// The task of a folder, and its word on a text.
#include "headlight/recipes/task_sources.h"

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/recipes/embedded.h"
#include "headlight/recipes/train_settings.h"

namespace headlight::recipes {
namespace {

std::string generated_or_nothing(const std::string& task) {
  const bool is_known = std::ranges::find(kTasks, task) != std::end(kTasks);
  return is_known && is_generated_task(task) ? task : "";
}

}  // namespace

std::string generated_task_of(base::FileSystem& files, const std::string& folder) {
  for (const std::string& name : embedded_models()) {
    if (folder == "embedded:" + name) return generated_or_nothing(name);
  }
  // The folder may be of any other program: what is no run.json of ours says nothing.
  try {
    const std::string path = folder + "/run.json";
    if (!base::exists(files, path)) return "";
    const io::Json run = io::read_json(files, path);
    const io::Json* task = run.find("task");
    return task != nullptr && task->text() != nullptr ? generated_or_nothing(*task->text()) : "";
  } catch (const base::Error&) {
    return "";
  }
}

TaskSources::TaskSources(base::FileSystem& files, const std::string& folder) {
  const std::string task = generated_task_of(files, folder);
  if (!task.empty()) task_ = data::generated_task(task);
}

void TaskSources::check(std::string_view what, const std::string& where,
                        std::string_view text) const {
  if (!task_) return;
  if (const auto why = task_->why_not_source(text))
    base::refuse(what, where, io::in_quotes(text) + " " + *why);
}

}  // namespace headlight::recipes
