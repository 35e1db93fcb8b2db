// What a model that was trained on a generated task can be asked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/data/data.h"

namespace headlight::recipes {

// The generated task that the model of a folder was trained on: what run.json of its training says,
// or the name of a model that comes with Headlight. Empty for another task, or where nothing tells.
std::string generated_task_of(base::FileSystem& files, const std::string& folder);

// Sources of that task; of models whose task is not known, any text.
class TaskSources {
 public:
  // `folder`: as model_folder() gives it.
  TaskSources(base::FileSystem& files, const std::string& folder);

  // Throws Error(bad_input) for a text that no case of the task has: the model would answer, but
  // the answer would mean nothing. `text` is as the tokenizer decodes it; `where` names its place.
  void check(std::string_view what, const std::string& where, std::string_view text) const;

 private:
  std::unique_ptr<data::GeneratedTask> task_;
};

}  // namespace headlight::recipes
