// `headlight bench`: this machine's limits and how close the engine gets.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/cli/bench/machine.h"
#include "apps/cli/bench/ranks.h"
#include "apps/cli/bench/work.h"
#include "apps/cli/program/arguments.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kBenchExamples =
    R"(  headlight bench --quick
      limits, matrix products and attention in a few seconds
  headlight bench --only attention --json > bench.json
      only what is called attention-...
  headlight bench --only limits --simd avx2 --threads 1
      what one core can do without AVX-512
  mpirun -n 2 headlight bench --only mpi --threads 1
      what lies between two ranks, and training steps that they share

The limit is the highest of the probes before, between and after the work, in
the same run. Causal attention counts half the square, a backward twice its
forward; decoding is a share of the read limit. Shapes: rows x depth x columns;
batch x tokens x width x heads; batch x tokens of a training step.
)";

constexpr Option kBenchOptions[] = {
    {"quick", "", "fewer repeats: under 20 seconds"},
    {"only", "NAME",
     "one kind of work: limits, matmul, attention, train, decode, mpi, or a full name"},
    {"shards", "S", "with --only mpi: runs of a step's sequences (default: max(8, ranks))"},
    kRankTimeout,
};

struct Effort {
  int rounds;
  size_t read_floats;
};
constexpr Effort kThorough = {20, size_t{1} << 28};
constexpr Effort kQuick = {3, size_t{1} << 27};

struct Limits {
  double operations = 0;  // per second
  double bytes = 0;       // per second

  void probe_operations(const kernels::Execution& execution) {
    operations = std::max(operations, kernels::multiply_add_limit(execution));
  }
  void probe_bytes(const kernels::Execution& execution, const tensor::Tensor& memory) {
    const auto size = static_cast<size_t>(memory.elements());
    bytes = std::max(bytes, kernels::read_limit(execution, {memory.data<float>(), size}));
  }
};

struct Measured {
  std::string name;
  Work work;
  int calls = 1;  // per timing
  std::vector<double> seconds = {};

  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double median() const { return median_of(seconds); }
  double rate() const { return work.operations / median(); }
  // Of what bounds the work, when it takes this long.
  double share(double seconds_taken, const Limits& limits) const;
};

double Measured::share(double seconds_taken, const Limits& limits) const {
  return work.bytes > 0 ? work.bytes / seconds_taken / limits.bytes
                        : work.operations / seconds_taken / limits.operations;
}

double seconds_of(const Measured& measured) {
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < measured.calls; ++call) measured.work.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / measured.calls;
}

bool is_called(std::string_view name, std::string_view asked) {
  return name == asked || (name.starts_with(asked) && name.substr(asked.size()).starts_with('-'));
}

// Cases that --only leaves, all when it is not given.
std::vector<WorkCase> chosen_cases(const Arguments& arguments) {
  std::vector<WorkCase> cases = bench_cases();
  const auto asked = arguments.text("only");
  if (!asked) return cases;
  std::vector<std::string_view> names = {"limits", "matmul", "attention", "train", "decode", "mpi"};
  for (const WorkCase& entry : cases) names.push_back(entry.name);
  const bool is_known =
      std::ranges::any_of(names, [&](std::string_view name) { return is_called(name, *asked); });
  if (!is_known) {
    throw base::Error(base::ErrorKind::usage, arguments.source("only"), io::in_quotes(*asked),
                      "no work is called so; kinds of work are limits, matmul, attention, train, "
                      "decode and mpi" +
                          base::nearest_hint(*asked, names));
  }
  std::erase_if(cases, [&](const WorkCase& entry) { return !is_called(entry.name, *asked); });
  return cases;
}

// How far a measurement is, told by the work at hand.
class BenchProgress {
 public:
  BenchProgress(const Session& session, size_t cases, int rounds)
      : session_(session),
        steps_(static_cast<double>(cases) * (rounds + 2)),  // two calls that prepare
        progress_(session, command_text(session, "command.progress.preparing")) {}

  void begin(const std::string& name, int calls) {
    progress_.reached(done_ / steps_);
    progress_.now(command_text(session_, "command.progress.measuring", {{"name", name}}));
    done_ += calls;
  }

 private:
  const Session& session_;
  double steps_;
  double done_ = 0;
  Progress progress_;
};

std::vector<Measured> prepare(const std::vector<WorkCase>& cases,
                              const kernels::Execution& execution, uint64_t seed,
                              BenchProgress& progress) {
  std::vector<Measured> all;
  for (const WorkCase& entry : cases) {
    progress.begin(entry.name, 2);
    Measured& measured =
        all.emplace_back(Measured{.name = entry.name, .work = entry.make(execution, seed)});
    seconds_of(measured);  // the first call takes memory from the system
    const double seconds = seconds_of(measured);
    measured.calls = static_cast<int>(std::max(1.0, std::ceil(kShortestTiming / seconds)));
  }
  return all;
}

// Rounds of everything, so that a slow minute of the machine falls on all alike.
Limits measure(const Effort& effort, const kernels::Execution& execution, BenchProgress& progress,
               std::vector<Measured>& all) {
  const tensor::Tensor memory = tensor::Tensor::zeros(execution.arena, tensor::DType::f32,
                                                      {static_cast<int64_t>(effort.read_floats)});
  Limits limits;
  limits.probe_operations(execution);
  limits.probe_bytes(execution, memory);
  for (int round = 1; round <= effort.rounds && !all.empty(); ++round) {
    for (Measured& measured : all) {
      progress.begin(measured.name, 1);
      measured.seconds.push_back(seconds_of(measured));
    }
    limits.probe_operations(execution);
  }
  limits.probe_bytes(execution, memory);
  return limits;
}

std::string bench_text(const narrate::Catalogue& catalogue, const Limits& limits,
                       const std::vector<Measured>& all, int threads) {
  const int64_t width = columns_of_table();
  const auto number = [&](double value, int digits) {
    return narrate::with_decimal(fixed_text(value, digits), catalogue.decimal());
  };
  const std::string text =
      machine_text(catalogue, threads, width) +
      labelled(catalogue.text("bench.limit"),
               catalogue.text("bench.limits", {{"operations", number(limits.operations / 1e9, 1)},
                                               {"bytes", number(limits.bytes / 1e9, 1)}}),
               width);
  if (all.empty()) return text;
  std::vector<std::vector<std::string>> lines = {
      {catalogue.text("bench.work"), catalogue.text("bench.median"), catalogue.text("bench.best"),
       "GFLOP/s", catalogue.text("bench.of_limit")}};
  for (const Measured& measured : all) {
    const char* share = measured.work.bytes > 0 ? "bench.share_of_read" : "bench.share";
    lines.push_back(
        {measured.name, number(measured.median() * 1e3, 3), number(measured.best() * 1e3, 3),
         number(measured.rate() / 1e9, 1),
         catalogue.text(share,
                        {{"share", number(100 * measured.share(measured.median(), limits), 1)}})});
  }
  return text + "\n" + narrate::table_of_numbers(lines, width);
}

io::Json document(const Limits& limits, const std::vector<Measured>& all, int threads) {
  using Object = io::Json::Object;
  io::Json::Array work;
  for (const Measured& measured : all) {
    work.emplace_back(Object{{"name", measured.name},
                             {"operations", measured.work.operations},
                             {"timings", measured.seconds.size()},
                             {"median_seconds", measured.median()},
                             {"best_seconds", measured.best()},
                             {"gflops", measured.rate() / 1e9},
                             {"share", measured.share(measured.median(), limits)},
                             {"best_share", measured.share(measured.best(), limits)},
                             {"bound", measured.work.bytes > 0 ? "read" : "multiply_add"}});
  }
  return Object{{"machine", machine_json(threads)},
                {"version", HEADLIGHT_VERSION},
                {"limits", Object{{"multiply_add_gflops", limits.operations / 1e9},
                                  {"read_gb_per_second", limits.bytes / 1e9}}},
                {"work", std::move(work)}};
}

void check_alone(const Session& session) {
  if (session.ranks != nullptr && !session.ranks->group().is_alone()) {
    throw base::Error(base::ErrorKind::usage, "bench",
                      std::to_string(session.ranks->group().count()) + " ranks",
                      "on several ranks only --only mpi is measured; start the rest without a "
                      "launcher");
  }
  if (session.arguments.has("shards")) {
    throw base::Error(base::ErrorKind::usage, session.arguments.source("shards"), "",
                      "is for --only mpi");
  }
}

void run_bench(Session& session) {
  if (asks_for_ranks(session.arguments.text("only").value_or(""))) return run_rank_bench(session);
  check_alone(session);
  const std::vector<WorkCase> cases = chosen_cases(session.arguments);
  const Effort& effort = session.arguments.has("quick") ? kQuick : kThorough;
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  const kernels::Execution execution{threads, arena};
  std::optional<BenchProgress> progress;
  progress.emplace(session, cases.size(), effort.rounds);
  std::vector<Measured> all = prepare(cases, execution, session.seed, *progress);
  const Limits limits = measure(effort, execution, *progress, all);
  progress.reset();
  session.output.write(session.json
                           ? io::json_text(document(limits, all, threads.size())) + "\n"
                           : bench_text(narrate::Catalogue::of(chosen_language(session.arguments)),
                                        limits, all, threads.size()));
}

}  // namespace

const Command kBench = {.name = "bench",
                        .summary = "this machine's limits and how close the engine gets",
                        .examples = kBenchExamples,
                        .options = kBenchOptions,
                        .run = run_bench,
                        .runs_on_ranks = true};

}  // namespace headlight::cli
