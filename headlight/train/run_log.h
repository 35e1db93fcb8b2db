// The record of a run: log.jsonl, an event a line, and the points of its curves.
#pragma once

#include <string>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::train {

struct LogPoint {
  int64_t step = 0;
  double loss = 0;
};

class RunLog {
 public:
  // Lines that stand in the folder's log up to `last_step` are kept, but not that it was done.
  // Throws Error(bad_input) with the line that is no event.
  RunLog(base::FileSystem& files, const std::string& folder, int64_t last_step);

  // An event: an object with "event" and "step"; "train_loss" and "valid_loss" become points.
  void add(const io::Json& event);
  // Writes log.jsonl and curves.svg.
  void save();

  const std::vector<LogPoint>& training() const noexcept { return training_; }
  const std::vector<LogPoint>& validation() const noexcept { return validation_; }

 private:
  base::FileSystem& files_;
  std::string folder_;
  std::string lines_;
  std::vector<LogPoint> training_, validation_;
};

}  // namespace headlight::train
