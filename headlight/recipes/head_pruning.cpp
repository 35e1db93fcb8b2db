// Data, gates, fine-tuning and folders handed to heads.
#include "headlight/recipes/head_pruning.h"

#include <algorithm>
#include <cmath>

#include "headlight/recipes/forward_memory.h"
#include "headlight/recipes/model_copy.h"
#include "headlight/recipes/task_sources.h"

namespace headlight::recipes {
namespace {

using heads::Measurement;
using heads::Watch;

heads::GateOptions gate_options(const PruningData& data, const ExamplesRequest& request,
                                double penalty) {
  heads::GateOptions options{
      .seed = request.seed,
      .batch = [task = data.training.get()](int64_t step) { return task->batch(step); }};
  if (penalty != 0) options.penalty = penalty;
  return options;
}

heads::RemovalOptions removal_options(const PruningData& data, const ExamplesRequest& request,
                                      double penalty) {
  return {.gates = gate_options(data, request, penalty), .seed = request.seed};
}

void check_steps(int64_t steps) {
  if (steps >= 0) return;
  throw base::Error(base::ErrorKind::usage, "finetune", std::to_string(steps),
                    "steps are fewer than none");
}

// Gates of the modules for as long as it lives.
class SetGates {
 public:
  SetGates(models::Model& model, const heads::GatesResult& gates) : model_(model) {
    for (nn::MultiHeadAttention* attention : model.attentions()) {
      kept_.push_back(attention->gates());
      std::vector<float> values;
      for (const heads::HeadGate& gate : gates.heads) {
        if (gate.head.place == attention->options().place)
          values.push_back(static_cast<float>(gate.value));
      }
      if (static_cast<int64_t>(values.size()) != attention->heads().count() || values.empty())
        continue;
      attention->set_gates(
          nn::Value::leaf(tensor::Tensor::of({attention->heads().count()}, values)));
    }
  }
  ~SetGates() {
    size_t i = 0;
    for (nn::MultiHeadAttention* attention : model_.attentions()) attention->set_gates(kept_[i++]);
  }
  SetGates(const SetGates&) = delete;
  SetGates& operator=(const SetGates&) = delete;

 private:
  models::Model& model_;
  std::vector<nn::Value> kept_;
};

ModelGatesResult interrupted_gates() {
  ModelGatesResult result;
  result.interrupted = true;
  return result;
}

struct GateWork {
  base::ThreadPool& threads;
  const LoadedModel& loaded;
  const GatesRequest& request;
  const PruningData& data;
  const Watch& watch;
};

// Measured with each gate at its value, then with gates open or closed; nothing when it was told to
// stop. The gates are put into the result, the model into the folder.
std::optional<std::vector<double>> train_and_measure_gates(const GateWork& work,
                                                           base::FileSystem& files,
                                                           ModelGatesResult& result) {
  models::Model& model = *work.loaded.model;
  const auto measure = [&](models::Model& measured) {
    return heads::numbers_of(
        heads::measure_model(work.threads, measured, work.data.measured_on,
                             {.metric = work.data.metric, .watch = work.watch.quiet()}));
  };
  heads::GateOptions options = gate_options(work.data, work.request.data, work.request.penalty);
  if (work.request.steps > 0) options.steps = work.request.steps;
  options.trains_weights = work.request.trains_weights;
  options.begun = work.request.begun;
  options.standing = work.request.standing;
  options.watch = work.watch.part(0, 0.95);
  result.gates = heads::train_gates(work.threads, model, options);
  if (result.gates.interrupted) return {};
  const std::vector<heads::HeadName> closed = result.gates.closed();
  if (static_cast<int64_t>(closed.size()) == result.heads) {
    base::refuse("gates", work.loaded.folder,
                 "all " + std::to_string(result.heads) + " heads would go at penalty " +
                     io::json_text(work.request.penalty) + "; a lower one leaves some");
  }
  std::optional<std::vector<double>> numbers;
  {
    const SetGates values(model, result.gates);
    numbers = measure(model);
  }
  const std::unique_ptr<models::Model> pruned = heads::pruned_model(model, closed);
  const auto binary = measure(*pruned);
  if (!numbers || !binary) return {};
  if (!work.request.out.empty())
    write_model_copy(files, *pruned, work.loaded.folder, work.request.out);
  numbers->insert(numbers->end(), binary->begin(), binary->end());
  return numbers;
}

bool needs_data(base::FileSystem& files, const LoadedModel& loaded, const PruneRequest& request) {
  const bool is_chosen = request.heads_off.empty() && request.by != heads::PruneMethod::random;
  if (is_chosen || request.finetune > 0) return true;
  return !request.data.data.empty() || !request.data.ids.empty() || !request.data.task.empty() ||
         !generated_task_of(files, loaded.folder).empty();
}

}  // namespace

ModelGatesResult gate_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                  const LoadedModel& loaded, const GatesRequest& request,
                                  const Watch& watch) {
  if (!(request.penalty > 0 && std::isfinite(request.penalty))) {
    throw base::Error(base::ErrorKind::usage, "penalty", io::json_text(request.penalty),
                      "is no penalty of an open gate: one is above 0");
  }
  if (!request.out.empty()) check_new_folder(files, request.out);
  models::Model& model = *loaded.model;
  const PruningData data = make_pruning_data(files, loaded, request.data);
  ModelGatesResult result;
  result.heads = static_cast<int64_t>(heads::heads_of(model).size());
  if (data.metric) result.metric = data.metric->name;
  const auto before = heads::measure_model(threads, model, data.measured_on,
                                           {.metric = data.metric, .watch = watch.quiet()});
  if (!before) return interrupted_gates();
  result.before = *before;
  // One piece of work, whose numbers are those of both measurements.
  const auto work = [&](int64_t, const Watch& piece) {
    return train_and_measure_gates({threads, loaded, request, data, piece}, files, result);
  };
  const auto take = [&](int64_t, const std::vector<double>& numbers) {
    const auto half = numbers.begin() + static_cast<int64_t>(numbers.size() / 2);
    result.gated = heads::measurement_of({numbers.begin(), half});
    result.binary = heads::measurement_of({half, numbers.end()});
  };
  if (!heads::run_pieces(1, watch, {work, take})) return interrupted_gates();
  watch.tell(1, 1);
  return result;
}

io::Json::Object model_gates_json(const ModelGatesResult& result) {
  io::Json::Object facts = heads::gates_json(result.gates);
  facts.emplace_back("before", heads::measurement_json(result.before, result.metric));
  facts.emplace_back("gated", heads::measurement_json(result.gated, result.metric));
  facts.emplace_back("binary", heads::measurement_json(result.binary, result.metric));
  return facts;
}

heads::PruneResult prune_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                     const LoadedModel& loaded, const PruneRequest& request,
                                     const Watch& watch) {
  check_steps(request.finetune);
  if (!request.out.empty()) check_new_folder(files, request.out);
  models::Model& model = *loaded.model;
  heads::PruneOptions options{
      .keep = request.keep, .same_shape = request.same_shape, .watch = watch};
  if (!request.heads_off.empty()) {
    options.heads_off = heads::parse_head_names(request.heads_off, "heads_off");
    for (const heads::HeadName& head : options.heads_off) find_head(model, head, "heads_off");
  } else {
    heads::heads_kept(request.keep, static_cast<int64_t>(heads::heads_of(model).size()));
  }
  PruningData data;
  if (needs_data(files, loaded, request)) {
    data = make_pruning_data(files, loaded, request.data);
    options.removal = removal_options(data, request.data, request.penalty);
    options.measured_on = &data.measured_on;
    options.metric = data.metric;
  } else {
    options.removal.seed = request.data.seed;
  }
  options.removal.by = request.by;
  options.removal.known = request.known;
  options.removal.finished = request.finished;
  if (request.finetune > 0) {
    options.finetune = fine_tuning(threads, *data.training,
                                   {request.finetune, request.learning_rate, request.data.seed});
  }
  heads::PruneResult result = heads::prune_heads(threads, model, data.chosen_by, options);
  if (!result.interrupted && !request.out.empty())
    write_model_copy(files, *result.model, loaded.folder, request.out);
  return result;
}

PrunedFolder pruned_folder(base::FileSystem& files, const LoadedModel& loaded,
                           const std::string& folder) {
  const std::string& place = loaded.weights.empty() ? loaded.folder : loaded.weights;
  return {folder, model_bytes(files, place), model_bytes(files, folder)};
}

void add_folder_json(io::Json::Object& facts, const PrunedFolder& folder) {
  facts.emplace_back(
      "bytes", io::Json::Object{{"before", folder.bytes_before}, {"after", folder.bytes_after}});
}

heads::CurveResult curve_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                     const LoadedModel& loaded, const CurveRequest& request,
                                     const Watch& watch) {
  check_steps(request.finetune);
  const PruningData data = make_pruning_data(files, loaded, request.data);
  heads::CurveOptions options = request.curves;
  const int64_t per_round = options.removal.per_round;
  options.removal = removal_options(data, request.data, request.penalty);
  options.removal.per_round = per_round;
  options.measured_on = &data.measured_on;
  options.metric = data.metric;
  options.watch = watch;
  options.finetune_steps = request.finetune;
  if (request.finetune > 0) {
    options.finetune = fine_tuning(threads, *data.training,
                                   {request.finetune, request.learning_rate, request.data.seed});
  }
  return heads::prune_curves(threads, *loaded.model, data.chosen_by, options);
}

heads::SpeedResult compare_model_speed(base::ThreadPool& threads, base::FileSystem& files,
                                       const LoadedModel& full, const LoadedModel& pruned,
                                       const heads::SpeedOptions& options) {
  const int64_t context = std::min(full.model->context_length(), pruned.model->context_length());
  int64_t tokens = 0;
  for (const int64_t length : options.tokens) {
    if (length <= context) tokens = std::max(tokens, length);
  }
  if (tokens == 0) tokens = context;
  for (const int64_t batch : options.batches) {
    const tensor::Tensor ids = tensor::Tensor::uninitialized(tensor::DType::i64, {batch, tokens});
    models::Batch largest{.ids = ids};
    if (full.model->capabilities().translates) largest.source_ids = ids;
    check_forward_memory(files, *full.model, largest, {},
                         "batch " + std::to_string(batch) + ", tokens " + std::to_string(tokens));
  }
  return heads::compare_speed(threads, *full.model, *pruned.model, options);
}

}  // namespace headlight::recipes
