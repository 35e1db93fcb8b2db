// What a run tells while it goes: JSON lines, a block on a terminal, or plain lines; and its log.
#pragma once

#include <chrono>
#include <string>

#include "apps/cli/program.h"
#include "headlight/recipes/recipes.h"
#include "headlight/train/train.h"

namespace headlight::cli {

class TrainReport {
 public:
  TrainReport(Session& session, const recipes::TrainSettings& settings, const std::string& folder,
              int64_t first_step);

  void start(const io::Json::Object& facts);
  void step(const train::StepResult& result);
  // `sample`, when not empty, is what the model writes now.
  void evaluation(int64_t step, double valid_loss, const std::string& sample);
  // The log is on the disk before its checkpoint: lines behind a checkpoint are dropped when a run
  // is resumed, lines that are missing could not be had again.
  void saving(int64_t step);
  void checkpoint(int64_t step);
  void done(const io::Json::Object& facts);

 private:
  void add(std::string_view event, int64_t step, io::Json::Object facts);
  void print(const io::Json& event);
  void say(const std::string& line);
  void draw(const train::StepResult& result, double loss);
  double tokens_per_second() const;

  Session& session_;
  const recipes::TrainSettings& settings_;
  train::RunLog log_;
  bool is_quiet_ = false;
  // Since the last line of the log.
  double loss_sum_ = 0;
  int64_t steps_ = 0;
  // Of the whole session.
  int64_t tokens_ = 0;
  double seconds_ = 0;
  int64_t first_step_ = 0;
  std::vector<double> losses_;  // for the sparkline
  std::chrono::steady_clock::time_point drawn_ = {};
};

}  // namespace headlight::cli
