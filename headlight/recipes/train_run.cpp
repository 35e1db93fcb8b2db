// The folder of a run, and the loop with its log and its listener.
#include "headlight/recipes/train_run.h"

#include <algorithm>
#include <exception>

#include "headlight/infer/infer.h"
#include "headlight/recipes/embedded.h"
#include "headlight/recipes/model_copy.h"
#include "headlight/recipes/train_agreement.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

std::string run_file(const std::string& folder) { return folder + "/run.json"; }

// Whether something is where the run is to be; not to be able to tell is a failure of an output.
bool is_taken(base::FileSystem& files, const std::string& folder) {
  try {
    return base::exists(files, folder);
  } catch (const Error& error) {
    throw error.with_kind(ErrorKind::failed);
  }
}

// A run that starts has a folder of its own.
void check_is_new(base::FileSystem& files, const TrainRequest& request) {
  if (!is_taken(files, request.folder)) return;
  const GivenValues& values = request.values;
  base::FileStatus status;
  const bool is_run = files.path_status(run_file(request.folder), status) >= 0;
  throw Error(ErrorKind::bad_input, values.key_text("out"), request.folder,
              is_run ? "is there already; " + values.key_text("resume") +
                           " goes on with its run, another name starts a new one"
                     : "is there already; give another name");
}

// What run.json of the run that is resumed holds; nothing when it had not begun.
std::optional<io::Json> earlier_run(base::FileSystem& files, const TrainRequest& request) {
  const std::string& folder = request.folder;
  if (!request.resume || !base::exists(files, folder)) return std::nullopt;
  if (base::exists(files, run_file(folder))) {
    io::Json run = io::read_json(files, run_file(folder));
    const bool is_copy = run.find("task") != nullptr && run.find("data_sum") == nullptr;
    add_later_keys(run);
    if (!is_copy) return run;  // or garbage, which is told of where it is read
    throw Error(ErrorKind::bad_input, request.values.key_text("out"), folder,
                "holds a model and no run to go on with; " + request.values.key_text("init") + " " +
                    folder + " trains it on in another folder");
  }
  // A start that was killed leaves nothing, or a temporary file.
  const auto names = base::list_directory(files, folder);
  if (std::ranges::all_of(names, base::is_temporary)) return std::nullopt;
  throw Error(ErrorKind::bad_input, request.values.key_text("out"), folder,
              "holds other files and no run.json: it is not the folder of a run");
}

// Somebody who asks for nothing but to go on has mistaken the folder.
void check_can_begin(const TrainRequest& request) {
  const GivenValues& values = request.values;
  if (!request.resume || values.has("task") || values.has("preset") || values.has("config")) return;
  throw Error(ErrorKind::bad_input, values.key_text("out"), request.folder,
              "there is no run to go on with; " + values.key_text("task") + " NAME starts one");
}

// Before any long work: that the folder can be made, or written to.
void check_writable(base::FileSystem& files, const std::string& folder) {
  std::string place = folder;
  while (!base::exists(files, place)) place = base::directory_of(place);
  base::check_files_can_be_made(files, place);
}

void check_data(const io::Json& before, const TrainSetup& setup, const TrainRequest& request) {
  const io::Json* sum = before.find("data_sum");
  if (sum != nullptr && sum->text() && *sum->text() == setup.data_sum) return;
  const std::string path = run_file(request.folder);
  throw Error(ErrorKind::bad_input, path, "data_sum",
              "the data have changed since the run was started; give back the old ones, or start "
              "another run with " +
                  request.values.key_text("init") + " " + base::directory_of(path));
}

// Before anything is changed: what was trained is not taken back.
void check_not_past(const train::Checkpoints& checkpoints, const TrainRequest& request,
                    int64_t max_iters) {
  const auto progress = checkpoints.progress();
  if (!progress || progress->step <= max_iters) return;
  const std::string step = std::to_string(progress->step);
  throw Error(ErrorKind::bad_input, request.values.source("max-iters"), std::to_string(max_iters),
              "the run in " + request.folder + " is past it already, at step " + step +
                  "; a number above " + step + " goes on");
}

// What every rank saves by owning a part of the optimizer: one that owns more saves less.
int64_t bytes_saved(ranks::Group& group, const optim::Optimizer& optimizer) {
  const auto mine = static_cast<double>(optimizer.kept_numbers());
  const std::vector<double> kept = group.gather(std::span(&mine, 1));
  return static_cast<int64_t>(sizeof(float)) *
         (optimizer.all_numbers() - static_cast<int64_t>(*std::ranges::max_element(kept)));
}

// What can be done with the model, in one line to try.
NextCommand next_command(const models::Model& model, const std::string& example) {
  const models::Capabilities can = model.capabilities();
  if (can.continues_prompt) return {"generate", "--prompt", example, "--temperature 0.8"};
  return {can.translates ? "translate" : "embed", "--text", example, ""};
}

// The text with the word in its middle hidden, and what the model puts there: "to [be] or not".
std::string filled_word(autograd::Context& context, const models::Model& model,
                        const text::Tokenizer& tokenizer, const std::string& text) {
  std::vector<int64_t> ids = tokenizer.encode(text, {.framed = true});
  const auto before = std::ssize(tokenizer.frame().before);
  const auto end = std::ssize(ids) - std::ssize(tokenizer.frame().after);
  if (before >= end || end > model.context_length()) return "";
  const auto at = static_cast<size_t>((before + end) / 2);
  ids[at] = data::hidden_words(tokenizer, "").mask;
  const models::Batch batch{.ids = tensor::Tensor::of({1, std::ssize(ids)}, ids)};
  const tensor::Tensor logits = model.logits(context, model.forward(context, batch)).data();
  const float* row = logits.data<float>() + static_cast<int64_t>(at) * logits.size(2);
  const auto decoded = [&](size_t first, size_t last) {
    return tokenizer.decode(std::span(ids).subspan(first, last - first), {.special = false});
  };
  ids[at] = std::max_element(row, row + tokenizer.size()) - row;
  std::string line = decoded(0, at) + "[" + decoded(at, at + 1) + "]" + decoded(at + 1, ids.size());
  std::ranges::replace(line, '\n', ' ');
  return line;
}

int64_t parameters_of(const models::Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter->shape().elements();
  return count;
}

// The first thing that could not be told or logged; the run is saved before it is thrown.
class Failure {
 public:
  // Told only as long as all is well.
  template <class Say, class Event>
  void tell(const Say& say, const Event& event) {
    if (!error_ && say) keep([&] { say(event()); });
  }
  void tell(const std::function<void()>& say) {
    if (!error_ && say) keep(say);
  }
  template <class Work>
  void keep(const Work& work) {
    try {
      work();
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }
  bool is_there() const { return error_ != nullptr; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace

TrainRun::TrainRun(base::ThreadPool& threads, base::FileSystem& files, const TrainRequest& request)
    : threads_(threads),
      files_(files),
      folder_(request.folder),
      group_(request.group == nullptr ? alone_ : *request.group),
      checkpoints_(files, request.folder) {
  const int64_t shards = request.group == nullptr ? 1 : train::default_shards(group_.count());
  // What is wrong with the request alone is told first.
  if (!request.resume) settings_ = read_train_settings(request.values, files_, nullptr, shards);
  const auto before = begun_run(request);
  has_begun_ = before.has_value();
  if (!has_begun_) check_can_begin(request);
  if (request.resume) {
    settings_ = read_train_settings(request.values, files_, before ? &*before : nullptr, shards,
                                    run_file(folder_));
  }
  settings_.ranks = group_.count();
  settings_.ranks_here = group_.ranks_here();
  check_same_settings(group_, settings_json(settings_), request.resume);
  check_shards(request);
  if (group_.is_first()) {
    if (before) check_not_past(checkpoints_, request, settings_.max_iters);
    check_writable(files_, folder_);
  }
  try {
    TrainSettings at_hand = settings_;
    at_hand.init = first_model_ = first_model_place();
    setup_ = make_train_setup(files_, at_hand, request.values);
  } catch (const Error& error) {
    // The encoding is not known before a text is read; nobody typed one that a file names.
    const bool is_typed = request.values.has("encoding") || error.kind() != ErrorKind::usage;
    throw is_typed ? error : error.with_kind(ErrorKind::bad_input);
  }
  check_same_setup(group_, setup_);
  if (before) check_data(*before, setup_, request);
}

// The model that the key `init` names, the same on all ranks. Where it has gone since the run was
// begun, the best model so far has the same shape, and the checkpoint has the weights.
std::string TrainRun::first_model_place() {
  const std::string& init = settings_.init;
  if (init.empty() || !has_begun_) return init;
  std::optional<Error> missing;
  try {
    model_place(files_, init);
  } catch (const Error& error) {
    missing = error;
  }
  if (!group_.any(missing.has_value())) return init;
  const bool has_best = checkpoints_.progress() && base::exists(files_, folder_ + "/config.json");
  if (!group_.any(!has_best)) return folder_;
  if (!missing) return init;  // who misses it tells
  if (group_.is_alone()) throw *missing;
  throw Error(ErrorKind::bad_input, "init", init,
              "is not there any more: every machine needs it, or the folder of the run; put it "
              "back, or go on without a launcher where the folder is");
}

// What run.json of the folder says; the folder is then this run's. The first rank tells the others.
std::optional<io::Json> TrainRun::begun_run(const TrainRequest& request) {
  std::optional<io::Json> before;
  if (group_.is_first()) {
    // Looked at before it is locked: of two that start at once, one must not stop the other and
    // then be stopped itself.
    if (!request.resume) check_is_new(files_, request);
    lock_.emplace(folder_, request.values.key_text("out"));
    before = earlier_run(files_, request);
  }
  if (group_.is_alone()) return before;
  const std::string text = group_.from_first(before ? io::json_text(*before) : "");
  if (text.empty()) return std::nullopt;
  return io::parse_json(text, run_file(folder_));
}

void TrainRun::check_shards(const TrainRequest& request) const {
  if (group_.count() <= settings_.shards) return;
  throw Error(request.values.has("shards") ? ErrorKind::usage : ErrorKind::bad_input,
              request.values.source("shards"), std::to_string(settings_.shards),
              train::why_too_few_shards(group_.count()) + "; " +
                  (has_begun_ ? "the run was started with so many: at most as many ranks go on"
                              : "start fewer ranks, or give " + request.values.key_text("shards") +
                                    " " + std::to_string(group_.count())));
}

void TrainRun::begin_folder() {
  if (!group_.is_first()) return;
  base::make_directories(files_, folder_);
  lock_->take();  // the folder may be new
  if (!has_begun_ && base::exists(files_, run_file(folder_))) {
    base::refuse(lock_->source(), folder_,
                 "another process has begun a run there in the meantime; give another name");
  }
  io::Json run = settings_json(settings_);
  run.object()->emplace_back("data_sum", setup_.data_sum);
  base::write_file(files_, run_file(folder_), io::json_text(run) + "\n");
  write_files_beside_model();
}

// What others need to read and write text with the model, as the model has it that it starts from.
void TrainRun::write_files_beside_model() {
  const bool has_its_own = first_model_.empty() || settings_.is_generated();
  if (has_its_own && setup_.tokenizer) setup_.tokenizer->save(files_, folder_);
  if (has_its_own || first_model_ == folder_) return;
  copy_files_beside_model(files_, model_folder(files_, first_model_), folder_);
}

void TrainRun::prepare(const TrainListener& listener) {
  trainer_.emplace(threads_, *setup_.model, *setup_.task, trainer_options(settings_, *setup_.model),
                   &group_);
  is_resumed_ = checkpoints_.restore(*trainer_);
  first_step_ = step();
  if (group_.is_first()) log_.emplace(files_, folder_, first_step_);
  const TrainStart start =
      start_event(first_step_ < settings_.max_iters ? trainer_->rehearse() : 0);
  if (log_) log_->add(event_json(start));
  if (listener.start) listener.start(start);
}

TrainStart TrainRun::start_event(double step_seconds) {
  const int64_t parameters = parameters_of(*setup_.model);
  const int64_t left = std::max<int64_t>(0, settings_.max_iters - first_step_);
  // Weights, gradients and what is kept of this rank's part.
  const int64_t numbers = 2 * parameters + trainer_->optimizer().kept_numbers();
  const int64_t saved = bytes_saved(group_, trainer_->optimizer());
  return {.step = first_step_,
          .task = settings_.task,
          .parameters = parameters,
          .data = setup_.data_text,
          .steps = left,
          .memory = base::memory_text(sizeof(float) * static_cast<uint64_t>(numbers) +
                                      trainer_->arena().peak_bytes()),
          .estimated_seconds = step_seconds * static_cast<double>(left),
          .shards = settings_.shards,
          .ranks = group_.count(),
          .memory_saved = saved > 0 ? base::memory_text(static_cast<uint64_t>(saved)) : "",
          .train_tokens = setup_.train_tokens,
          .epochs = setup_.epoch_steps > 0 ? static_cast<double>(left) / setup_.epoch_steps : 0};
}

train::Outcome TrainRun::run(const TrainListener& listener) {
  if (!is_resumed_ && group_.is_first()) checkpoints_.begin();
  // The last rank writes samples for the one that shows them.
  const bool wants_samples = group_.any(listener.wants_samples);
  Failure failure;
  const auto log = [&](const auto& event) {
    if (log_) failure.keep([&] { log_->add(event_json(event)); });
  };
  const train::LoopEvents events{
      .step =
          [&](const train::StepResult& result) {
            const TrainStep event = step_event(result);
            if (event.is_logged) log(event);
            failure.tell(listener.step, [&] { return event; });
          },
      .evaluating = [&] { failure.tell(listener.evaluating); },
      .evaluation =
          [&](int64_t step, double loss) {
            TrainEvaluation event = evaluation_event(step, loss);
            log(event);
            if (wants_samples) event.sample = shared_sample();
            failure.tell(listener.evaluation, [&] { return event; });
          },
      // The log is on the disk before its checkpoint: lines behind a checkpoint are dropped when a
      // run is resumed, lines that are missing could not be had again.
      .saving =
          [&](int64_t step) {
            log(TrainCheckpoint{step});
            if (log_) failure.keep([&] { log_->save(); });
          },
      .checkpoint =
          [&](int64_t step) {
            failure.tell(listener.checkpoint, [&] { return TrainCheckpoint{step}; });
          },
      .interrupted =
          [&] {
            return group_.any(failure.is_there() ||
                              (listener.interrupted && listener.interrupted()));
          }};
  const train::Outcome outcome = train::run_loop(*trainer_, checkpoints_,
                                                 {.max_iters = settings_.max_iters,
                                                  .eval_interval = settings_.eval_interval,
                                                  .patience = settings_.patience},
                                                 events);
  failure.rethrow();
  if (outcome == train::Outcome::interrupted) return outcome;
  if (setup_.generated && listener.evaluating) listener.evaluating();
  done_ = conclusion();
  if (log_) {
    log_->add(event_json(*done_));
    log_->save();
  }
  if (listener.done) listener.done(*done_);
  return outcome;
}

double TrainRun::tokens_per_second() const {
  return seconds_ > 0 ? static_cast<double>(tokens_) / seconds_ : 0;
}

double TrainRun::seconds_left(int64_t step) const {
  const double per_step = seconds_ / static_cast<double>(step - first_step_);
  return per_step * static_cast<double>(settings_.max_iters - step);
}

TrainStep TrainRun::step_event(const train::StepResult& result) {
  tokens_ += result.tokens;
  seconds_ += result.seconds;
  loss_sum_ += result.loss;
  ++loss_count_;
  const TrainStep event{
      .step = result.step,
      .max_iters = settings_.max_iters,
      .train_loss = loss_sum_ / static_cast<double>(loss_count_),
      .learning_rate = result.learning_rate,
      .gradient_norm = result.gradient_norm,
      .tokens_per_second = tokens_per_second(),
      .seconds_left = seconds_left(result.step),
      .is_logged = result.step % settings_.log_interval == 0 || result.step == settings_.max_iters};
  if (event.is_logged) {
    loss_sum_ = 0;
    loss_count_ = 0;
  }
  return event;
}

TrainEvaluation TrainRun::evaluation_event(int64_t step, double valid_loss) const {
  TrainEvaluation event{.step = step,
                        .max_iters = settings_.max_iters,
                        .valid_loss = valid_loss,
                        .tokens_per_second = tokens_per_second()};
  if (log_ && !log_->training().empty()) event.train_loss = log_->training().back().loss;
  if (step > first_step_ && step < settings_.max_iters) event.seconds_left = seconds_left(step);
  return event;
}

std::string TrainRun::shared_sample() {
  const bool is_last = group_.rank() == group_.count() - 1;
  return group_.gather(is_last ? sample() : "").back();
}

// What the model writes at this point.
std::string TrainRun::sample() {
  constexpr int64_t kLetters = 60;
  tensor::Arena arena;
  autograd::Context context{.threads = threads_, .arena = arena};
  const text::Tokenizer& tokenizer = *setup_.tokenizer;
  if (settings_.task == "mlm")
    return filled_word(context, *setup_.model, tokenizer, setup_.example);
  if (settings_.task == "lm") {
    const int64_t first_id = tokenizer.find("\n").value_or(0);
    const infer::GenerateOptions options{
        .sampling = {.temperature = 0.8F},
        .ending = {.max_new_tokens = kLetters, .tokenizer = &tokenizer}};
    const auto written = infer::generate(context, *setup_.model, {{.ids = {first_id}}}, options);
    std::string line = written.front().text;
    std::ranges::replace(line, '\n', ' ');
    return line;
  }
  if (setup_.samples.empty()) return "";
  const data::Pair& pair = setup_.samples[static_cast<size_t>(step()) % setup_.samples.size()];
  infer::OutputOptions options;
  options.ending.tokenizer = &tokenizer;
  const auto written = infer::greedy_outputs(context, *setup_.model,
                                             {data::source_ids(tokenizer, pair.source)}, options);
  return pair.source + " → " + written.front().text;
}

TrainDone TrainRun::conclusion() {
  const train::Progress& progress = trainer_->progress();
  TrainDone done{.step = progress.step,
                 .valid_loss = progress.valid_loss,
                 .best_valid_loss = progress.best_loss,
                 .best_step = progress.best_step,
                 .next = next_command(*setup_.model, setup_.example)};
  if (setup_.generated) done.exact_match = exam_of_best();
  return done;
}

// The first rank reads the best model; the others take its weights, as their own are done with.
ExactMatch TrainRun::exam_of_best() {
  std::unique_ptr<models::Model> read;
  if (group_.is_first()) read = models::load_model(files_, folder_);
  const models::Model& best = read ? *read : *setup_.model;
  if (!group_.is_alone()) {
    for (const nn::ParameterHandle& parameter : best.parameters()) {
      tensor::Tensor numbers = parameter->change();
      group_.from_first({numbers.mutable_data<float>(), static_cast<size_t>(numbers.elements())});
    }
  }
  return exact_match(threads_, best, *setup_.generated, {.group = &group_});
}

TrainResult train_model(base::ThreadPool& threads, base::FileSystem& files,
                        const TrainRequest& request, const TrainListener& listener) {
  TrainRun run(threads, files, request);
  run.begin_folder();
  run.prepare(listener);
  const train::Outcome outcome = run.run(listener);
  return {.outcome = outcome, .step = run.step(), .done = run.result()};
}

}  // namespace headlight::recipes
