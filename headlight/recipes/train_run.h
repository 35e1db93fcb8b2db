// A training run in its folder: from a request to a model that others can open.
#pragma once

#include <optional>
#include <string>

#include "headlight/recipes/run_lock.h"
#include "headlight/recipes/train_events.h"
#include "headlight/recipes/train_setup.h"

namespace headlight::recipes {

struct TrainRequest {
  std::string folder;       // of the run; new, unless it is resumed
  bool resume = false;      // go on with the run in the folder, to the bits of an uninterrupted one
  GivenValues values = {};  // keys: train_values({{"task", "copy"}, ...})
  // The ranks of a launcher, all with the same request; they outlive the run. Null: alone.
  ranks::Group* group = nullptr;
};

// The folder then holds config.json, model.safetensors (the best by validation loss) and the
// tokenizer for other tools, run.json (the settings), log.jsonl, curves.svg and a checkpoint. Other
// processes are kept out of it while the run lives. Threads and files must outlive it. Of several
// ranks only the first needs the folder and touches it; each reads the data.
class TrainRun {
 public:
  // Reads the settings and the data and makes the model. Nothing is written yet, but a folder that
  // cannot be written to is refused. Throws Error(usage) for values that no run can have,
  // Error(bad_input) for data, files and a folder that do not fit, Error(out_of_memory) before
  // anything large is made, and Error(failed) where another process trains in the folder.
  TrainRun(base::ThreadPool& threads, base::FileSystem& files, const TrainRequest& request);
  TrainRun(const TrainRun&) = delete;
  TrainRun& operator=(const TrainRun&) = delete;

  const TrainSettings& settings() const noexcept { return settings_; }

  // The three that follow are called in this order, each once.
  //
  // Writes what is known before the first step: run.json, by which the folder is known, and the
  // tokenizer; of a run with the key `init` all that its model has for the same ids.
  void begin_folder();
  // Goes to the last checkpoint, rehearses a step for time and memory, and tells the start.
  void prepare(const TrainListener& listener);
  // Trains until all is done or somebody interrupts; in either case everything is saved. What it
  // throws leaves the last checkpoint as it was.
  train::Outcome run(const TrainListener& listener);

  // As it is now; read by those who listen, between steps.
  const models::Model& model() const { return *setup_.model; }
  // Null where there is none.
  const text::Tokenizer* tokenizer() const {
    return setup_.tokenizer ? &*setup_.tokenizer : nullptr;
  }
  // Steps done.
  int64_t step() const { return trainer_->progress().step; }
  // Once the run is over, not interrupted.
  const std::optional<TrainDone>& result() const noexcept { return done_; }

 private:
  std::optional<io::Json> begun_run(const TrainRequest& request);
  void check_shards(const TrainRequest& request) const;
  std::string first_model_place();
  void write_files_beside_model();
  TrainStart start_event(double step_seconds);
  TrainStep step_event(const train::StepResult& result);
  TrainEvaluation evaluation_event(int64_t step, double valid_loss) const;
  TrainDone conclusion();
  ExactMatch exam_of_best();
  std::string sample();
  std::string shared_sample();
  double tokens_per_second() const;
  double seconds_left(int64_t step) const;

  base::ThreadPool& threads_;
  base::FileSystem& files_;
  std::string folder_;
  ranks::Group alone_;
  ranks::Group& group_;
  std::optional<RunLock> lock_;
  bool has_begun_ = false;  // run.json was there
  bool is_resumed_ = false;
  TrainSettings settings_;
  std::string first_model_;  // empty: it is made here
  TrainSetup setup_;
  train::Checkpoints checkpoints_;
  std::optional<train::Trainer> trainer_;
  std::optional<train::RunLog> log_;  // of the first rank
  std::optional<TrainDone> done_;
  // Since the last line of the log.
  double loss_sum_ = 0;
  int64_t loss_count_ = 0;
  // Since the start.
  int64_t first_step_ = 0;
  int64_t tokens_ = 0;
  double seconds_ = 0;
};

struct TrainResult {
  train::Outcome outcome = train::Outcome::finished;
  int64_t step = 0;
  std::optional<TrainDone> done = {};  // nothing when it was interrupted
};

// A run from its beginning to its end. Throws as TrainRun does.
TrainResult train_model(base::ThreadPool& threads, base::FileSystem& files,
                        const TrainRequest& request, const TrainListener& listener = {});

}  // namespace headlight::recipes
