// `headlight train`: from data to a model in a folder that others can open.
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/program.h"
#include "apps/cli/train/report.h"
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

// The options that say how a run is run, and the keys'.
constexpr Option kRunOptions[] = {
    {"out", "DIR", "the run's folder: model, checkpoint, log.jsonl, curves.svg"},
    {"config", "FILE", "a file of lines `key = value`"},
    {"resume", "", "go on with the run in --out"},
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

// Files are written whole, and a run is saved before it ends: signals wait for that.
void run_train(Session& session) {
  const Arguments& arguments = session.arguments;
  const auto folder = arguments.text("out");
  if (!folder) throw Error(ErrorKind::usage, "--out", "", "is missing: --out DIR");
  base::ThreadPool threads(session.threads);
  recipes::TrainRun run(
      threads, session.files,
      {.folder = *folder, .resume = arguments.has("resume"), .values = arguments});
  {
    const Uninterrupted files_are_written;
    run.begin_folder();
  }
  TrainReport report(session);
  recipes::TrainListener listener = report.listener();
  run.prepare(listener);
  const Uninterrupted until_saved;
  listener.interrupted = [&] { return until_saved.is_signalled(); };
  if (run.run(listener) == train::Outcome::interrupted) report.interrupted(run.step());
}

}  // namespace

const Command kTrain = {"train", "train a model on your own data", kTrainExamples, train_options(),
                        run_train};

}  // namespace headlight::cli
