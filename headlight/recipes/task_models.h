// Which models a task is for: what they must be able to do, and which kind is made from scratch.
#pragma once

#include <string>
#include <string_view>

#include "headlight/models/models.h"

namespace headlight::recipes {

struct TaskModels {
  bool models::Capabilities::*capability;
  std::string_view fresh_type;  // model_type of what is trained from scratch
};

TaskModels models_of_task(std::string_view task);

// The task that evaluates a model where none is named.
std::string_view task_of_model(const models::Model& model);

// Throws Error(bad_input) about the model `name` unless it can do what the task takes; `takes` is
// the verb of the message: "trains", "needs".
void check_task_model(std::string_view task, const models::Model& model, const std::string& name,
                      std::string_view takes);

}  // namespace headlight::recipes
