// What is measured on the ranks of a launcher: how long a word takes between two of them, how many
// bytes pass in a second, and training steps that they share.
#pragma once

#include <optional>
#include <string_view>

#include "apps/cli/bench/training.h"
#include "apps/cli/program/program.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

struct Exchange {
  double latency = 0;         // seconds, of a number from one rank to the next and back
  double reduce_scatter = 0;  // bytes per second that a rank sends, while it receives as many
  double all_gather = 0;
};

struct MeasuredSteps {
  TrainingSize size;
  int64_t parameters = 0;
  std::vector<double> seconds = {};  // of a step, by round: that of the slowest rank
  std::vector<double> waiting = {};  // share of its steps that each rank waited for others
  std::vector<double> peak = {};     // bytes of memory, by rank
};

struct RankBench {
  int ranks = 1;
  int threads = 1;  // of each
  int64_t shards = 1;
  std::optional<Exchange> exchange = {};  // of several
  std::vector<MeasuredSteps> steps = {};
};

// Whether --only means it: "mpi", "mpi-exchange", "mpi-train-gpt2-4x64".
bool asks_for_ranks(std::string_view only);
// The first rank prints. Throws Error(usage) where no launcher has started this process.
void run_rank_bench(Session& session);

// "mpi-train-gpt2-4x64"
std::string on_ranks(const TrainingSize& size);
std::string text_of(const RankBench& bench, const narrate::Catalogue& catalogue);
io::Json json_of(const RankBench& bench);

}  // namespace headlight::cli
