// ExperimentState: what a long experiment has finished so far, in a file of its folder, so that an
// interrupted one goes on where it was.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "headlight/io/io.h"
#include "headlight/models/models.h"
#include "headlight/ranks/ranks.h"
#include "headlight/recipes/run_lock.h"

namespace headlight::recipes {

inline constexpr std::string_view kExperimentFile = "experiment.json";

struct ExperimentRequest {
  std::string folder = {};  // empty: nothing is kept
  bool resume = false;
  // What results depend on, by name: another experiment has another request.
  io::Json::Object request = {};
  // Several ranks run the experiment: the first one has the folder, and tells the others what is
  // finished in it. Null: one process alone.
  ranks::Group* group = nullptr;
};

// Finished parts by name. The file is {"experiment": 1, "request": {...}, "finished": {name:
// result}}; it is whole at any time. One process at a time has the folder.
class ExperimentState {
 public:
  // Makes the folder. Throws Error(bad_input) when something is there already and it is not to be
  // resumed, when there is no experiment to go on with in a folder that is there, and when that had
  // another request.
  ExperimentState(base::FileSystem& files, ExperimentRequest request);

  // What a part has given; nothing when it is not finished.
  const io::Json* find(const std::string& name) const;
  // Saved now and then; save() is for the end and for interruptions.
  void add(const std::string& name, io::Json result);
  void save();
  // Takes the folder away: what it was for is done.
  void remove();
  // Empty: nothing is kept by this process.
  const std::string& folder() const { return request_.folder; }
  size_t finished() const { return finished_.size(); }
  size_t found() const { return found_; }  // of these, from an earlier run

 private:
  void open();
  void read();
  void share(ranks::Group& group);
  std::string path() const { return request_.folder + "/" + std::string(kExperimentFile); }

  base::FileSystem& files_;
  ExperimentRequest request_;
  std::optional<RunLock> lock_;
  std::map<std::string, io::Json> finished_;
  size_t found_ = 0;
  bool is_saved_ = true;
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
};

// 16 hexadecimal digits that change with the model's configuration and its numbers.
std::string model_sum(const models::Model& model);

}  // namespace headlight::recipes
