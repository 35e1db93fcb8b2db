// Long work in a folder of its own: trainings and experiments on heads, which tell how far they
// are, can be interrupted, and go on where they were.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headlight/recipes/head_experiments.h"
#include "headlight/recipes/head_pruning.h"
#include "headlight/recipes/logit_questions.h"

namespace headlight::recipes {

// Models by names, as load_named_model takes them. What a request says of data and of folders to
// write is the job's own: kJobData, kJobIds, kJobTargets and kJobPairs of its folder, where they
// are there, and kJobModel.
inline constexpr std::string_view kJobData = "data.txt";
inline constexpr std::string_view kJobIds = "ids.csv";
inline constexpr std::string_view kJobTargets = "targets.csv";
inline constexpr std::string_view kJobPairs = "pairs.tsv";
inline constexpr std::string_view kJobModel = "model";

struct TrainJob {
  std::vector<std::pair<std::string, std::string>> keys = {};  // as train_values takes them
  // A text whose heads are looked at, before the first step and at each evaluation; empty: none.
  std::string probe = {};
  std::string probe_target = {};  // what an encoder-decoder reads of its answer; empty: its own
};
struct ScoreJob {
  std::string model;
  ExamplesRequest examples = {};
};
struct AblateJob {
  std::string model;
  ExamplesRequest examples = {};
  heads::AblationOptions options = {};  // by, greedy and all_but_one
};
struct AttributeJob {
  std::string model;
  AttributeRequest request = {};
};
struct PatchJob {
  std::string model;
  PatchRequest request = {};
};
struct GatesJob {
  std::string model;
  GatesRequest request = {};
};
struct CurveJob {
  std::string model;
  CurveRequest request = {};
};
struct PruneJob {
  std::string model;
  PruneRequest request = {};
};
struct BenchJob {
  std::string model;
  std::string pruned;
  heads::SpeedOptions options = {};
};
struct FindJob {
  std::string model;
  RelationRequest request = {};
  heads::FindOptions options = {};  // by
};
using JobWork = std::variant<TrainJob, ScoreJob, AblateJob, AttributeJob, PatchJob, GatesJob,
                             CurveJob, PruneJob, BenchJob, FindJob>;

// Who listens; calls come from the thread that works.
struct JobListener {
  std::function<void(double share)> progress = {};
  // Of trainings: "train" (event_json; of steps also "seconds_left", of evaluations "sample") and
  // "heads" ({"step", "tokens", "source_tokens", and the map of the probe's heads, with roles that
  // show on repeated texts}).
  std::function<void(std::string_view name, const io::Json& event)> event = {};
  std::function<bool()> interrupted = {};  // asked after each step; true: save and leave
  // How the numbers of pictures are written.
  std::function<io::Json(const tensor::Tensor&)> letters = {};
};

struct JobResult {
  bool interrupted = false;  // then there is nothing else in it
  io::Json result = {};      // what the command's --json says; of a training its last event
  std::string written = {};  // the folder of the model that it became; empty: none
};

// `folder` is there. What an earlier run of the same work has left there is gone on with: a
// training from its last checkpoint to the bits of an uninterrupted one, experiments by their
// finished parts. Throws what the work throws; the folder is then as after an interruption.
JobResult run_job(base::ThreadPool& threads, base::FileSystem& files, const JobWork& work,
                  const std::string& folder, const JobListener& listener);

// Before it is run: that its words mean something, and what can be told without data. Throws
// Error(usage) and Error(bad_input).
void check_job(base::FileSystem& files, const JobWork& work);

}  // namespace headlight::recipes
