// `headlight train`: from data to a model in a folder that others can open.
#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>

#include "apps/cli/interruption.h"
#include "apps/cli/program.h"
#include "apps/cli/train_report.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kTrainExamples =
    R"(  headlight train --task lm --data shakespeare.txt --preset shakespeare-char-cpu --out shakespeare
      a small GPT on a text, letter by letter, in two minutes
  headlight train --task translate --data pairs.tsv --tokenizer bpe:8000 --out en-tr
      an encoder-decoder on tab-separated sentence pairs
  headlight train --task numbers --out numbers
      number words in four languages to digits; copy and reverse are the other made-up tasks
  headlight train --out shakespeare --resume --max_iters 4000
      goes on where it was, to the bits of an uninterrupted run

The folder then holds config.json, model.safetensors (the best by validation loss) and tokenizer.json for
`headlight generate` and other tools, log.jsonl, curves.svg and a checkpoint. Ctrl-C saves and leaves.
)";

std::string run_file(const std::string& folder) { return folder + "/run.json"; }

// What run.json of an earlier start holds; nothing when there is none.
std::optional<io::Json> earlier_run(Session& session, const std::string& folder, bool resumes) {
  if (!base::exists(session.files, folder)) return std::nullopt;
  base::FileStatus status;
  if (!resumes) {
    const bool is_run = session.files.path_status(run_file(folder), status) >= 0;
    throw Error(ErrorKind::bad_input, "--out", folder,
                is_run ? "is there already; --resume goes on with its run, another name starts a "
                         "new one"
                       : "is there already; give another name");
  }
  if (base::exists(session.files, run_file(folder)))
    return io::read_json(session.files, run_file(folder));
  // A start that was killed leaves nothing, or a temporary file.
  const auto names = base::list_directory(session.files, folder);
  if (std::ranges::all_of(names, base::is_temporary)) return std::nullopt;
  throw Error(ErrorKind::bad_input, "--out", folder,
              "holds other files and no run.json: it is not the folder of a run");
}

// Before any long work: that the folder can be made, or written to.
void check_writable(base::FileSystem& files, const std::string& folder) {
  std::string place = folder;
  while (!base::exists(files, place)) place = base::directory_of(place);
  const std::string probe = place + "/.headlight-probe.tmp";
  base::write_file(files, probe, "");
  base::remove_file(files, probe);
}

// All that is known before the first step; run.json first, by which the folder is known.
void begin_folder(Session& session, const std::string& folder, const recipes::TrainSetup& setup,
                  io::Json run) {
  const Uninterrupted files_are_written;
  base::make_directories(session.files, folder);
  run.object()->emplace_back("data_sum", setup.data_sum);
  base::write_file(session.files, run_file(folder), io::json_text(run) + "\n");
  if (setup.tokenizer) setup.tokenizer->save(session.files, folder);
}

void check_data(const io::Json& before, const recipes::TrainSetup& setup, const std::string& path) {
  const io::Json* sum = before.find("data_sum");
  if (sum != nullptr && sum->text() && *sum->text() == setup.data_sum) return;
  throw Error(ErrorKind::bad_input, path, "data_sum",
              "the data have changed since the run was started; give back the old ones, or start "
              "another run with --init " +
                  base::directory_of(path));
}

// Before anything is changed: what was trained is not taken back.
void check_not_past(Session& session, const std::string& folder, int64_t max_iters) {
  const auto progress = train::Checkpoints(session.files, folder).progress();
  if (!progress || progress->step <= max_iters) return;
  const std::string step = std::to_string(progress->step);
  throw Error(ErrorKind::bad_input, session.arguments.source("max-iters"),
              std::to_string(max_iters),
              "the run in " + folder + " is past it already, at step " + step +
                  "; a number above " + step + " goes on");
}

class Training {
 public:
  Training(Session& session, const recipes::TrainSettings& settings, recipes::TrainSetup& setup,
           std::string folder)
      : session_(session),
        settings_(settings),
        setup_(setup),
        folder_(std::move(folder)),
        threads_(session.threads),
        trainer_(threads_, *setup.model, *setup.task,
                 recipes::trainer_options(settings, *setup.model)),
        checkpoints_(session.files, folder_) {}

  void run() {
    const bool is_resumed = checkpoints_.restore(trainer_);
    TrainReport report(session_, settings_, folder_, trainer_.progress().step);
    announce(report);
    const Uninterrupted until_saved;
    if (!is_resumed) checkpoints_.begin();
    std::exception_ptr untold;  // nobody can be told any more: the run is saved before it ends
    const auto tell = [&](const auto& say) {
      try {
        if (!untold) say();
      } catch (...) {
        untold = std::current_exception();
      }
    };
    const train::LoopEvents events{
        .step = [&](const train::StepResult& result) { tell([&] { report.step(result); }); },
        .evaluation =
            [&](int64_t step, double loss) {
              tell([&] { report.evaluation(step, loss, session_.talkative ? sample() : ""); });
            },
        .saving = [&](int64_t step) { tell([&] { report.saving(step); }); },
        .checkpoint = [&](int64_t step) { tell([&] { report.checkpoint(step); }); },
        .interrupted = [&] { return untold || until_saved.is_signalled(); }};
    const train::Outcome outcome = train::run_loop(trainer_, checkpoints_,
                                                   {.max_iters = settings_.max_iters,
                                                    .eval_interval = settings_.eval_interval,
                                                    .patience = settings_.patience},
                                                   events);
    if (untold) std::rethrow_exception(untold);
    if (outcome == train::Outcome::interrupted) {
      say_saved();
      return;
    }
    report.done(conclusion());
  }

 private:
  void announce(TrainReport& report) {
    int64_t parameters = 0;
    for (const auto& parameter : setup_.model->parameters())
      parameters += parameter->shape().elements();
    const int64_t left = std::max<int64_t>(0, settings_.max_iters - trainer_.progress().step);
    const double seconds = left == 0 ? 0 : trainer_.rehearse();
    const uint64_t weights = 4 * sizeof(float) * static_cast<uint64_t>(parameters);
    report.start({{"task", settings_.task},
                  {"parameters", parameters},
                  {"data", setup_.data_text},
                  {"steps", left},
                  {"memory", base::memory_text(weights + trainer_.arena().peak_bytes())},
                  {"estimated_seconds", std::round(seconds * static_cast<double>(left))}});
  }

  void say_saved() {
    if (session_.talkative) print_progress("");
    if (!session_.arguments.has("quiet"))
      print_line("interrupted after step " + std::to_string(trainer_.progress().step) +
                 "; --resume goes on from here");
    session_.output.flush();
  }

  // What the model writes at this point.
  std::string sample() {
    constexpr int64_t kLetters = 60;
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    if (settings_.task == "lm") {
      const infer::GenerateOptions options{
          .sampling = {.temperature = 0.8F},
          .ending = {.max_new_tokens = kLetters, .tokenizer = &*setup_.tokenizer}};
      const auto written =
          infer::generate(context, *setup_.model, {{.ids = {first_id()}}}, options);
      std::string line = written.front().text;
      std::ranges::replace(line, '\n', ' ');
      return line;
    }
    if (setup_.samples.empty()) return "";
    const data::Pair& pair =
        setup_.samples[static_cast<size_t>(trainer_.progress().step) % setup_.samples.size()];
    infer::OutputOptions options;
    options.ending.tokenizer = &*setup_.tokenizer;
    const auto written = infer::greedy_outputs(context, *setup_.model,
                                               {setup_.tokenizer->encode(pair.source)}, options);
    return pair.source + " → " + written.front().text;
  }

  int64_t first_id() const {
    const auto newline = setup_.tokenizer->find("\n");
    return newline.value_or(0);
  }

  io::Json::Object conclusion() {
    const train::Progress& progress = trainer_.progress();
    io::Json::Object facts{{"step", progress.step},
                           {"valid_loss", progress.valid_loss},
                           {"best_valid_loss", progress.best_loss},
                           {"best_step", progress.best_step}};
    if (setup_.generated) {
      const auto best = models::load_model(session_.files, folder_);
      for (auto& fact :
           recipes::exact_match_json(recipes::exact_match(threads_, *best, *setup_.generated)))
        facts.push_back(std::move(fact));
    }
    return facts;
  }

  Session& session_;
  const recipes::TrainSettings& settings_;
  recipes::TrainSetup& setup_;
  std::string folder_;
  base::ThreadPool threads_;
  train::Trainer trainer_;
  train::Checkpoints checkpoints_;
};

void run_train(Session& session) {
  const auto folder = session.arguments.text("out");
  if (!folder) throw Error(ErrorKind::usage, "--out", "", "is missing: --out DIR");
  std::optional<recipes::RunLock> lock(std::in_place, *folder, "--out");
  const auto before = earlier_run(session, *folder, session.arguments.has("resume"));
  const recipes::TrainSettings settings =
      recipes::read_train_settings(session.arguments, session.files, before ? &*before : nullptr);
  const io::Json run = recipes::settings_json(settings);
  if (before) {
    recipes::check_unchanged(*before, run, run_file(*folder));
    check_not_past(session, *folder, settings.max_iters);
  }
  check_writable(session.files, *folder);
  recipes::TrainSetup setup = recipes::make_train_setup(session.files, settings);
  if (before) check_data(*before, setup, run_file(*folder));
  begin_folder(session, *folder, setup, run);
  if (!before) lock.emplace(*folder, "--out");  // it may be new
  Training(session, settings, setup, *folder).run();
}

}  // namespace

// The options that say how a run is run, and the keys'.
constexpr Option kRunOptions[] = {
    {"out", "DIR", "the run's folder: model, checkpoint, log.jsonl, curves.svg"},
    {"config", "FILE", "a file of lines `key = value`"},
    {"resume", "", "go on with the run in --out"},
};
const std::vector<Option>& train_options() {
  static const std::vector<Option> all = [] {
    std::vector<Option> options(std::begin(kRunOptions), std::end(kRunOptions));
    for (const recipes::TrainKey& key : recipes::train_keys())
      options.push_back({key.name, key.value, key.help});
    return options;
  }();
  return all;
}

const Command kTrain = {"train", "train a model on your own data", kTrainExamples, train_options(),
                        run_train};

}  // namespace headlight::cli
