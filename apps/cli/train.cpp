// `headlight train`: from data to a model in a folder that others can open.
#include <chrono>

#include "apps/cli/program/interruption.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kTrainExamples =
    R"(  headlight train --task lm --data shakespeare.txt --preset shakespeare-char-cpu --out shakespeare
      a small GPT on a text, character by character, in two minutes
  headlight train --task lm --arch llama --data text.txt --n_kv_head 2 --out llama
      the same as a Llama; --arch is the model_type of any folder that can be read: qwen3, gpt_neox, t5
  headlight train --task mlm --data text.txt --out bert
      an encoder on words that are hidden; --arch roberta, distilbert, albert and modernbert are the others
  headlight train --task translate --data pairs.tsv --tokenizer bpe:8000 --out en-tr
      an encoder-decoder on tab-separated sentence pairs
  headlight train --task numbers --out numbers
      number words in four languages to digits; copy and reverse are the other made-up tasks
  headlight train --out shakespeare --resume --max_iters 4000
      continues where it stopped, with the same bits as an uninterrupted run
  mpirun -n 4 headlight train --task lm --data text.txt --out model
      on several machines or cores, to the same bits as one

The folder then holds config.json, model.safetensors (the best by validation loss) and tokenizer.json for
`headlight generate` and other tools, log.jsonl, curves.svg and a checkpoint. Ctrl-C saves and exits.
)";

// The options that say how a run is run, and the keys'.
constexpr Option kRunOptions[] = {
    {"out", "DIR", "the run's folder: model, checkpoint, log.jsonl, curves.svg"},
    {"config", "FILE", "a file of lines `key = value`"},
    {"resume", "", "go on with the run in --out"},
    kRankTimeout,
};
const std::vector<Option>& train_options() {
  static const std::vector<Option> all = [] {
    const auto keys = recipes::train_keys();
    std::vector<Option> options;
    options.reserve(std::size(kRunOptions) + keys.size());  // before main(), so in one go
    options.assign(std::begin(kRunOptions), std::end(kRunOptions));
    for (const recipes::TrainKey& key : keys) options.push_back({key.name, key.value, key.help});
    return options;
  }();
  return all;
}

// Variables on which the bytes depend, as one types them before a command; it may be the launcher
// that has set them.
std::string variables_of_run(const Arguments& arguments) {
  std::string words;
  const auto add = [&](const Option& option) {
    if (!arguments.has(option.name) || arguments.level(option.name) != Level::environment) return;
    const std::string value = option.value.empty() ? "1" : *arguments.text(option.name);
    words += arguments.source(option.name) + "=" + narrate::shell_quoted(value) + " ";
  };
  for (const Option& option : general_options()) {
    if (option.name == "seed" || option.name == "simd") add(option);
  }
  for (const Option& option : train_options()) {
    if (option.name != kRankTimeout.name) add(option);
  }
  return words;
}

// Tells what it hears of a run while it goes: JSON lines, or lines for a person, on a terminal with
// one below them that replaces itself.
class TrainReport {
 public:
  TrainReport(Session& session, std::string folder)
      : session_(session),
        catalogue_(catalogue_of(session.arguments)),
        folder_(std::move(folder)),
        is_quiet_(session.arguments.has("quiet")) {
    if (session.json) return;
    silence_.emplace(session, told("command.progress.preparing"));
    silence_->when_signalled(told("command.train.stopping"));
  }

  // The report must outlive it.
  recipes::TrainListener listener() {
    return {
        .start = [this](const recipes::TrainStart& event) { start(event); },
        .step = [this](const recipes::TrainStep& event) { step(event); },
        .evaluating = [this] { restart(told("command.progress.evaluating")); },
        .evaluation = [this](const recipes::TrainEvaluation& event) { evaluation(event); },
        .checkpoint = [this](const recipes::TrainCheckpoint& event) { print(event_json(event)); },
        .done = [this](const recipes::TrainDone& event) { done(event); },
        .wants_samples = session_.talkative};
  }

  void interrupted(int64_t step) {
    silence_.reset();
    const std::vector<std::string> how_to_go_on = lines().interrupted(step, end());
    replace_row(session_, is_quiet_ ? std::vector<std::string>{} : how_to_go_on);
    session_.output.flush();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void start(const recipes::TrainStart& event) {
    say(lines().start(event, folder_));
    io::Json json = event_json(event);
    if (session_.ranks != nullptr) {
      // What one machine would have to be told.
      const bool is_said = session_.arguments.has("shards");
      const std::string alone =
          variables_of_run(session_.arguments) +
          typed_again(is_said ? "" : "--shards " + std::to_string(event.shards));
      say(lines().ranks(event, alone));
      json.object()->emplace_back("same_bytes", alone);
    }
    restart(told("command.progress.first_step"));
    print(json);
  }

  void step(const recipes::TrainStep& event) {
    restart("");
    if (session_.talkative && !session_.json) draw(event);
    if (!event.is_logged) return;
    losses_.push_back(event.train_loss);
    print(event_json(event));
  }

  // Ten times a second at most.
  void draw(const recipes::TrainStep& event) {
    const Clock::time_point now = Clock::now();
    if (now - drawn_ < std::chrono::milliseconds(100) || waiting_signal() != 0) return;
    drawn_ = now;
    show_progress(narrate::TrainingLines(catalogue_, columns_of_errors() - 1).step(event, losses_));
  }

  void evaluation(const recipes::TrainEvaluation& event) {
    restart("");
    say(lines().evaluation(event));
    print(event_json(event));
  }

  void done(const recipes::TrainDone& event) {
    silence_.reset();
    say(lines().done(event, end()));
    print(event_json(event));
  }

  void print(const io::Json& event) {
    if (!session_.json) return;
    session_.output.write(io::json_text(event) + "\n");
    session_.output.flush();
  }

  std::string told(std::string_view key) const { return catalogue_.text(key); }

  void restart(std::string what) {
    if (silence_) silence_->restart(std::move(what));
  }

  void say(const std::vector<std::string>& lines) {
    if (session_.json || is_quiet_) return;
    replace_row(session_, lines);
  }

  // As wide as the terminal is now; a file takes any width.
  narrate::TrainingLines lines() const {
    constexpr int64_t kAnyWidth = 1 << 20;
    return {catalogue_, session_.talkative ? columns_of_errors() : kAnyWidth};
  }

  narrate::TrainingLines::End end() const {
    const std::chrono::duration<double> elapsed = Clock::now() - begin_;
    return {.seconds = elapsed.count(),
            .train_loss = losses_.empty() ? std::nullopt : std::optional(losses_.back()),
            .program = program_name(),
            .folder = folder_};
  }

  Session& session_;
  const narrate::Catalogue& catalogue_;
  std::string folder_;
  bool is_quiet_ = false;
  const Clock::time_point begin_ = Clock::now();
  std::vector<double> losses_;  // for the sparkline
  Clock::time_point drawn_ = {};
  std::optional<Progress> silence_;  // what is told where nothing else is, for a second or more
};

// Files are written whole, and a run is saved before it ends: signals wait for that.
void run_train(Session& session) {
  const Arguments& arguments = session.arguments;
  const auto folder = arguments.text("out");
  if (!folder) {
    throw Error(ErrorKind::usage, "--out", "",
                "is missing: --out DIR, a folder for the model; `headlight train --help` has "
                "examples");
  }
  if (session.ranks != nullptr) {
    session.ranks->messenger().set_advice(
        "the last checkpoint is good: --resume goes on from it, "
        "on any number of ranks");
  }
  base::ThreadPool threads(session.threads);
  std::optional<recipes::TrainRun> prepared;
  {
    const Progress progress(session, command_text(session, "command.progress.preparing"));
    prepared.emplace(threads, session.files,
                     recipes::TrainRequest{.folder = *folder,
                                           .resume = arguments.has("resume"),
                                           .values = arguments,
                                           .group = group_of(session)});
  }
  recipes::TrainRun& run = *prepared;
  {
    const Uninterrupted files_are_written;
    run.begin_folder();
  }
  TrainReport report(session, *folder);
  recipes::TrainListener listener = report.listener();
  run.prepare(listener);
  const Uninterrupted until_saved;
  std::optional<RankProcess::Saving> saving;
  if (session.ranks != nullptr) saving.emplace(*session.ranks);
  listener.interrupted = [&] { return until_saved.is_signalled(); };
  if (run.run(listener) != train::Outcome::interrupted) return;
  report.interrupted(run.step());
  if (session.ranks != nullptr) session.ranks->leave_interrupted();
}

}  // namespace

const Command kTrain = {.name = "train",
                        .summary = "train a model on your own data",
                        .examples = kTrainExamples,
                        .options = train_options(),
                        .run = run_train,
                        .runs_on_ranks = true};

}  // namespace headlight::cli
