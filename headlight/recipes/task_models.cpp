// Tasks and capabilities side by side.
#include "headlight/recipes/task_models.h"

namespace headlight::recipes {

using models::Capabilities;

namespace {

// What models of this type can do, if they have all heads.
Capabilities abilities_of_type(const models::Model& model) {
  const models::Architecture* known = models::known_architectures().find(model.type());
  return known != nullptr ? known->capabilities : model.capabilities();
}

// Of a model whose type could do what the task takes.
std::string without_head(std::string_view task, const models::Model& model) {
  const std::string head = task == "mlm" ? "hidden words" : "next words";
  if (model.classifier() != nullptr)
    return "classifies texts and has no head for " + head + "; `headlight classify` is for it";
  return "is a " + std::string(model.type()) + " without a head for " + head +
         (model.capabilities().embeds ? "; `headlight embed` is for it" : "");
}

}  // namespace

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
  const Capabilities can = abilities_of_type(model);
  if (can.translates) return "translate";
  return can.fills_masks ? "mlm" : "lm";
}

void check_task_model(std::string_view task, const models::Model& model, const std::string& name,
                      std::string_view takes) {
  const TaskModels wanted = models_of_task(task);
  if (model.capabilities().*wanted.capability) return;
  if (abilities_of_type(model).*wanted.capability)
    base::refuse("model", name, without_head(task, model));
  std::string why = model.classifier() != nullptr ? "classifies texts, is of type " : "is of type ";
  why.append(model.type()).append(", task ").append(task).append(" ").append(takes).append(" ");
  base::refuse("model", name, why + models::known_architectures().types_that({wanted.capability}));
}

}  // namespace headlight::recipes
