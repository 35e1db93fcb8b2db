// Tasks and capabilities side by side.
#include "headlight/recipes/task_models.h"

namespace headlight::recipes {

using models::Capabilities;

TaskModels models_of_task(std::string_view task) {
  if (task == "lm") return {&Capabilities::continues_prompt, models::Gpt::kType};
  return {&Capabilities::translates, models::Seq2Seq::kType};
}

std::string_view task_of_model(const models::Model& model) {
  return model.capabilities().translates ? "translate" : "lm";
}

void check_task_model(std::string_view task, const models::Model& model, const std::string& name,
                      std::string_view takes) {
  const TaskModels wanted = models_of_task(task);
  if (model.capabilities().*wanted.capability) return;
  std::string why = "is of type ";
  why.append(model.type()).append(", task ").append(task).append(" ").append(takes).append(" ");
  base::refuse("model", name, why + models::known_architectures().types_that({wanted.capability}));
}

}  // namespace headlight::recipes
