// Runs that are killed or interrupted, and then resumed: the bits of an uninterrupted run.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "headlight/base/base.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class KilledTraining : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    whole_ = new TemporaryFolder;
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(run_program(small_copy(*whole_ / "run")).code, 0);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    expected_ = result_of(*whole_, "run");
  }
  static void TearDownTestSuite() {
    delete whole_;
    whole_ = nullptr;
  }

  Words resuming(const TemporaryFolder& folder, int threads) const {
    return small_copy(folder / "run") + Words{"--resume", "--threads", std::to_string(threads)};
  }

  // Kills runs at random moments until `kills` have died, each time going on, then lets it end.
  void kill_often(int threads, int kills, uint64_t seed) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const base::Random random(seed);
    auto folder = std::make_unique<TemporaryFolder>();
    uint64_t attempt = 0;
    for (int died = 0; died < kills;) {
      Program program(resuming(*folder, threads));
      wait(seconds_ * random.uniform64(attempt++));
      program.kill();
      const ProgramRun run = program.finish();
      ASSERT_TRUE(run.code == 0 || run.code == -SIGKILL) << run.code << run.errors;
      if (run.code == -SIGKILL) {
        ++died;
        continue;
      }
      expect_whole(*folder);
      folder = std::make_unique<TemporaryFolder>();
    }
    const ProgramRun run = run_program(resuming(*folder, threads));
    ASSERT_EQ(run.code, 0) << run.errors;
    expect_whole(*folder);
  }
  void expect_whole(const TemporaryFolder& folder) {
    EXPECT_TRUE(result_of(folder, "run") == expected_);
    std::vector<int64_t> steps;
    for (const io::Json& event : events_called("step", folder.get("run/log.jsonl")))
      steps.push_back(*event.find("step")->integer());
    EXPECT_EQ(steps, (std::vector<int64_t>{10, 20, 30}));
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
      EXPECT_FALSE(base::is_temporary(entry.path().filename().string())) << entry.path();
  }

  void interrupt(int signal) {
    const TemporaryFolder folder;
    const Words words = small_copy(folder / "run", 100000);
    {
      Program program(words + Words{"--lr_decay_iters", "30"});
      while (!std::filesystem::exists(folder / "run/checkpoint/manifest.json")) wait(0.01);
      ASSERT_TRUE(program.send(signal));
      const ProgramRun run = program.finish();
      EXPECT_EQ(run.code, 128 + signal);
      EXPECT_NE(run.errors.find("headlight train --out "), std::string::npos) << run.errors;
    }
    const io::Json manifest = io::parse_json(folder.get("run/checkpoint/manifest.json"), "");
    const int64_t step = *manifest.find("step")->integer();
    EXPECT_GT(step, 0);
    EXPECT_LT(step, 100000);
    // On from there to a round step, and there in one go.
    const int64_t last = (step / 10 + 2) * 10;
    const Words end = {"--max_iters", std::to_string(last)};
    EXPECT_EQ(run_program(Words{"train", "--out", folder / "run", "--resume"} + end).code, 0);
    EXPECT_EQ(
        run_program(small_copy(folder / "whole", last) + Words{"--lr_decay_iters", "30"}).code, 0);
    EXPECT_TRUE(result_of(folder, "run", last) == result_of(folder, "whole", last));
  }

  static TemporaryFolder* whole_;
  static double seconds_;
  static std::string expected_;
};
TemporaryFolder* KilledTraining::whole_ = nullptr;
double KilledTraining::seconds_ = 0;
std::string KilledTraining::expected_;

TEST_F(KilledTraining, goes_on_to_the_same_bits) {
  for (const int threads : {1, 2, 4}) kill_often(threads, 3, static_cast<uint64_t>(threads));
}

TEST_F(KilledTraining, saves_when_it_is_interrupted) {
  interrupt(SIGINT);
  interrupt(SIGTERM);
  interrupt(SIGHUP);
}

TEST_F(KilledTraining, that_was_done_is_done_when_it_is_resumed_twice) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_program(small_copy(folder / "run")).code, 0);
  for (int i = 0; i < 2; ++i) {
    const ProgramRun run = run_program({"train", "--out", folder / "run", "--resume", "--json"});
    EXPECT_EQ(run.code, 0) << run.errors;
    expect_whole(folder);
    ASSERT_EQ(events_called("done", run.output).size(), 1u);
    const io::Json first = events_called("eval", folder.get("run/log.jsonl")).back();
    EXPECT_EQ(*events_called("done", run.output)[0].find("valid_loss"), *first.find("valid_loss"));
    EXPECT_EQ(events_called("done", folder.get("run/log.jsonl")).size(), 1u);
  }
}

using LongKilledTraining = KilledTraining;

TEST_F(LongKilledTraining, goes_on_to_the_same_bits_after_a_hundred_kills) {
  for (const int threads : {1, 2, 4}) kill_often(threads, 34, 100 + static_cast<uint64_t>(threads));
}

}  // namespace
}  // namespace headlight::test
