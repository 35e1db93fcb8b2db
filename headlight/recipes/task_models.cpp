// Tasks and capabilities side by side.
#include "headlight/recipes/task_models.h"

namespace headlight::recipes {

using models::Capabilities;

TaskModels models_of_task(std::string_view task) {
  if (task == "lm") return {&Capabilities::continues_prompt, models::Gpt::kType};
  if (task == "mlm") return {&Capabilities::fills_masks, models::Bert::kType};
  return {&Capabilities::translates, models::Seq2Seq::kType};
}

models::ModelRequest asked_model(const TrainSettings& s) {
  models::ModelRequest request{.n_layer = s.n_layer,
                               .n_encoder_layer = s.n_encoder_layer,
                               .n_decoder_layer = s.n_decoder_layer,
                               .n_head = s.n_head,
                               .n_kv_head = s.n_kv_head,
                               .n_embd = s.n_embd,
                               .d_ff = s.d_ff,
                               .sliding_window = s.sliding_window,
                               .rope_theta = s.rope_theta,
                               .dropout = static_cast<float>(s.dropout),
                               .bias = s.bias,
                               .tie_embeddings = s.tie_embeddings};
  if (!s.norm.empty()) request.pre_norm = s.norm == "pre";
  if (!s.positions.empty()) request.learned_positions = s.positions == "learned";
  for (const kernels::ActivationFacts& facts : kernels::kActivations) {
    if (facts.name == s.activation) request.activation = facts.activation;
  }
  return request;
}

std::string_view task_of_model(const models::Model& model) {
  const Capabilities can = model.capabilities();
  if (can.translates) return "translate";
  return can.fills_masks ? "mlm" : "lm";
}

void check_task_model(std::string_view task, const models::Model& model, const std::string& name,
                      std::string_view takes) {
  const TaskModels wanted = models_of_task(task);
  if (model.capabilities().*wanted.capability) return;
  std::string why = model.classifier() != nullptr ? "classifies texts, is of type " : "is of type ";
  why.append(model.type()).append(", task ").append(task).append(" ").append(takes).append(" ");
  base::refuse("model", name, why + models::known_architectures().types_that({wanted.capability}));
}

}  // namespace headlight::recipes
