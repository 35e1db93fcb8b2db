// What a training run says on the way. Each event is a line of the run's log.jsonl, as event_json()
// writes it: {"event":"step","step":10,"train_loss":...}.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "headlight/io/io.h"
#include "headlight/recipes/exact_match.h"

namespace headlight::recipes {

struct TrainStart {
  int64_t step = 0;  // steps done before
  std::string task = {};
  int64_t parameters = 0;
  std::string data = {};    // "1003854 tokens to train on, 111540 to validate"
  int64_t steps = 0;        // still to do
  std::string memory = {};  // "12 MB"
  double estimated_seconds = 0;
  int64_t shards = 1;
  int ranks = 1;
  std::string memory_saved = {};  // on each rank, by owning a part of the optimizer; alone: none
  // For people, not of the log.
  int64_t train_tokens = 0;  // 0: the task makes its data
  double epochs = 0;         // that the steps are; 0: there are none
};

struct TrainStep {
  int64_t step = 0;
  int64_t max_iters = 0;
  double train_loss = 0;  // the mean since the last line of the log
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
  bool is_logged = false;  // only every log_interval-th is a line of the log
};

struct TrainEvaluation {
  int64_t step = 0;
  int64_t max_iters = 0;
  std::optional<double> train_loss = {};  // the last of the log
  double valid_loss = 0;
  double tokens_per_second = 0;
  std::optional<double> seconds_left = {};  // in the middle of a run
  std::string sample = {};                  // what the model writes now, where that was asked for
};

struct TrainCheckpoint {
  int64_t step = 0;
};

// A first thing to do with the trained model: `headlight COMMAND FOLDER OPTION VALUE MORE`.
struct NextCommand {
  std::string command;  // "generate", "translate" or "embed"
  std::string option;   // "--prompt"
  std::string value;    // a text of the data
  std::string more;     // further options; may be empty
};

struct TrainDone {
  int64_t step = 0;
  double valid_loss = 0;
  double best_valid_loss = 0;
  int64_t best_step = 0;
  std::optional<ExactMatch> exact_match = {};  // of tasks that make their data, by the best model
  NextCommand next = {};                       // for people, not of the log
};

io::Json event_json(const TrainStart& event);
io::Json event_json(const TrainStep& event);
io::Json event_json(const TrainEvaluation& event);
io::Json event_json(const TrainCheckpoint& event);
io::Json event_json(const TrainDone& event);

// Who listens; all may be empty. Calls come one after the other, from the thread that trains. What
// one of them throws during the run is thrown again when the run has been saved.
struct TrainListener {
  std::function<void(const TrainStart&)> start = {};
  std::function<void(const TrainStep&)> step = {};
  std::function<void()> evaluating = {};  // it begins: what follows may take a while
  std::function<void(const TrainEvaluation&)> evaluation = {};
  std::function<void(const TrainCheckpoint&)> checkpoint = {};
  std::function<void(const TrainDone&)> done = {};
  // Asked after each step; true: save and leave.
  std::function<bool()> interrupted = {};
  bool wants_samples = false;  // of what the model writes, at each evaluation
};

}  // namespace headlight::recipes
