// The worked model learns its sentences, whatever it starts from.
#include <gtest/gtest.h>

#include "headlight/recipes/recipes.h"

namespace headlight::recipes {
namespace {

class WorkedTrainingTest : public testing::Test {
 protected:
  void expect_learned(const WorkedModelOptions& options) {
    const WorkedModel worked = make_worked_model(default_sentences(), options);
    EXPECT_NE(written(worked, worked.sentences.front()), worked.sentences.front().target);
    const WorkedTraining training = train_worked_model(threads_, worked);
    EXPECT_LT(training.losses.back(), training.losses.front());
    for (const SentencePair& pair : worked.sentences) {
      EXPECT_EQ(written(worked, pair), pair.target) << "seed " << options.seed;
    }
  }

  std::string written(const WorkedModel& worked, const SentencePair& pair) {
    return continuation_of(threads_, *worked.model, worked.tokenizer, pair.source);
  }

  base::ThreadPool threads_{1};
};

TEST_F(WorkedTrainingTest, gives_the_right_continuations_from_each_of_twenty_seeds) {
  for (uint64_t seed = 0; seed < 20; ++seed) expect_learned({.seed = seed});
  for (uint64_t seed = 0; seed < 10; ++seed) expect_learned({.heads = 1, .seed = seed});
}

TEST_F(WorkedTrainingTest, gives_them_with_any_heads_and_either_order_of_norms) {
  expect_learned({.heads = 2, .head_width = 3});
  expect_learned({.heads = 8, .head_width = 4});
  expect_learned({.heads = 3, .head_width = 6, .hidden = 6});
  expect_learned({.heads = 2, .head_width = 4, .pre_norm = true});
  expect_learned({.heads = 1, .head_width = 1, .layers = 2});
}

TEST_F(WorkedTrainingTest, tells_each_step_and_keeps_what_the_next_would_go_on_from) {
  const WorkedModel worked = make_worked_model(default_sentences());
  std::vector<int64_t> steps;
  std::vector<double> losses;
  const WorkedTraining training =
      train_worked_model(threads_, worked, [&](int64_t step, double loss) {
        steps.push_back(step);
        losses.push_back(loss);
      });
  EXPECT_EQ(training.steps, WorkedRecipe().steps);
  ASSERT_EQ(static_cast<int64_t>(steps.size()), training.steps);
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), training.steps);
  // One more: after the last step.
  ASSERT_EQ(training.losses.size(), losses.size() + 1);
  EXPECT_TRUE(std::equal(losses.begin(), losses.end(), training.losses.begin()));
  EXPECT_FALSE(training.optimizer_state.empty());
}

}  // namespace
}  // namespace headlight::recipes
