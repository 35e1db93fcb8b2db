// What is told of a run while it goes: JSON lines, a block on a terminal, or plain lines.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "apps/cli/program/program.h"

namespace headlight::cli {

class TrainReport {
 public:
  explicit TrainReport(Session& session);

  // Tells what it hears; the report must outlive it.
  recipes::TrainListener listener();
  void interrupted(int64_t step);

 private:
  void start(const recipes::TrainStart& event);
  void step(const recipes::TrainStep& event);
  void evaluation(const recipes::TrainEvaluation& event);
  void done(const recipes::TrainDone& event);
  void print(const io::Json& event);
  void say(const std::string& line);
  void draw(const recipes::TrainStep& event);

  Session& session_;
  bool is_quiet_ = false;
  std::vector<double> losses_;  // for the sparkline
  std::chrono::steady_clock::time_point drawn_ = {};
};

}  // namespace headlight::cli
