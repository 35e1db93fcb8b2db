// `headlight heads` under mpirun: the bytes of one process alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/heads_pruning.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

class HeadsOnRanks : public HeadsPruning {
 protected:
  void SetUp() override {
    HeadsPruning::SetUp();
    if (std::system("mpirun --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "mpirun is not installed";
    if (!fs::exists(fs::path(program_path()).parent_path() / "libheadlight_mpi.so"))
      GTEST_SKIP() << "the program was built without MPI";
  }

  // `shares`: words of the command line of each group of ranks, as "-n 2 headlight ...".
  ProgramRun launch(const std::string& shares) {
    const std::string output = folder_ / "mpi.out", errors = folder_ / "mpi.err";
    const std::string command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -q --oversubscribe "
        "--bind-to none " +
        shares + " > '" + output + "' 2> '" + errors + "' < /dev/null";
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status),
            .output = folder_.get("mpi.out"),
            .errors = folder_.get("mpi.err")};
  }
  static std::string typed(int ranks, const Words& words) {
    std::string command = "-n " + std::to_string(ranks) + " '" + program_path() + "'";
    for (const std::string& word : words) command += " '" + word + "'";
    return command;
  }
  ProgramRun run_ranks(int ranks, const Words& words) { return launch(typed(ranks, words)); }

  // Every file of a folder with its bytes.
  static std::map<std::string, std::string> files_in(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      files[entry.path().filename().string()] = base::read_all(
          *base::open_input(base::real_files(), entry.path().string()), uint64_t{1} << 30);
    }
    return files;
  }
};

TEST_F(HeadsOnRanks, score_prints_the_same_bytes) {
  const Words words = {"heads", "score", "numbers", "--examples", "80", "--threads", "1"};
  // mpirun gives its ranks a terminal, which is none of ours.
  for (const Words& format : {Words{"--json"}, Words{"--csv"}, Words{}}) {
    const ProgramRun alone = run_program(words + format);
    ASSERT_EQ(alone.code, 0) << alone.errors;
    for (const int ranks : {1, 2, 4}) {
      const ProgramRun run = run_ranks(ranks, words + format);
      EXPECT_EQ(run.code, 0) << run.errors;
      EXPECT_EQ(run.output, alone.output) << ranks;
      EXPECT_EQ(run.errors, "") << ranks;
    }
  }
}

TEST_F(HeadsOnRanks, curve_writes_the_same_folder_and_goes_on_on_any_number_of_ranks) {
  const Words words = curve({"--quiet", "--threads", "1", "--out"});
  const ProgramRun alone = run_program(words + Words{folder_ / "alone"});
  ASSERT_EQ(alone.code, 0) << alone.errors;
  const auto expected = files_in(folder_ / "alone");
  EXPECT_TRUE(expected.contains("experiment.json"));
  EXPECT_TRUE(expected.contains("result.html"));
  const ProgramRun run = run_ranks(4, words + Words{folder_ / "four"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(files_in(folder_ / "four"), expected);
  // What four have begun, two go on with.
  const io::Json state = io::parse_json(folder_.get("four/experiment.json"), "state");
  const io::Json::Object& finished = *state.find("finished")->object();
  for (const auto& [name, bytes] : expected) fs::remove(folder_ / ("four/" + name));
  const io::Json::Object half(finished.begin(),
                              finished.begin() + static_cast<int64_t>(finished.size() / 2));
  folder_.put("four/experiment.json",
              io::json_text(io::Json::Object{
                  {"experiment", 1}, {"request", *state.find("request")}, {"finished", half}}));
  const ProgramRun on = run_ranks(2, words + Words{folder_ / "four", "--resume"});
  EXPECT_EQ(on.code, 0) << on.errors;
  EXPECT_EQ(files_in(folder_ / "four"), expected);
}

TEST_F(HeadsOnRanks, prune_and_gates_write_the_same_models) {
  for (const bool by_gates : {false, true}) {
    const auto words = [&] {
      return by_gates ? gates({"--json", "--quiet", "--threads", "1"})
                      : prune({"--json", "--quiet", "--threads", "1", "--finetune", "3"});
    };
    const auto out = [](const Words& all) { return *(std::ranges::find(all, "--out") + 1); };
    const Words typed_alone = words();
    const ProgramRun alone = run_program(typed_alone);
    ASSERT_EQ(alone.code, 0) << alone.errors;
    for (const int ranks : {2, 4}) {
      const Words typed_here = words();
      const ProgramRun run = run_ranks(ranks, typed_here);
      EXPECT_EQ(run.code, 0) << run.errors;
      EXPECT_EQ(run.output, alone.output);
      EXPECT_EQ(files_in(out(typed_here)), files_in(out(typed_alone))) << ranks;
      EXPECT_FALSE(fs::exists(out(typed_here) + ".unfinished"));
    }
  }
}

TEST_F(HeadsOnRanks, bench_and_wrong_uses_are_told_in_one_line) {
  const ProgramRun bench = run_ranks(2, {"heads", "bench", "numbers", "numbers"});
  expect_one_line(bench, 2, "heads bench (2 ranks): it runs alone");
  const Words score = {"heads", "score", "numbers", "--examples", "8", "--quiet"};
  const ProgramRun seeds = launch(typed(1, score + Words{"--seed", "1"}) + " : " +
                                  typed(1, score + Words{"--seed", "2"}));
  expect_one_line(seeds, 2, "seed is 2");
  const ProgramRun there = run_ranks(2, score + Words{"--out", folder_.path()});
  expect_one_line(there, 3, "is there already");
}

}  // namespace
}  // namespace headlight::test
