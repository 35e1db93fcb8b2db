// Tracing, measuring, and the way back.
#include "apps/cli/explain_run.h"

#include <utility>

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using explain::Trace;

// The first weight of the first projection, unless a cell names another.
explain::CellReference weight_of(const Explaining& work, const Trace& trace) {
  if (work.options.cell) return explain::parse_cell(trace, *work.options.cell);
  for (const explain::TracedTensor& tensor : trace.tensors()) {
    const std::string* weight = tensor.operand("weight");
    if (weight != nullptr && tensor.operation == explain::Operation::linear) {
      return {*weight, {0, 0}};
    }
  }
  throw Error(ErrorKind::bad_input, "explain", "backward", "the model has no weights to explain");
}

double loss_of(const Explaining& work) {
  tensor::Arena arena;
  autograd::Context context{.threads = work.threads, .arena = arena};
  const models::Model& model = work.subject.model();
  return static_cast<double>(*model.loss(context, work.subject.input.batch).data().data<float>());
}

// A page adds its own.
std::vector<explain::Variant> asked_variants(const Explaining& work, Trace& trace) {
  const bool wanted =
      work.subject.worked || !work.options.scale.empty() || !work.options.norm.empty();
  if (!wanted || work.options.cell || work.options.format == ExplainFormat::html) return {};
  return explain::add_variants(trace, work.subject.model());
}

void check_layers(const Explaining& work) {
  const int64_t count = layer_count(work.subject.model());
  for (const int64_t layer : work.options.layers) {
    if (layer < count) continue;
    throw Error(ErrorKind::bad_input, "explain", "layer " + std::to_string(layer),
                "the model has the layers 0 to " + std::to_string(count - 1));
  }
}

}  // namespace

int64_t layer_count(const models::Model& model) {
  const models::Parts parts = model.parts();
  const auto& stack = parts.decoder.layers != nullptr ? parts.decoder : parts.encoder;
  return static_cast<int64_t>(stack.layers->blocks().size());
}

std::set<int64_t> layers_shown(const Explaining& work) {
  constexpr int64_t kReadable = 2;
  if (!work.options.layers.empty()) return work.options.layers;
  const bool for_people = work.options.format == ExplainFormat::text && !work.options.cell &&
                          work.options.names.empty();
  if (!for_people || layer_count(work.subject.model()) <= kReadable || work.options.backward)
    return {};
  return {0};
}

Explained explain_run(const Explaining& work, const WorkedTraining* training) {
  const models::Model& model = work.subject.model();
  check_layers(work);
  Explained run{
      explain::trace_model(work.threads, model, work.subject.input, {.layers = layers_shown(work)}),
      {},
      {}};
  if (work.options.cell && !work.options.backward) {
    if (work.options.cell->starts_with("variant.")) explain::add_variants(run.trace, model);
    return run;
  }
  run.variants = asked_variants(work, run.trace);
  run.heads = explain::head_statistics(run.trace);
  run.says = work.subject.says(work.threads);
  if (work.subject.input.batch.targets.defined() && model.has_logits()) run.loss = loss_of(work);
  if (work.options.backward) {
    const explain::WorkedRecipe recipe;
    explain::BackwardOptions options{.optimizer = recipe.optimizer};
    options.optimizer.learning_rate = recipe.schedule.learning_rate;
    if (training != nullptr) {
      options.optimizer_state = training->optimizer_state;
      options.optimizer.learning_rate = training->next_learning_rate;
    }
    run.backward = explain::walk_backward(run.trace, work.subject.model(),
                                          weight_of(work, run.trace), options);
  }
  return run;
}

}  // namespace headlight::cli
