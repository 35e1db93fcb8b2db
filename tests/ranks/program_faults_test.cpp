// Ranks that are killed, told to end, or have no room: one line, all gone, and the last checkpoint
// goes on to the bits of an uninterrupted run on any number of ranks.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "headlight/base/base.h"
#include "headlight/io/io.h"
#include "tests/ranks/program_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSteps = 60;

class FaultsOfRanks : public ProgramOnRanks {
 protected:
  static void SetUpTestSuite() {
    data_ = new TemporaryFolder;
    const ProcessRun run =
        run_alone(small_gpt(*data_, kSteps) + into(*data_ / "whole") + Words{"--shards", "8"});
    ASSERT_EQ(run.code, 0) << run.errors;
    whole_ = trained_files(*data_ / "whole", kSteps);
  }
  static void TearDownTestSuite() {
    delete data_;
    data_ = nullptr;
  }
  void SetUp() override {
    ProgramOnRanks::SetUp();
    if (!IsSkipped() && TestHosts::reason_not_possible().empty()) hosts_.emplace(2);
  }

  const TestHosts* hosts() const { return hosts_ ? &*hosts_ : nullptr; }
  std::string run_folder() const { return folder_ / "run"; }
  Words training(int64_t steps = kSteps) const {
    return small_gpt(*data_, steps) + into(run_folder()) +
           Words{"--resume", "--rank-timeout", "10"};
  }
  std::unique_ptr<LaunchedRanks> launch(int ranks, int64_t steps = kSteps,
                                        const std::vector<std::string>& set = {}) const {
    RankOptions options{.ranks = ranks, .launcher_options = launcher_options()};
    options.set = set;
    return std::make_unique<LaunchedRanks>(Words{launched_program()} + training(steps), options,
                                           hosts());
  }
  virtual Words launcher_options() const { return {}; }
  bool wait_until_saved(int64_t step = 10) const {
    return wait_until(kPatience, [&] { return saved_step(run_folder()) >= step; });
  }

  // Of a run that has lost a rank while it trained.
  static void expect_told(const ProcessRun& run, int lost) {
    EXPECT_FALSE(run.timed_out);
    EXPECT_NE(run.code, 0);
    const std::vector<std::string> lines = own_lines(run.errors);
    ASSERT_EQ(lines.size(), 1u) << run.errors;
    EXPECT_NE(lines[0].find("ranks (rank " + std::to_string(lost) + " "), std::string::npos)
        << lines[0];
    EXPECT_NE(lines[0].find("--resume goes on"), std::string::npos) << lines[0];
  }
  // To the end, on so many ranks. What was half written when the launcher ended all is removed.
  void expect_goes_on(int ranks, int64_t steps = kSteps) const {
    const ProcessRun run = run_on(ranks, training(steps));
    ASSERT_EQ(run.code, 0) << run.errors;
    expect_whole_run(run_folder(), whole_, steps);
  }

  static TemporaryFolder* data_;
  static TrainedFiles whole_;
  TemporaryFolder folder_;
  std::optional<TestHosts> hosts_;
};
TemporaryFolder* FaultsOfRanks::data_ = nullptr;
TrainedFiles FaultsOfRanks::whole_;

class KilledRanks : public FaultsOfRanks {
 protected:
  // mpirun kills a second after it has told ranks to end, which a busy machine may need to tell.
  Words launcher_options() const override { return {"--mca", "odls_base_sigkill_timeout", "2"}; }

  // Kills a random rank of a random number of them at a random moment, each time going on.
  void kill_often(int kills, uint64_t seed) {
    const base::Random random(seed);
    uint64_t drawn = 0;
    const auto draw = [&](int below) {
      return static_cast<int>(random.uniform64(drawn++) * below);
    };
    for (int kill = 0; kill < kills; ++kill) {
      const int ranks = 2 << draw(3);
      const int lost = draw(ranks);
      // While it starts, or while it trains.
      const bool trains = kill % 3 != 0;
      const Milliseconds moment(draw(trains ? 400 : 1500));
      SCOPED_TRACE("kill " + std::to_string(kill) + ": rank " + std::to_string(lost) + " of " +
                   std::to_string(ranks) + " after " + std::to_string(moment.count()) + " ms of " +
                   (trains ? "training" : "starting"));
      if (!kill_one(ranks, lost, moment, trains)) fs::remove_all(run_folder());
      if (HasFailure()) return;
    }
    expect_goes_on(4);
  }

  // False: it was done before.
  bool kill_one(int ranks, int lost, Milliseconds moment, bool trains) {
    const int64_t before = saved_step(run_folder());
    const auto launched = launch(ranks);
    const auto has_begun = [&] {
      return launched->launcher().errors().find("shards of a step") != std::string::npos;
    };
    EXPECT_TRUE(!trains || wait_until(kPatience, has_begun));
    std::this_thread::sleep_for(moment);
    const bool had_begun = has_begun();
    if (!launched->signal_rank(lost, SIGKILL)) {
      EXPECT_EQ(launched->finish().code, 0);
      expect_whole_run(run_folder(), whole_, kSteps);
      return false;
    }
    EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
    const ProcessRun run = launched->finish(had_begun ? kPatience : Milliseconds(8000));
    // mpirun may wait for a rank that died before it had said hello.
    EXPECT_FALSE(run.timed_out && had_begun);
    const bool is_done = run.errors.find("Done in") != std::string::npos;
    // Before that MPI itself may still have been connecting, and after that everybody leaves.
    if (had_begun && !is_done) expect_told(run, lost);
    EXPECT_LE(own_lines(run.errors).size(), 1u) << run.errors;
    EXPECT_GE(saved_step(run_folder()), before);
    return true;
  }

  // Kills the rank before this operation of the first rank's since it began the checkpoint at step
  // 20; false when that at step 30 was there before.
  bool kill_at(int operation, int ranks, int lost) {
    const std::string note = folder_ / "note";
    const auto launched =
        launch(ranks, kSteps,
               {"LD_PRELOAD=" + file_trap(), "TEST_TRAP_FOLDER=" + run_folder(),
                "TEST_TRAP_FROM=/checkpoint/model-20.", "TEST_TRAP_AT=" + std::to_string(operation),
                "TEST_TRAP_NOTE=" + note});
    const auto is_there = [&] {
      return fs::exists(note) || saved_step(run_folder()) >= 30 || launched->launcher().has_ended();
    };
    EXPECT_TRUE(wait_until(kPatience, is_there));
    if (!fs::exists(note) || saved_step(run_folder()) >= 30) return false;
    SCOPED_TRACE("rank " + std::to_string(lost) + " is killed before: " + folder_.get("note"));
    EXPECT_TRUE(launched->signal_rank(lost, SIGKILL));
    fs::remove(note);
    const ProcessRun run = launched->finish();
    EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
    expect_told(run, lost);
    EXPECT_GE(saved_step(run_folder()), 10);
    return true;
  }
  // Each on another number of ranks than before.
  void expect_goes_on_after_kill_at(int operation) {
    SCOPED_TRACE("operation " + std::to_string(operation));
    const int ranks = operation % 2 == 0 ? 2 : 4;
    ASSERT_TRUE(kill_at(operation, ranks, operation % 3 == 2 ? ranks - 1 : 0));
    expect_goes_on(6 - ranks);
    fs::remove_all(run_folder());
  }
};
using LongKilledRanks = KilledRanks;

TEST_F(KilledRanks, at_random_moments_go_on_to_the_same_bits) { kill_often(3, 1); }

TEST_F(LongKilledRanks, at_sixty_random_moments_go_on_to_the_same_bits) {
  for (uint64_t seed = 2; seed < 14 && !HasFailure(); ++seed) {
    kill_often(5, seed);
    fs::remove_all(run_folder());
  }
}

TEST_F(KilledRanks, at_a_file_operation_of_a_checkpoint_go_on_to_the_same_bits) {
  expect_goes_on_after_kill_at(20);
}

TEST_F(LongKilledRanks, at_each_file_operation_of_a_checkpoint_go_on_to_the_same_bits) {
  int operation = 0;
  for (; operation < 400 && !HasFailure(); ++operation) {
    SCOPED_TRACE("operation " + std::to_string(operation));
    const int ranks = operation % 2 == 0 ? 2 : 4;
    const int lost = operation % 3 == 2 ? ranks - 1 : 0;
    if (!kill_at(operation, ranks, lost)) break;
    expect_goes_on(6 - ranks);
    fs::remove_all(run_folder());
  }
  EXPECT_GT(operation, 20);
  EXPECT_LT(operation, 400);
}

TEST_F(LongKilledRanks, go_with_their_launcher) {
  const auto launched = launch(4, 100'000);
  ASSERT_TRUE(wait_until_saved());
  ASSERT_TRUE(launched->signal_launcher(SIGKILL));
  EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
}

class SignalledRanks : public FaultsOfRanks {
 protected:
  // Once something is saved, and after that; checks that all are gone and what was saved is good.
  ProcessRun run_until(const std::function<bool(LaunchedRanks&)>& signal) {
    const auto launched = launch(4, 100'000);
    EXPECT_TRUE(wait_until_saved());
    const int64_t before = saved_step(run_folder());
    EXPECT_TRUE(signal(*launched));
    ProcessRun run = launched->finish(kPatience);
    EXPECT_FALSE(run.timed_out);
    EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
    EXPECT_GE(saved_step(run_folder()), before);
    EXPECT_LT(saved_step(run_folder()), 100'000);
    expect_nothing_half_written(run_folder());
    return run;
  }
  // On another number of ranks to a round step, and there in one go.
  void expect_goes_on_from_there() {
    const int64_t last = (saved_step(run_folder()) / 10 + 2) * 10;
    const ProcessRun on = run_on(2, training(last));
    ASSERT_EQ(on.code, 0) << on.errors;
    const std::string whole = folder_ / "whole";
    ASSERT_EQ(run_alone(small_gpt(*data_, last) + into(whole) + Words{"--shards", "8"}).code, 0);
    expect_whole_run(run_folder(), trained_files(whole, last), last);
  }
  // How often the log has it.
  int times_saved(int64_t step) const {
    std::istringstream log(folder_.get("run/log.jsonl"));
    int times = 0;
    for (std::string line; std::getline(log, line);) {
      const io::Json event = io::parse_json(line, "log");
      times +=
          *event.find("event")->text() == "checkpoint" && *event.find("step")->integer() == step;
    }
    return times;
  }
};

TEST_F(SignalledRanks, save_once_when_their_launcher_passes_the_wish_on) {
  const ProcessRun run = run_until([](LaunchedRanks& all) { return all.signal_launcher(SIGUSR1); });
  EXPECT_EQ(run.code, 130) << run.errors;
  EXPECT_EQ(times_saved(saved_step(run_folder())), 1);
  EXPECT_TRUE(own_lines(run.errors).empty()) << run.errors;
  EXPECT_NE(run.errors.find("--resume"), std::string::npos) << run.errors;
  expect_goes_on_from_there();
}

TEST_F(SignalledRanks, save_when_one_is_told_to_end_while_another_is_stopped_for_a_moment) {
  const ProcessRun run = run_until([](LaunchedRanks& all) {
    if (!all.signal_rank(1, SIGSTOP) || !all.signal_rank(0, SIGTERM)) return false;
    std::this_thread::sleep_for(Milliseconds(1200));
    return all.signal_rank(1, SIGCONT);
  });
  EXPECT_EQ(run.code, 128 + SIGTERM) << run.errors;
  EXPECT_EQ(times_saved(saved_step(run_folder())), 1);
  EXPECT_TRUE(own_lines(run.errors).empty()) << run.errors;
}

using LongSignalledRanks = SignalledRanks;

TEST_F(LongSignalledRanks, lose_nothing_that_was_saved_when_their_launcher_is_told_to_end) {
  for (const int signal : {SIGTERM, SIGINT}) {
    SCOPED_TRACE(strsignal(signal));
    const ProcessRun run =
        run_until([&](LaunchedRanks& all) { return all.signal_launcher(signal); });
    EXPECT_NE(run.code, 0);
    EXPECT_TRUE(own_lines(run.errors).empty()) << run.errors;
    expect_goes_on_from_there();
    fs::remove_all(run_folder());
    fs::remove_all(folder_ / "whole");
  }
}

TEST_F(LongSignalledRanks, save_when_one_of_them_is_told_to_end) {
  const std::pair<int, int> told[] = {{SIGINT, 3}, {SIGTERM, 0}};
  for (const auto& [signal, rank] : told) {
    SCOPED_TRACE(strsignal(signal));
    const ProcessRun run = run_until([&, rank = rank, signal = signal](LaunchedRanks& all) {
      return all.signal_rank(rank, signal);
    });
    EXPECT_EQ(run.code, 128 + signal) << run.errors;
    EXPECT_EQ(times_saved(saved_step(run_folder())), 1);
    EXPECT_TRUE(own_lines(run.errors).empty()) << run.errors;
    expect_goes_on_from_there();
    fs::remove_all(run_folder());
    fs::remove_all(folder_ / "whole");
  }
}

// The launcher lets it go on before it ends all: then it still counts as gone.
TEST_F(LongSignalledRanks, that_stop_for_good_are_told_by_the_lowest_of_the_others) {
  const ProcessRun run = run_until([](LaunchedRanks& all) { return all.signal_rank(0, SIGSTOP); });
  EXPECT_EQ(run.code, 1) << run.errors;
  expect_told(run, 0);
  EXPECT_NE(run.errors.find("has given no sign of life"), std::string::npos) << run.errors;
  expect_goes_on_from_there();
}

class RanksWithoutRoom : public FaultsOfRanks {
 protected:
  void SetUp() override {
    FaultsOfRanks::SetUp();
    if (!IsSkipped() && !hosts_) GTEST_SKIP() << TestHosts::reason_not_possible();
  }
  // As the disk counts.
  static int64_t bytes_on_disk(const std::string& folder) {
    int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      constexpr int64_t kPage = 4096;
      const auto size = static_cast<int64_t>(entry.is_regular_file() ? entry.file_size() : 1);
      bytes += (size + kPage - 1) / kPage * kPage;
    }
    return bytes;
  }
};

// The disk has room for a checkpoint and half of the next. It is gone with the ranks, so what it
// holds is copied before.
TEST_F(RanksWithoutRoom, on_the_disk_of_the_first_end_with_a_good_checkpoint) {
  ASSERT_EQ(run_alone(small_gpt(*data_, 10) + into(folder_ / "first")).code, 0);
  const int64_t room =
      bytes_on_disk(folder_ / "first") + bytes_on_disk(folder_ / "first/checkpoint") / 2;
  fs::create_directory(folder_ / "disk");
  fs::create_directory(folder_ / "kept");
  hosts_->give_small_disk(0, folder_ / "disk", room);
  const std::string copying =
      "trap : TERM; \"$@\"; code=$?; [ $OMPI_COMM_WORLD_RANK != 0 ] || cp -r '" +
      (folder_ / "disk") + "/.' '" + (folder_ / "kept") + "'; exit $code";
  const ProcessRun run = run_ranks(Words{"sh", "-c", copying, "sh", launched_program()} +
                                       small_gpt(*data_, kSteps) + into(folder_ / "disk/run"),
                                   quiet_ranks(2), &*hosts_);
  EXPECT_EQ(run.code, 4) << run.errors;
  const std::vector<std::string> lines = own_lines(run.errors);
  ASSERT_EQ(lines.size(), 1u) << run.errors;
  EXPECT_NE(lines[0].find("No space left"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(folder_ / "disk/run"), std::string::npos) << lines[0];
  EXPECT_GE(saved_step(folder_ / "kept/run"), 10);
  expect_nothing_half_written(folder_ / "kept/run");
  fs::rename(folder_ / "kept/run", run_folder());
  expect_goes_on(4);
}

using LongRanksWithoutRoom = RanksWithoutRoom;

TEST_F(LongRanksWithoutRoom, on_the_disk_of_another_do_not_notice) {
  hosts_->give_small_disk(1, folder_.path(), 4096);
  const ProcessRun run = run_on(2, training(), &*hosts_);
  EXPECT_EQ(run.code, 0) << run.errors;
  expect_whole_run(run_folder(), whole_, kSteps);
}

}  // namespace
}  // namespace headlight::test
