// Measurements as JSON; a number that is not finite is null there.
#include "headlight/recipes/kept_results.h"

#include <cmath>

#include "headlight/train/train.h"

namespace headlight::recipes {
namespace {

using io::Json;

constexpr std::chrono::seconds kBetweenGateSaves{5};
constexpr const char* kStepKey = "step";

double number_or_nan(const Json* value) {
  return value == nullptr ? NAN : value->number().value_or(NAN);
}

// A sum of the bytes of an array's file and the name in it; nothing where there is none.
Json array_sum(base::FileSystem& files, const std::string& place) {
  if (place.empty()) return {};
  const io::ArrayPlace split = io::split_place(place);
  return train::file_sum(files, split.path) + (split.name.empty() ? "" : ":" + split.name);
}

// What has `known` and `finished` takes from the state what it knows, and gives it what it
// finishes.
template <class Options>
void keep_parts(Options& options, ExperimentState& state) {
  options.known = [&state](const std::string& part) -> std::optional<Json> {
    const Json* found = state.find(part);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  options.finished = [&state](const std::string& part, const Json& result) {
    state.add(part, result);
  };
}

}  // namespace

Json::Object examples_json(base::FileSystem& files, const ExamplesRequest& request) {
  Json::Object facts{
      {"task", request.task},
      {"data", request.data.empty() ? Json() : Json(train::file_sum(files, request.data))},
      {"encoding", request.encoding},
      {"examples", request.examples},
      {"seed", request.seed}};
  if (!request.ids.empty()) {
    facts.emplace_back("ids", array_sum(files, request.ids));
    facts.emplace_back("targets", array_sum(files, request.targets));
  }
  return facts;
}

void keep_ablations(heads::AblationOptions& options, ExperimentState& state) {
  options.known = [&state](const std::string& name) -> std::optional<heads::Measurement> {
    const Json* found = state.find(name);
    if (found == nullptr) return std::nullopt;
    heads::Measurement measured{.loss = number_or_nan(found->find("loss"))};
    if (const Json* metric = found->find("metric")) measured.metric = number_or_nan(metric);
    return measured;
  };
  options.measured = [&state](const std::string& name, const heads::Measurement& measured) {
    Json::Object result{{"loss", measured.loss}};
    if (measured.metric) result.emplace_back("metric", *measured.metric);
    state.add(name, std::move(result));
  };
}

Json::Object curve_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                const CurveRequest& request) {
  Json::Object facts = examples_json(files, request.data);
  facts.emplace_back("experiment", "curve");
  facts.emplace_back("model", model_sum(*loaded.model));
  facts.emplace_back("per_round", request.curves.removal.per_round);
  facts.emplace_back("penalty", request.penalty);
  facts.emplace_back("finetune", request.finetune);
  facts.emplace_back("learning_rate", request.learning_rate);
  return facts;
}

void keep_curves(heads::CurveOptions& options, ExperimentState& state) {
  keep_parts(options, state);
}

Json::Object prune_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                const PruneRequest& request) {
  Json::Object facts = examples_json(files, request.data);
  facts.emplace_back("experiment", "prune");
  facts.emplace_back("model", model_sum(*loaded.model));
  facts.emplace_back("by", heads::name_of(request.by));
  facts.emplace_back("keep", request.keep);
  facts.emplace_back("penalty", request.penalty);
  return facts;
}

void keep_rounds(PruneRequest& request, ExperimentState& state) { keep_parts(request, state); }

Json::Object gates_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                const GatesRequest& request) {
  Json::Object facts = examples_json(files, request.data);
  facts.emplace_back("experiment", "gates");
  facts.emplace_back("model", model_sum(*loaded.model));
  facts.emplace_back("penalty", request.penalty);
  facts.emplace_back("steps", request.steps);
  facts.emplace_back("train_weights", request.trains_weights);
  return facts;
}

KeptGates::KeptGates(base::FileSystem& files, ExperimentState& state, GatesRequest& request)
    : files_(files), state_(state) {
  if (state.folder().empty()) return;
  path_ = state.folder() + "/gates.safetensors";
  if (base::exists(files_, path_)) read(request);
  request.standing = [this](const heads::GateState& standing) {
    last_ = standing;
    if (std::chrono::steady_clock::now() - saved_at_ >= kBetweenGateSaves) save();
  };
}

void KeptGates::read(GatesRequest& request) {
  const io::Safetensors file = io::open_safetensors(files_, path_);
  const auto found = file.metadata().find(kStepKey);
  const auto step =
      found == file.metadata().end() ? std::nullopt : io::parse_number<int64_t>(found->second);
  if (!step || *step < 1) base::refuse("gates", path_, "does not say which step it was saved at");
  request.begun =
      std::make_shared<heads::GateState>(heads::GateState{*step, models::read_state(file)});
  last_.step = saved_step_ = *step;
}

void KeptGates::save() {
  if (path_.empty() || last_.step == saved_step_) return;
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : last_.tensors) tensors.push_back({name, tensor});
  io::write_safetensors(files_, path_, tensors, {{kStepKey, std::to_string(last_.step)}});
  saved_step_ = last_.step;
  saved_at_ = std::chrono::steady_clock::now();
}

void KeptGates::remove() {
  if (path_.empty()) return;
  if (base::exists(files_, path_)) base::remove_file(files_, path_);
  state_.remove();
}

}  // namespace headlight::recipes
