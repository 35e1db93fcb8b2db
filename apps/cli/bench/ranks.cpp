// Exchanges through the product's own collectives, and steps of the product's own trainer.
#include "apps/cli/bench/ranks.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>

#include "apps/cli/bench/work.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kKind = "mpi";

struct RankEffort {
  int rounds;
  int words;       // gathered in a row
  int64_t floats;  // of the vector that is added up
};
constexpr RankEffort kThoroughOnRanks = {20, 200, int64_t{1} << 23};
constexpr RankEffort kQuickOnRanks = {3, 50, int64_t{1} << 21};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// From now on the kernel counts the most memory anew; where it may not, it goes on counting.
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double peak_memory() {
  constexpr double kKilobyte = 1024;
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (double number = 0; word == "VmHWM:" && file >> number) return number * kKilobyte;
  }
  return 0;
}

// The median round of work that all ranks do; each round is as long as its slowest rank's.
template <class Work>
double median_seconds(ranks::Group& group, const RankEffort& effort, const Work& work) {
  std::vector<double> rounds;
  for (int round = 0; round <= effort.rounds; ++round) {
    group.any(false);  // all begin at the same time
    const auto start = Clock::now();
    work();
    const double mine = seconds_since(start);
    const std::vector<double> all = group.gather(std::span(&mine, 1));
    if (round > 0) rounds.push_back(*std::ranges::max_element(all));  // the first warms up
  }
  return median_of(rounds);
}

Exchange measure_exchange(const kernels::Execution& execution, ranks::Group& group,
                          const RankEffort& effort) {
  const int levels = std::countr_zero(static_cast<unsigned>(group.count()));
  const double words = median_seconds(group, effort, [&] {
    for (int i = 0; i < effort.words; ++i) group.any(false);
  });
  std::vector<int64_t> ends;
  constexpr int64_t kPart = 1 << 14;
  for (int64_t end = kPart; end <= effort.floats; end += kPart) ends.push_back(end);
  const ranks::Shares shares(ends, group.count());
  std::vector<float> numbers(static_cast<size_t>(effort.floats));
  ranks::Scattered values;
  values.add(numbers);
  const double sent = static_cast<double>(sizeof(float)) *
                      static_cast<double>(effort.floats - shares.of(group.rank()).size());
  const ranks::AddTo add = train::adding_numbers(execution);
  const double sums = median_seconds(group, effort, [&] {
    ranks::reduce_scatter(group, shares, values, add, [](int, int) { return false; });
  });
  const double shared =
      median_seconds(group, effort, [&] { ranks::all_gather(group, shares, values); });
  return {.latency = words / effort.words / levels,
          .reduce_scatter = sent / sums,
          .all_gather = sent / shared};
}

// How many steps make a timing; the same on all ranks.
int calls_of(ranks::Group& group, train::Trainer& trainer) {
  trainer.step();  // the first takes memory from the system
  const double mine = trainer.step().seconds;
  const std::vector<double> all = group.gather(std::span(&mine, 1));
  return static_cast<int>(std::ceil(kShortestTiming / *std::ranges::max_element(all)));
}

MeasuredSteps measure_steps(base::ThreadPool& threads, ranks::Group& group,
                            const TrainingSize& size, int64_t shards, const Session& session,
                            const RankEffort& effort) {
  forget_peak_memory();
  TrainingWork work(threads, size, session.seed, shards, &group);
  MeasuredSteps measured{.size = size};
  for (const nn::ParameterHandle& parameter : work.trainer().model().parameters())
    measured.parameters += parameter->shape().elements();
  const int calls = calls_of(group, work.trainer());
  double all_seconds = 0, all_waiting = 0;
  for (int round = 0; round < effort.rounds; ++round) {
    double seconds = 0;
    for (int call = 0; call < calls; ++call) {
      const train::StepResult step = work.trainer().step();
      seconds += step.seconds;
      all_waiting += step.waiting_seconds;
    }
    all_seconds += seconds;
    measured.seconds.push_back(seconds / calls);
  }
  const std::vector<double> timings = group.gather(measured.seconds);
  for (size_t i = 0; i < timings.size(); ++i) {
    double& slowest = measured.seconds[i % measured.seconds.size()];
    slowest = std::max(slowest, timings[i]);
  }
  const double waiting = all_waiting / all_seconds, peak = peak_memory();
  measured.waiting = group.gather(std::span(&waiting, 1));
  measured.peak = group.gather(std::span(&peak, 1));
  return measured;
}

// The sizes that --only leaves, the smallest model first: so what is left of one in memory does not
// count for the next.
std::vector<TrainingSize> chosen_sizes(const Arguments& arguments) {
  const std::string asked = arguments.text("only").value();
  std::vector<TrainingSize> sizes = training_sizes();
  std::ranges::reverse(sizes);
  std::vector<std::string> names = {std::string(kKind), "mpi-exchange", "mpi-train"};
  for (const TrainingSize& size : sizes) names.push_back(on_ranks(size));
  if (std::ranges::find(names, asked) == names.end()) {
    throw Error(
        ErrorKind::usage, arguments.source("only"), io::in_quotes(asked),
        "no work is called so" +
            base::nearest_hint(asked, std::vector<std::string_view>(names.begin(), names.end())));
  }
  std::erase_if(sizes,
                [&](const TrainingSize& size) { return !on_ranks(size).starts_with(asked); });
  return sizes;
}

int64_t chosen_shards(const Session& session) {
  const int ranks = session.ranks->group().count();
  const int64_t shards = session.arguments.integer("shards", {1, train::kMaxShards})
                             .value_or(train::default_shards(ranks));
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, session.arguments.source("shards"), std::to_string(shards), why);
  };
  if (!train::is_shard_count(shards)) refuse("it must be a power of two");
  if (shards < ranks) refuse(train::why_too_few_shards(ranks));
  return shards;
}

// Ranks that measure different things would wait for each other.
void check_same_bench(const Session& session, int64_t shards) {
  const Arguments& arguments = session.arguments;
  ranks::check_same(session.ranks->group(),
                    {{.name = "--only", .value = arguments.text("only").value()},
                     {.name = "--quick", .value = arguments.has("quick") ? "given" : "not given"},
                     {.name = "--shards", .value = std::to_string(shards)},
                     {.name = "--seed", .value = std::to_string(session.seed)}},
                    ErrorKind::usage);
}

}  // namespace

std::string on_ranks(const TrainingSize& size) { return std::string(kKind) + "-" + size.name; }

bool asks_for_ranks(std::string_view only) {
  return only == kKind || only.starts_with(std::string(kKind) + "-");
}

void run_rank_bench(Session& session) {
  const std::vector<TrainingSize> sizes = chosen_sizes(session.arguments);
  if (session.ranks == nullptr) {
    throw Error(ErrorKind::usage, session.arguments.source("only"), "mpi",
                "is measured between ranks; start them with `mpirun -n 2 " + typed_again("") + "`");
  }
  RankBench bench{.ranks = session.ranks->group().count(),
                  .threads = session.threads,
                  .shards = chosen_shards(session)};
  check_same_bench(session, bench.shards);
  const RankEffort& effort = session.arguments.has("quick") ? kQuickOnRanks : kThoroughOnRanks;
  ranks::Group& group = session.ranks->group();
  base::ThreadPool threads(session.threads);
  std::optional<Progress> progress;
  progress.emplace(session, command_text(session, "command.progress.preparing"));
  if (!group.is_alone()) {
    tensor::Arena arena;
    bench.exchange = measure_exchange({threads, arena}, group, effort);
  }
  for (const TrainingSize& size : sizes) {
    progress->now(command_text(session, "command.progress.measuring", {{"name", on_ranks(size)}}));
    bench.steps.push_back(measure_steps(threads, group, size, bench.shards, session, effort));
  }
  progress.reset();
  session.output.write(
      session.json ? io::json_text(json_of(bench)) + "\n"
                   : text_of(bench, narrate::Catalogue::of(chosen_language(session.arguments))));
}

}  // namespace headlight::cli
