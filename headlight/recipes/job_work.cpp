// Each kind of job: its request completed by its folder, run, and told.
#include "headlight/recipes/job_work.h"

#include "headlight/infer/infer.h"
#include "headlight/recipes/kept_results.h"
#include "headlight/recipes/model_copy.h"
#include "headlight/recipes/train_run.h"

namespace headlight::recipes {
namespace {

using io::Json;

constexpr std::string_view kParts = "parts";  // the folder of what an experiment has finished

// What all kinds have at hand.
struct JobRoom {
  base::ThreadPool& threads;
  base::FileSystem& files;
  const std::string& folder;
  const JobListener& listener;

  std::string path(std::string_view name) const { return folder + "/" + std::string(name); }
  heads::Watch watch() const {
    return {.progress = listener.progress, .interrupted = listener.interrupted};
  }
  // The folder's own file, or nothing.
  std::string own_file(std::string_view name) const {
    return base::exists(files, path(name)) ? path(name) : "";
  }
  void take_data(ExamplesRequest& examples) const {
    examples.data = own_file(kJobData);
    examples.ids = own_file(kJobIds);
    examples.targets = own_file(kJobTargets);
  }
  std::string own_model() const { return path(kJobModel); }
  ExperimentState parts(Json::Object request) const {
    const std::string place = path(kParts);
    const bool is_known = base::exists(files, place + "/" + std::string(kExperimentFile));
    if (!is_known) clear(place);
    return ExperimentState(files,
                           {.folder = place, .resume = is_known, .request = std::move(request)});
  }
  // What a process that was killed has left of a folder: nothing in it counts yet.
  void clear(const std::string& place) const {
    if (!base::exists(files, place)) return;
    for (const std::string& name : base::list_directory(files, place)) {
      base::remove_file(files, place + "/" + name);
    }
    base::remove_file(files, place);
  }
};

JobResult interrupted_job() { return {.interrupted = true}; }

// The map of a text's heads in a model that learns.
class HeadProbe {
 public:
  HeadProbe(const JobRoom& room, const TrainJob& job) : room_(room), job_(job) {}

  void look(const TrainRun& run, int64_t step) const {
    if (job_.probe.empty() || !room_.listener.event || run.tokenizer() == nullptr) return;
    autograd::Recording recording;
    tensor::Arena arena;
    autograd::Context context{.threads = room_.threads, .arena = arena, .observer = &recording};
    const models::Batch batch = batch_of(run.model(), *run.tokenizer());
    if (!batch.ids.defined()) return;
    run.model().forward(context, batch);
    heads::HeadMap map = heads::map_heads(room_.threads, recording, batch);
    heads::add_behaviour(map, model_behaviour(room_.threads, run.model(), run.tokenizer()));
    Json::Object event = {{"step", step},
                          {"tokens", labels_of(*run.tokenizer(), batch.ids)},
                          {"source_tokens", labels_of(*run.tokenizer(), batch.source_ids)}};
    for (Json::Member& member : heads::head_map_json(map, room_.listener.letters)) {
      event.push_back(std::move(member));
    }
    room_.listener.event("heads", std::move(event));
  }

 private:
  models::Batch batch_of(const models::Model& model, const text::Tokenizer& tokenizer) const {
    const auto context = static_cast<size_t>(model.context_length());
    const bool translates = model.capabilities().translates;
    const std::vector<int64_t> read = ids_of(tokenizer, job_.probe, context, translates);
    if (read.empty()) return {};
    const tensor::Tensor row = tensor::Tensor::of({1, std::ssize(read)}, read);
    if (!translates) return {.ids = row};
    const models::SpecialIds& special = model.special_ids();
    std::vector<int64_t> answer = {special.decoder_start.value_or(special.begin.value_or(0))};
    const std::vector<int64_t> rest = job_.probe_target.empty()
                                          ? written_for(model, read, context - 1)
                                          : ids_of(tokenizer, job_.probe_target, context - 1);
    answer.insert(answer.end(), rest.begin(), rest.end());
    return {.ids = tensor::Tensor::of({1, std::ssize(answer)}, answer), .source_ids = row};
  }

  // As far as the model reads it. A text that it cannot read shows nothing, and is no reason to end
  // the training.
  static std::vector<int64_t> ids_of(const text::Tokenizer& tokenizer, const std::string& text,
                                     size_t most, bool is_source = false) {
    try {
      std::vector<int64_t> ids =
          is_source ? data::source_ids(tokenizer, text) : tokenizer.encode(text);
      ids.resize(std::min(ids.size(), most));
      return ids;
    } catch (const base::Error&) {
      return {};
    }
  }

  static Json::Array labels_of(const text::Tokenizer& tokenizer, const tensor::Tensor& ids) {
    Json::Array labels;
    if (!ids.defined()) return labels;
    for (int64_t i = 0; i < ids.size(1); ++i) {
      labels.push_back(text::label_of(tokenizer, ids.data<int64_t>()[i]));
    }
    return labels;
  }

  // The model's own answer.
  std::vector<int64_t> written_for(const models::Model& model, const std::vector<int64_t>& source,
                                   size_t most) const {
    tensor::Arena arena;
    autograd::Context context{.threads = room_.threads, .arena = arena};
    std::vector<int64_t> ids = infer::greedy_outputs(context, model, {source}).front().ids;
    ids.resize(std::min(ids.size(), most));
    return ids;
  }

  const JobRoom& room_;
  const TrainJob& job_;
};

GivenValues values_of(const TrainJob& job, const JobRoom& room) {
  std::vector<std::pair<std::string, std::string>> keys = job.keys;
  if (const std::string data = room.own_file(kJobData); !data.empty()) {
    keys.emplace_back("data", data);
  }
  return train_values(keys);
}

JobResult run_work(const TrainJob& job, const JobRoom& room) {
  const std::string folder = room.own_model();
  const bool has_begun = base::exists(room.files, folder + "/run.json");
  if (!has_begun) room.clear(folder);
  TrainRun training(room.threads, room.files,
                    {.folder = folder, .resume = has_begun, .values = values_of(job, room)});
  training.begin_folder();
  const HeadProbe probe(room, job);
  const auto tell = [&](const auto& event) {
    if (room.listener.event) room.listener.event("train", event_json(event));
  };
  const auto tell_step = [&](const TrainStep& step) {
    if (!room.listener.event) return;
    Json event = event_json(step);
    event.object()->emplace_back("seconds_left", step.seconds_left);
    room.listener.event("train", event);
  };
  const TrainListener listener{.start = tell,
                               .step =
                                   [&](const TrainStep& step) {
                                     if (step.is_logged) tell_step(step);
                                     if (!room.listener.progress || step.max_iters == 0) return;
                                     room.listener.progress(static_cast<double>(step.step) /
                                                            static_cast<double>(step.max_iters));
                                   },
                               .evaluation =
                                   [&](const TrainEvaluation& evaluation) {
                                     Json event = event_json(evaluation);
                                     event.object()->emplace_back("sample", evaluation.sample);
                                     if (room.listener.event) room.listener.event("train", event);
                                     probe.look(training, evaluation.step);
                                   },
                               .checkpoint = tell,
                               .done = tell,
                               .interrupted = room.listener.interrupted,
                               .wants_samples = true};
  training.prepare(listener);
  if (training.step() == 0) probe.look(training, 0);
  if (training.run(listener) == train::Outcome::interrupted) return interrupted_job();
  return {.result = event_json(*training.result()), .written = folder};
}

JobResult run_work(ScoreJob job, const JobRoom& room) {
  room.take_data(job.examples);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  const heads::HeadScores scores =
      score_model_heads(room.threads, room.files, loaded, job.examples, room.watch());
  if (scores.interrupted) return interrupted_job();
  return {.result = heads::head_scores_json(scores)};
}

JobResult run_work(AblateJob job, const JobRoom& room) {
  room.take_data(job.examples);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  Json::Object request = examples_json(room.files, job.examples);
  request.emplace_back("experiment", "ablate");
  request.emplace_back("model", model_sum(*loaded.model));
  request.emplace_back("by", heads::name_of(job.options.by));
  ExperimentState state = room.parts(std::move(request));
  keep_ablations(job.options, state);
  job.options.watch = room.watch();
  const heads::AblationResult result =
      ablate_model_heads(room.threads, room.files, loaded, job.examples, job.options);
  state.save();
  if (result.interrupted) return interrupted_job();
  return {.result = heads::ablation_json(result)};
}

JobResult run_work(const AttributeJob& job, const JobRoom& room) {
  const LoadedModel loaded = load_named_model(room.files, job.model);
  const auto tokenizer = find_tokenizer(room.files, loaded);
  const text::Tokenizer* known = tokenizer ? &*tokenizer : nullptr;
  return {.result =
              attribute_json(attribute(room.threads, *loaded.model, known, job.request), known)};
}

JobResult run_work(PatchJob job, const JobRoom& room) {
  const LoadedModel loaded = load_named_model(room.files, job.model);
  const auto tokenizer = find_tokenizer(room.files, loaded);
  job.request.options.watch = room.watch();
  const auto answer =
      patch(room.threads, *loaded.model, tokenizer ? &*tokenizer : nullptr, job.request);
  if (!answer) return interrupted_job();
  return {.result = patch_json(*answer)};
}

JobResult run_work(GatesJob job, const JobRoom& room) {
  room.take_data(job.request.data);
  job.request.out = room.own_model();
  room.clear(job.request.out);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  const ModelGatesResult result =
      gate_model_heads(room.threads, room.files, loaded, job.request, room.watch());
  if (result.interrupted) return interrupted_job();
  Json::Object facts = model_gates_json(result);
  add_folder_json(facts, pruned_folder(room.files, loaded, job.request.out));
  return {.result = std::move(facts), .written = job.request.out};
}

JobResult run_work(CurveJob job, const JobRoom& room) {
  room.take_data(job.request.data);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  ExperimentState state = room.parts(curve_request_json(room.files, loaded, job.request));
  keep_curves(job.request.curves, state);
  const heads::CurveResult result =
      curve_model_heads(room.threads, room.files, loaded, job.request, room.watch());
  state.save();
  if (result.interrupted) return interrupted_job();
  return {.result = heads::curves_json(result)};
}

JobResult run_work(PruneJob job, const JobRoom& room) {
  room.take_data(job.request.data);
  job.request.out = room.own_model();
  room.clear(job.request.out);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  ExperimentState state = room.parts(prune_request_json(room.files, loaded, job.request));
  keep_rounds(job.request, state);
  const heads::PruneResult result =
      prune_model_heads(room.threads, room.files, loaded, job.request, room.watch());
  state.save();
  if (result.interrupted) return interrupted_job();
  Json::Object facts = heads::prune_json(result);
  add_folder_json(facts, pruned_folder(room.files, loaded, job.request.out));
  return {.result = std::move(facts), .written = job.request.out};
}

JobResult run_work(BenchJob job, const JobRoom& room) {
  const LoadedModel full = load_named_model(room.files, job.model);
  const LoadedModel pruned = load_named_model(room.files, job.pruned);
  job.options.watch = room.watch();
  const heads::SpeedResult result =
      compare_model_speed(room.threads, room.files, full, pruned, job.options);
  if (result.interrupted) return interrupted_job();
  return {.result = heads::speed_json(result)};
}

JobResult run_work(FindJob job, const JobRoom& room) {
  room.take_data(job.request.data);
  job.request.pairs = room.own_file(kJobPairs);
  const LoadedModel loaded = load_named_model(room.files, job.model);
  job.options.watch = room.watch();
  const FoundRelation relation =
      find_model_heads(room.threads, room.files, loaded, job.request, job.options);
  if (relation.found.interrupted) return interrupted_job();
  return {.result = found_relation_json(relation)};
}

}  // namespace

JobResult run_job(base::ThreadPool& threads, base::FileSystem& files, const JobWork& work,
                  const std::string& folder, const JobListener& listener) {
  const JobRoom room{threads, files, folder, listener};
  return std::visit([&](const auto& job) { return run_work(job, room); }, work);
}

void check_job(base::FileSystem& files, const JobWork& work) {
  if (const auto* training = std::get_if<TrainJob>(&work)) {
    std::vector<std::pair<std::string, std::string>> keys = training->keys;
    for (const auto& [key, value] : training->keys) {
      if (key == "task" && !is_generated_task(value)) keys.emplace_back("data", kJobData);
    }
    read_train_settings(train_values(keys), files, nullptr);
  }
}

}  // namespace headlight::recipes
