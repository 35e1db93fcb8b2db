// Which models a task is for: what they must be able to do, and which kind is made from scratch.
#pragma once

#include <string>
#include <string_view>

#include "headlight/models/models.h"
#include "headlight/recipes/train_settings.h"

namespace headlight::recipes {

struct TaskModels {
  bool models::Capabilities::*capability;
  std::string_view fresh_type;  // model_type of what is trained where no other is asked for
};

TaskModels models_of_task(std::string_view task);

// What the keys ask of a fresh model; its vocabulary, context and special ids are left open.
models::ModelRequest asked_model(const TrainSettings& settings);

// The task that evaluates a model where none is named, whether or not it has the head for it.
std::string_view task_of_model(const models::Model& model);

// Throws Error(bad_input) about the model `name` unless it can do what the task takes; `takes` is
// the verb of the message: "trains", "needs".
void check_task_model(std::string_view task, const models::Model& model, const std::string& name,
                      std::string_view takes);

}  // namespace headlight::recipes
