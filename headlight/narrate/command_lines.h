// Lines that commands tell while they work, in a language and within a width: counts and times, a
// training run from its start to its end, the progress of other work. One line each, without its
// end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/narrate/catalogue.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

// "804 K", "1.0 M": as the language shortens large counts.
std::string count_text(const Catalogue& catalogue, double count);
// "1.4 MiB", with the language's decimal sign.
std::string size_text(const Catalogue& catalogue, uint64_t bytes);
// 3725 seconds as 1:02:05.
std::string time_text(double seconds);

// Work that is neither over nor silent: what it is, how far it is (0 to 1) where that is known, and
// how long it has taken. At most `width` columns.
std::string progress_line(const Catalogue& catalogue, const std::string& what,
                          std::optional<double> share, double seconds, int64_t width);

// A command to go on with, and what it does.
struct Suggestion {
  std::string command;
  std::string what;
};
// A heading, and each command with what it does below it, in ended lines of at most `width` columns
// as far as the commands let them.
std::string suggestions_text(const Catalogue& catalogue, const std::vector<Suggestion>& suggestions,
                             int64_t width);

// A training run.
class TrainingLines {
 public:
  TrainingLines(const Catalogue& catalogue, int64_t width) : catalogue_(catalogue), width_(width) {}

  // What will be trained: two lines, more where the width is small.
  std::vector<std::string> start(const recipes::TrainStart& event, const std::string& folder) const;
  // Of several ranks: how the work is shared, and the command that gives the same bytes alone.
  std::vector<std::string> ranks(const recipes::TrainStart& event, const std::string& alone) const;
  // How it goes: the bar gives way first, then the sparkline of `losses`, then the rate.
  std::string step(const recipes::TrainStep& event, const std::vector<double>& losses) const;
  // One line, and a second one with what the model writes now.
  std::vector<std::string> evaluation(const recipes::TrainEvaluation& event) const;

  struct End {
    double seconds = 0;
    std::optional<double> train_loss = {};
    std::string program = {};  // how the program was started
    std::string folder = {};   // of the run
  };
  // Time, losses, and the command to go on with.
  std::vector<std::string> done(const recipes::TrainDone& event, const End& end) const;
  std::vector<std::string> interrupted(int64_t step, const End& end) const;

 private:
  std::string text(std::string_view key, const std::vector<Placeholder>& values) const {
    return catalogue_.text(key, values);
  }
  std::string loss_text(std::string_view key, double loss) const;
  std::string decimal(std::string size) const;  // "1,5 GB"
  std::vector<std::string> in_lines(const std::vector<std::string>& parts) const;
  std::vector<std::string> with_command(const std::string& sentence,
                                        const std::string& command) const;

  const Catalogue& catalogue_;
  int64_t width_;
};

}  // namespace headlight::narrate
