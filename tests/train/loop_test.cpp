// The order of steps, evaluations and checkpoints.
#include "headlight/train/loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/faulty_files.h"
#include "tests/base/temporary_folder.h"
#include "tests/train/support.h"

namespace headlight::train {
namespace {

using test::TemporaryFolder;

struct Told {
  std::vector<std::string> events;
  int64_t interrupted_at = -1;

  LoopEvents listeners() {
    return {.step =
                [this](const StepResult& result) {
                  step_ = result.step;
                  add("step", step_);
                },
            .evaluation = [this](int64_t step, double) { add("eval", step); },
            .saving = [this](int64_t step) { add("saving", step); },
            .checkpoint = [this](int64_t step) { add("checkpoint", step); },
            .interrupted = [this] { return step_ == interrupted_at; }};
  }

 private:
  void add(const std::string& event, int64_t step) {
    events.push_back(event + " " + std::to_string(step));
  }
  int64_t step_ = 0;
};

struct LoopTest : testing::Test {
  Outcome go(SmallRun& run, const LoopOptions& options) {
    Checkpoints checkpoints(files, folder.path());
    checkpoints.restore(run.trainer);
    return run_loop(run.trainer, checkpoints, options, told.listeners());
  }
  test::FaultyFiles files;  // which never fail, and are fast
  TemporaryFolder folder;
  Told told;
};

TEST_F(LoopTest, evaluates_saves_and_ends) {
  SmallRun run;
  EXPECT_EQ(go(run, {.max_iters = 3, .eval_interval = 2}), Outcome::finished);
  const std::vector<std::string> expected = {"step 1",   "step 2",       "eval 2",
                                             "saving 2", "checkpoint 2", "step 3",
                                             "eval 3",   "saving 3",     "checkpoint 3"};
  EXPECT_EQ(told.events, expected);
}

// The step is saved; its evaluation comes first when the run is resumed, and nothing is lost.
TEST_F(LoopTest, leaves_in_the_middle_of_an_evaluation) {
  SmallRun whole;
  {
    const TemporaryFolder other;
    Checkpoints checkpoints(files, other.path());
    run_loop(whole.trainer, checkpoints, {.max_iters = 4, .eval_interval = 2}, {});
  }
  SmallRun run;
  bool evaluates = false;
  {
    Checkpoints checkpoints(files, folder.path());
    LoopEvents events = told.listeners();
    events.evaluating = [&] { evaluates = true; };
    events.interrupted = [&] { return evaluates; };
    EXPECT_EQ(run_loop(run.trainer, checkpoints, {.max_iters = 4, .eval_interval = 2}, events),
              Outcome::interrupted);
  }
  EXPECT_EQ(told.events,
            (std::vector<std::string>{"step 1", "step 2", "saving 2", "checkpoint 2"}));
  told.events.clear();
  SmallRun resumed;
  EXPECT_EQ(go(resumed, {.max_iters = 4, .eval_interval = 2}), Outcome::finished);
  EXPECT_EQ(told.events.front(), "eval 2");
  EXPECT_EQ(resumed.trainer.progress().best_loss, whole.trainer.progress().best_loss);
  EXPECT_EQ(resumed.trainer.progress().valid_loss, whole.trainer.progress().valid_loss);
}

TEST_F(LoopTest, evaluates_once_when_the_interval_is_longer_than_the_run) {
  SmallRun run;
  EXPECT_EQ(go(run, {.max_iters = 2, .eval_interval = 100}), Outcome::finished);
  EXPECT_EQ(std::ranges::count(told.events, "eval 2"), 1);
  EXPECT_EQ(run.trainer.progress().best_step, 2);
}

TEST_F(LoopTest, that_is_done_stays_done) {
  SmallRun run;
  go(run, {.max_iters = 2});
  const std::string bits = bits_of(run.trainer);
  told.events.clear();
  SmallRun again;
  EXPECT_EQ(go(again, {.max_iters = 2}), Outcome::finished);
  EXPECT_EQ(bits_of(again.trainer), bits);
  EXPECT_TRUE(told.events.empty());
}

TEST_F(LoopTest, gives_the_same_bits_whether_somebody_listens_or_not) {
  SmallRun heard, unheard;
  go(heard, {.max_iters = 6, .eval_interval = 2});
  const TemporaryFolder other;
  Checkpoints checkpoints(files, other.path());
  run_loop(unheard.trainer, checkpoints, {.max_iters = 6, .eval_interval = 2}, {});
  EXPECT_EQ(bits_of(heard.trainer), bits_of(unheard.trainer));
}

TEST_F(LoopTest, goes_on_to_the_same_bits_after_an_interruption_at_any_step) {
  SmallRun whole;
  const LoopOptions options{.max_iters = 6, .eval_interval = 2};
  const TemporaryFolder other;
  Checkpoints checkpoints(files, other.path());
  run_loop(whole.trainer, checkpoints, options, {});
  for (int64_t step = 1; step <= 6; ++step) {
    SCOPED_TRACE(step);
    const TemporaryFolder own;
    Checkpoints here(files, own.path());
    Told interrupted;
    interrupted.interrupted_at = step;
    SmallRun first, second;
    EXPECT_EQ(run_loop(first.trainer, here, options, interrupted.listeners()),
              Outcome::interrupted);
    EXPECT_EQ(interrupted.events.back(), "checkpoint " + std::to_string(step));
    ASSERT_TRUE(here.restore(second.trainer));
    EXPECT_EQ(run_loop(second.trainer, here, options, {}), Outcome::finished);
    EXPECT_EQ(bits_of(second.trainer), bits_of(whole.trainer));
    EXPECT_EQ(own.get("model.safetensors"), other.get("model.safetensors"));
  }
}

TEST_F(LoopTest, that_is_cut_short_evaluates_where_it_stands) {
  SmallRun run, shorter;
  told.interrupted_at = 5;
  EXPECT_EQ(go(run, {.max_iters = 10}), Outcome::interrupted);
  told = {};
  EXPECT_EQ(go(shorter, {.max_iters = 3}), Outcome::finished);
  const std::vector<std::string> expected = {"eval 5", "saving 5", "checkpoint 5"};
  EXPECT_EQ(told.events, expected);
  EXPECT_TRUE(std::filesystem::exists(folder / "model.safetensors"));
}

TEST_F(LoopTest, stops_when_patience_ends_and_does_not_begin_again) {
  TrainerOptions still = small_options();
  still.schedule.learning_rate = 0;  // nothing gets better
  still.optimizer.weight_decay = 0;
  SmallRun run(1, still), again(1, still), patient(1, still);
  const LoopOptions options{.max_iters = 100, .eval_interval = 2, .patience = 2};
  EXPECT_EQ(go(run, options), Outcome::no_more_progress);
  EXPECT_EQ(run.trainer.progress().step, 6);
  EXPECT_EQ(run.trainer.progress().best_step, 2);
  told.events.clear();
  EXPECT_EQ(go(again, options), Outcome::no_more_progress);
  EXPECT_TRUE(told.events.empty());
  EXPECT_EQ(go(patient, {.max_iters = 100, .eval_interval = 2, .patience = 3}),
            Outcome::no_more_progress);
  EXPECT_EQ(patient.trainer.progress().step, 8);
}

}  // namespace
}  // namespace headlight::train
