// Counting the numbers of a pass.
#include "headlight/recipes/forward_memory.h"

namespace headlight::recipes {
namespace {

double size_of(const tensor::Tensor& ids, int axis) {
  return ids.defined() ? static_cast<double>(ids.size(axis)) : 0;
}

// Of one attention, with what stands around it.
double numbers_of(const nn::MultiHeadAttentionOptions& attention, const models::Batch& batch,
                  const ForwardOutputs& outputs) {
  const bool has_source = batch.source_ids.defined();
  const bool is_of_source = has_source && attention.place.starts_with("encoder");
  const bool looks_at_source = has_source && !attention.place.ends_with(".self");
  const double queries = size_of(is_of_source ? batch.source_ids : batch.ids, 1);
  const double keys = size_of(is_of_source || looks_at_source ? batch.source_ids : batch.ids, 1);
  const auto heads = static_cast<double>(attention.heads);
  const double rows = size_of(batch.ids, 0) * queries;
  const double projected =
      heads * static_cast<double>(2 * attention.head_dim + 2 * attention.value_head_dim);
  double numbers = 0;
  // Queries, keys, values and what heads give stay for the way back, and in a trace.
  if (outputs.gradients) numbers += rows * projected;
  // Scores, scaled, masked, and the weights.
  if (outputs.trace) numbers += rows * (projected + 4 * heads * keys);
  return numbers;
}

double numbers_of(models::Model& model, const models::Batch& batch, const ForwardOutputs& outputs) {
  const double rows = size_of(batch.ids, 0) * size_of(batch.ids, 1);
  const double source_rows = size_of(batch.source_ids, 0) * size_of(batch.source_ids, 1);
  double numbers = 2 * (rows + source_rows) * static_cast<double>(model.hidden_width());
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    numbers += numbers_of(attention->options(), batch, outputs);
  }
  const double logits = model.has_logits() ? rows * static_cast<double>(model.vocab_size()) : 0;
  if (outputs.logits) numbers += logits;
  if (outputs.trace) numbers += logits;  // probabilities
  if (outputs.gradients) {
    for (const nn::ParameterHandle& parameter : model.parameters()) {
      numbers += static_cast<double>(parameter->shape().elements());
    }
  }
  return numbers;
}

}  // namespace

void check_forward_memory(base::FileSystem& files, models::Model& model, const models::Batch& batch,
                          const ForwardOutputs& outputs, const std::string& where) {
  base::check_memory(files, numbers_of(model, batch, outputs) * sizeof(float), "forward", where,
                     "; fewer sequences at once need less");
}

}  // namespace headlight::recipes
