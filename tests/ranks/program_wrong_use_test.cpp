// What is wrong with a run of several ranks is told once, in one line, with its exit code.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/ranks/program_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

// Wrong uses are launched together, as mpirun mostly waits, and looked at when all are over.
class WrongUseOfRanks : public ProgramOnRanks {
 protected:
  struct Use {
    std::string name;
    std::unique_ptr<LaunchedRanks> run;
    int code = 0;
    std::string part;
  };

  void SetUp() override {
    ProgramOnRanks::SetUp();
    if (!IsSkipped()) small_gpt(folder_);
  }

  // A run that is as wrong as what it is given, into a folder that is not there.
  Words training(const Words& more = {}) const {
    return small_reverser(4) + into(folder_ / ("new-" + std::to_string(uses_.size()))) + more;
  }
  void expect(const std::string& name, int ranks, const Words& arguments, int code,
              const std::string& part) {
    launch(name, quiet_ranks(ranks), Words{launched_program()} + arguments, code, part);
  }
  // One rank each, with words of mpirun's before its program.
  void expect_of_two(const std::string& name, const std::array<Words, 2>& launched,
                     const std::array<Words, 2>& arguments, int code, const std::string& part) {
    const Words program = {launched_program()};
    launch(name, quiet_ranks(1, launched[0]),
           program + arguments[0] + Words{":", "-n", "1"} + launched[1] + program + arguments[1],
           code, part);
  }
  void launch(const std::string& name, const RankOptions& options, const Words& command, int code,
              const std::string& part) {
    uses_.push_back({name, std::make_unique<LaunchedRanks>(command, options), code, part});
    if (uses_.size() % 8 == 0) finish();
  }
  void finish() {
    for (Use& use : uses_) {
      if (use.run == nullptr) continue;
      SCOPED_TRACE(use.name);
      expect_one_line(use.run->finish(), use.code, use.part);
      EXPECT_TRUE(use.run->wait_until_ranks_are_gone(kPatience));
      use.run.reset();
    }
  }
  void TearDown() override {
    finish();
    // Nothing was begun.
    for (size_t i = 0; i < uses_.size(); ++i) {
      EXPECT_FALSE(fs::exists(folder_ / ("new-" + std::to_string(i)))) << uses_[i].name;
    }
  }

  const TemporaryFolder folder_;
  std::vector<Use> uses_;
};

// By which glibc leaves these instructions aside.
constexpr const char* kOlderCosines = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4";

// As any program sees it: awk's are those of the C library.
bool has_cosines_of_two_kinds() {
  const Words cosines = {"awk",
                         "BEGIN { for (i = 1; i < 400; ++i) printf \"%.17g\\n\", "
                         "cos(0.0107 * i) * 0.999 ^ i }"};
  Process usual(cosines), older(cosines, {kOlderCosines});
  return usual.finish().output != older.finish().output;
}

TEST_F(WrongUseOfRanks, in_their_number_is_told) {
  expect("three ranks", 3, training(), 2, "ranks (3): their number must be a power of two");
  expect("three shards", 2, training({"--shards", "3"}), 2,
         "--shards: is 3, it must be a power of two");
  expect("fewer shards than ranks", 4, training({"--shards", "2"}), 2, "--shards (2): there are 4");
}

TEST_F(WrongUseOfRanks, in_what_is_typed_is_told_once) {
  expect("an unknown option", 2, training({"--bathc_size", "3"}), 2, "--bathc_size");
  expect("no time at all", 2, training({"--rank-timeout", "0"}), 2, "--rank-timeout (\"0\")");
  expect("no number", 2, training({"--rank-timeout", "nan"}), 2, "--rank-timeout (\"nan\")");
  expect("a text", 2, training({"--rank-timeout", "soon"}), 2, "--rank-timeout (\"soon\")");
  expect("an unknown command", 2, {"tarin"}, 2, "unknown command");
  expect("no folder", 2, small_reverser(4), 2, "--out: is missing");
  expect("a command that runs alone", 2, {"generate", "numbers"}, 2, "generate (2 ranks)");
  expect("no command", 2, {}, 2, "ranks (2 ranks)");
}

TEST_F(WrongUseOfRanks, in_options_that_differ_names_them) {
  const Words both = training();
  expect_of_two("other seeds", {}, {both, both + Words{"--seed", "3"}}, 2, "seed is 3");
  expect_of_two("other widths", {}, {training({"--d_ff", "8"}), training({"--d_ff", "16"})}, 2,
                "d_ff is 16");
  expect_of_two("other commands", {}, {training(), {"generate", "numbers"}}, 2, "generate");
  expect_of_two("only one resumes", {}, {training(), training({"--resume"})}, 2, "resume is true");
}

TEST_F(WrongUseOfRanks, in_commands_that_differ_is_told) {
  expect_of_two("a question", {}, {training(), {"--version"}}, 2, "the command is none --version");
  expect_of_two("help", {}, {training(), training({"--help"})}, 2, "the command is train --help");
  expect_of_two("other work", {}, {training(), {"evaluate", "numbers", "--task", "numbers"}}, 2,
                "the command is evaluate");
  const Words bench = {"bench", "--only", "mpi-exchange", "--threads", "1"};
  expect_of_two("other efforts", {}, {bench, bench + Words{"--quick"}}, 2, "--quick is given");
}

TEST_F(WrongUseOfRanks, in_evaluations_that_differ_is_told) {
  folder_.put("pairs.tsv", "When you play\tyou win or you die\n");
  const Words both = {"evaluate", "thrones", "--data", folder_ / "pairs.tsv", "--threads", "1"};
  expect_of_two("other searches", {}, {both, both + Words{"--beam", "8"}}, 2, "beam");
  expect_of_two("another environment", {Words{}, Words{"-x", "HEADLIGHT_BEAM=8"}}, {both, both}, 2,
                "beam");
  folder_.put("other.tsv", "When you play\tyou die\n");
  const Words score = {"heads", "score", "thrones", "--threads", "1", "--data"};
  expect_of_two("other data of heads", {},
                {score + Words{folder_ / "pairs.tsv"}, score + Words{folder_ / "other.tsv"}}, 3,
                "the checksum of data is");
}

// The last one is another program, which never comes.
TEST_F(WrongUseOfRanks, in_programs_that_do_not_come_together_is_told_once) {
  const Words sleeping = {":", "-n", "1", "sleep", "30"};
  const Words program = {launched_program()};
  const std::string part = "ranks: they have not come together for 3 s";
  launch("the option", quiet_ranks(3), program + training({"--rank_timeout", "3"}) + sleeping, 1,
         part);
  launch("the environment", quiet_ranks(3, {"-x", "HEADLIGHT_RANK_TIMEOUT=3"}),
         program + training() + sleeping, 1, part);
  launch("the first one sleeps", quiet_ranks(1),
         Words{"sleep", "30", ":", "-n", "3"} + program + training({"--rank-timeout=3"}), 1, part);
}

// One rank has it, and another tells it.
TEST_F(WrongUseOfRanks, in_a_long_path_is_told_with_its_reason) {
  std::string path = "data";
  for (int i = 0; i < 6; ++i) path += "/" + std::string(199, 'd');
  const Words evaluation = {"evaluate", "stories", "--threads", "1", "--data"};
  expect_of_two("a long path", {},
                {evaluation + Words{folder_ / "text.txt"}, evaluation + Words{path}}, 3,
                "ddd): No such file or directory");
}

TEST_F(WrongUseOfRanks, in_data_that_differ_is_told) {
  for (const char* host : {"one", "other", "none"}) fs::create_directory(folder_ / host);
  const std::string text = folder_.get("text.txt");
  folder_.put("one/text.txt", text);
  folder_.put("other/text.txt", text + "and one more sentence.\n");
  const Words words = {"train", "--task", "lm", "--data", "text.txt", "--preset", "tiny"};
  const auto in = [&](const char* host) { return Words{"-wdir", folder_ / host}; };
  const auto both = [&] { return words + into(folder_ / ("new-" + std::to_string(uses_.size()))); };
  expect_of_two("other data", {in("one"), in("other")}, {both(), both()}, 3,
                "the checksum of its data");
  expect_of_two("no data", {in("one"), in("none")}, {both(), both()}, 3, "text.txt");
}

// Two hosts whose folders of the same name hold other files.
class WrongFilesOfRanks : public WrongUseOfRanks {
 protected:
  void SetUp() override {
    WrongUseOfRanks::SetUp();
    if (IsSkipped()) return;
    for (const char* host : {"one", "other"}) {
      fs::create_directory(folder_ / host);
      fs::copy_file(folder_ / "text.txt", folder_ / host + "/text.txt");
    }
  }
  // A model for both hosts to start from, alike so far.
  void give_start(const Words& training) const {
    ASSERT_EQ(run_alone(training + into(folder_ / "one/start")).code, 0);
    copy_to_other("start");
  }
  void copy_to_other(const std::string& name) const {
    fs::copy(folder_ / "one/" + name, folder_ / "other/" + name, fs::copy_options::recursive);
  }
  // Each of the two texts for the other, in a file of the second host.
  void swap_in(const std::string& file, const std::string& first, const std::string& second) const {
    const std::string text = folder_.get("other/" + file);
    std::string swapped;
    for (size_t at = 0; at < text.size();) {
      const bool is_first = text.compare(at, first.size(), first) == 0;
      const bool is_second = !is_first && text.compare(at, second.size(), second) == 0;
      swapped += is_first ? second : is_second ? first : text.substr(at, 1);
      at += is_first ? first.size() : is_second ? second.size() : 1;
    }
    ASSERT_NE(swapped, text);
    folder_.put("other/" + file, swapped);
  }
  std::array<Words, 2> hosts() const {
    return {Words{"-wdir", folder_ / "one"}, Words{"-wdir", folder_ / "other"}};
  }
  static Words starting(const std::string& task) {
    return {"train", "--task",       task, "--data",      "text.txt", "--init",
            "start", "--batch_size", "4",  "--max_iters", "2"};
  }
};

TEST_F(WrongFilesOfRanks, in_the_configuration_of_the_first_model_are_told) {
  give_start(small_gpt(folder_, 2));
  swap_in("start/config.json", "\"n_head\":2", "\"n_head\":4");
  const Words both = starting("lm") + into(folder_ / "new-0");
  expect_of_two("other heads", hosts(), {both, both}, 3, "the checksum of its first model");
}

TEST_F(WrongFilesOfRanks, in_the_special_tokens_are_told) {
  give_start(small_encoder(folder_, 2));
  swap_in("start/tokenizer.json", "[MASK]", "[UNK]");
  const Words both = starting("mlm") + into(folder_ / "new-0");
  expect_of_two("other tokens", hosts(), {both, both}, 3, "the checksum of its tokenizer");
}

// The folder of the run, which holds a model of the same shape, is the first rank's alone.
TEST_F(WrongFilesOfRanks, that_a_run_started_from_are_missed_by_all) {
  give_start(small_gpt(folder_, 2));
  const Words one = {launched_program()};
  const Words both = one + starting("lm") + into("run");
  const ProcessRun begun =
      run_ranks(Words(both) + Words{":", "-n", "1", "-wdir", folder_ / "other"} + both,
                quiet_ranks(1, {"-wdir", folder_ / "one"}));
  ASSERT_EQ(begun.code, 0) << begun.errors;
  fs::rename(folder_ / "one/start", folder_ / "one/gone");
  const Words on = {"train", "--resume", "--max_iters", "4", "--out", "run", "--threads", "1"};
  expect_of_two("missed by the first", hosts(), {on, on}, 3, "every machine needs it");
  finish();
  fs::rename(folder_ / "other/start", folder_ / "other/gone");
  expect_of_two("missed by both", hosts(), {on, on}, 3, "every machine needs it");
  finish();
  const ProcessRun seen = run_ranks(one + on, quiet_ranks(2, {"-wdir", folder_ / "one"}));
  EXPECT_EQ(seen.code, 0) << seen.errors;
}

// Without some instructions the C library rounds a few cosines otherwise.
TEST_F(WrongUseOfRanks, in_cosines_that_differ_is_told) {
  if (!has_cosines_of_two_kinds()) GTEST_SKIP() << "this processor computes them in one way";
  const Words both = training();
  expect_of_two("other cosines", {Words{"-x", kOlderCosines}, Words{}}, {both, both}, 1,
                "the checksum of its cosines and powers is");
}

TEST_F(WrongUseOfRanks, in_machines_that_differ_is_told) {
  const Words both = training();
  expect_of_two("other instructions", {Words{"-x", "HEADLIGHT_SIMD=sse4"}, Words{}}, {both, both},
                1, "the instruction set is");
  fs::create_directory(folder_ / "changed");
  const std::string changed = folder_ / "changed/headlight";
  fs::copy_file(launched_program(), changed);
  std::ofstream(changed, std::ios::app) << "x";
  fs::copy_file(fs::path(launched_program()).parent_path() / "libheadlight_mpi.so",
                folder_ / "changed/libheadlight_mpi.so");
  const Words again = training();
  launch("another program", quiet_ranks(1),
         Words{launched_program()} + again + Words{":", "-n", "1", changed} + again, 1,
         "every machine needs the same build");
}

// Each in a copy of a run: two at a time would find it locked.
TEST_F(WrongUseOfRanks, in_folders_is_told) {
  ASSERT_EQ(run_on(2, small_reverser(4) + Words{"--shards", "2"} + into(folder_ / "run")).code, 0);
  const TrainedFiles before = trained_files(folder_ / "run", 4);
  std::vector<std::string> copies;
  const auto copy = [&] {
    copies.push_back(folder_ / ("copy-" + std::to_string(copies.size())));
    fs::copy(folder_ / "run", copies.back(), fs::copy_options::recursive);
    return copies.back();
  };
  const auto resumed = [&](const Words& more) {
    return Words{"train", "--resume", "--max_iters", "8"} + into(copy()) + more;
  };
  expect("a folder that is there", 2, small_reverser(4) + into(copy()), 3, "is there already");
  expect("more ranks than shards", 4, resumed({}), 3, "there are 4 ranks");
  expect("another width", 2, resumed({"--n_embd", "32"}), 3, "n_embd");
  expect("other shards", 2, resumed({"--shards", "4"}), 3, "shards");
  expect("a run that is not there", 2,
         {"train", "--resume", "--out", folder_ / ("new-" + std::to_string(uses_.size()))}, 3,
         "there is no run to go on with");
  expect("steps that are past", 2, Words{"train", "--resume", "--max_iters", "2"} + into(copy()), 3,
         "is past it already");
  finish();
  for (const std::string& folder : copies) EXPECT_TRUE(trained_files(folder, 4) == before);
}

class ProgramWithoutMpi : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

void expect_names_the_package(const ProcessRun& run) {
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(own_lines(run.errors).size(), 1u) << run.errors;
  EXPECT_NE(run.errors.find("libopenmpi"), std::string::npos) << run.errors;
}

TEST_F(ProgramWithoutMpi, names_the_package_where_a_launcher_has_started_it) {
  fs::copy_file(launched_program(), folder_ / "headlight");
  for (const char* size : {"OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=2"}) {
    Process process(Words{folder_ / "headlight"} + small_reverser(4) + into(folder_ / "run"),
                    {size});
    expect_names_the_package(process.finish());
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
}

// With MPI it would have the shards of a launcher, so other bits.
TEST_F(ProgramWithoutMpi, does_not_work_alone_where_a_launcher_has_started_it_alone) {
  fs::copy_file(launched_program(), folder_ / "headlight");
  const std::vector<std::vector<std::string>> launchers = {
      {"PMI_SIZE=1", "PMI_RANK=0"},
      {"PMIX_RANK=0", "SLURM_STEP_NUM_TASKS=1"},
      {"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0"}};
  for (const std::vector<std::string>& set : launchers) {
    Process process(Words{folder_ / "headlight"} + small_reverser(4) + into(folder_ / "run"), set);
    expect_names_the_package(process.finish());
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
}

TEST_F(ProgramWithoutMpi, names_the_variable_that_may_have_been_left_behind) {
  fs::copy_file(launched_program(), folder_ / "headlight");
  Process process({folder_ / "headlight", "--version"}, {"OMPI_COMM_WORLD_SIZE=4"});
  const ProcessRun run = process.finish();
  expect_names_the_package(run);
  EXPECT_NE(run.errors.find("or unset OMPI_COMM_WORLD_SIZE"), std::string::npos) << run.errors;
}

// Each would train the same model by itself.
TEST_F(ProgramWithoutMpi, does_not_train_where_srun_has_started_it_more_than_once) {
  const std::vector<std::string> srun = {"SLURM_PROCID=1", "SLURM_NTASKS=2",
                                         "SLURM_STEP_NUM_TASKS=2"};
  expect_one_line(run_alone(small_reverser(4) + into(folder_ / "run"), srun), 2,
                  "train (srun): has started 2 processes");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  EXPECT_EQ(run_alone({"--version"}, srun).code, 0);
  EXPECT_EQ(run_alone({"tokenize", "numbers", "--text", "two"}, srun).code, 0);
  // In a batch script, outside of srun.
  const std::vector<std::string> batch = {"SLURM_PROCID=0", "SLURM_NTASKS=2"};
  EXPECT_EQ(run_alone(small_reverser(4) + into(folder_ / "run"), batch).code, 0);
}

TEST_F(ProgramOnRanks, that_have_no_mpi_name_the_package_each) {
  const TemporaryFolder folder;
  fs::copy_file(launched_program(), folder / "headlight");
  const ProcessRun run = run_ranks(
      Words{folder / "headlight"} + small_reverser(4) + into(folder / "run"), quiet_ranks(2));
  EXPECT_EQ(run.code, 1);
  const std::vector<std::string> lines = own_lines(run.errors);
  EXPECT_GE(lines.size(), 1u) << run.errors;
  for (const std::string& line : lines) {
    EXPECT_NE(line.find("libopenmpi-dev"), std::string::npos) << line;
  }
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// What a launcher would set, without one: MPI knows of one process, or cannot begin.
TEST_F(ProgramOnRanks, that_nobody_has_launched_do_not_train) {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=2"}) {
    SCOPED_TRACE(size);
    const TemporaryFolder folder;
    const ProcessRun run =
        run_alone(small_reverser(4) + into(folder / "run"),
                  {size, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
    expect_one_line(run, 1, "MPI (1 ranks): the launcher has started 2");
    const std::string variable(size, std::strchr(size, '='));
    EXPECT_NE(run.errors.find("or unset " + variable), std::string::npos) << run.errors;
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
}

TEST_F(ProgramOnRanks, answer_once_what_is_asked) {
  const ProcessRun version = run_on(4, {"--version"});
  EXPECT_EQ(version.code, 0) << version.errors;
  EXPECT_EQ(version.output, run_alone({"--version"}).output);
  const ProcessRun help = run_on(2, {"train", "--help"});
  EXPECT_EQ(help.code, 0) << help.errors;
  EXPECT_EQ(help.output, run_alone({"train", "--help"}).output);
  EXPECT_EQ(version.errors + help.errors, "");
}

// One rank is no run of several.
TEST_F(ProgramOnRanks, may_be_one_for_any_command) {
  const ProcessRun run = run_on(1, {"tokenize", "numbers", "--text", "two"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, run_alone({"tokenize", "numbers", "--text", "two"}).output);
}

TEST(Program, has_no_symbol_of_mpi) {
  if (program_in_path("readelf").empty()) GTEST_SKIP() << "readelf is not installed";
  Process needed({"readelf", "--wide", "-d", launched_program()});
  const std::string libraries = needed.finish().output;
  EXPECT_NE(libraries.find("NEEDED"), std::string::npos) << libraries;
  EXPECT_EQ(libraries.find("mpi"), std::string::npos) << libraries;
  Process symbols({"readelf", "--wide", "--dyn-syms", launched_program()});
  const std::string names = symbols.finish().output;
  EXPECT_NE(names.find("dlopen"), std::string::npos);
  EXPECT_EQ(names.find("MPI_"), std::string::npos);
}

// Asks /proc while it trains.
TEST(Program, loads_no_mpi_where_no_launcher_has_started_it) {
  const TemporaryFolder folder;
  Process process(Words{launched_program()} + small_reverser(100'000) + into(folder / "run"));
  ASSERT_TRUE(wait_until(Milliseconds(20'000), [&] { return saved_step(folder / "run") > 0; }));
  std::ifstream file("/proc/" + std::to_string(process.id()) + "/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(maps.find("libc.so"), std::string::npos);
  for (const char* library : {"libmpi", "libheadlight_mpi", "libopen-pal"}) {
    EXPECT_EQ(maps.find(library), std::string::npos) << maps;
  }
  process.send(SIGKILL);
}

}  // namespace
}  // namespace headlight::test
