// The worked model learns its sentences, whatever it starts from.
#include <gtest/gtest.h>

#include "headlight/explain/explain.h"
#include "headlight/infer/infer.h"

namespace headlight::train {
namespace {

using explain::WorkedModel;
using explain::WorkedModelOptions;

class WorkedTraining : public testing::Test {
 protected:
  void learn(WorkedModel& worked) {
    const explain::WorkedRecipe recipe;
    const models::Batch batch = explain::sentence_batch(worked);
    optim::Optimizer optimizer(worked.model->parameters(), recipe.optimizer);
    tensor::Arena arena;
    for (int64_t step = 0; step < recipe.steps; ++step) {
      autograd::Tape tape;
      autograd::Context context{
          .threads = threads_, .arena = arena, .tape = &tape, .training = true};
      tape.backward(context, worked.model->loss(context, batch));
      optimizer.step(context.execution(), optim::learning_rate_at(recipe.schedule, step));
      optimizer.clear_gradients();
    }
  }

  // What the model writes after a source, greedily.
  std::string continuation(const WorkedModel& worked, const std::string& source) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const auto outputs =
        infer::greedy_outputs(context, *worked.model, {worked.tokenizer.encode(source)});
    return worked.tokenizer.decode(outputs.front().ids, {.special = false});
  }

  void expect_learned(const WorkedModelOptions& options) {
    WorkedModel worked = explain::make_worked_model(explain::default_sentences(), options);
    EXPECT_NE(continuation(worked, worked.sentences.front().source),
              worked.sentences.front().target);
    learn(worked);
    for (const explain::SentencePair& pair : worked.sentences) {
      EXPECT_EQ(continuation(worked, pair.source), pair.target) << "seed " << options.seed;
    }
  }

  base::ThreadPool threads_{1};
};

TEST_F(WorkedTraining, gives_the_right_continuations_from_each_of_ten_seeds) {
  for (uint64_t seed = 0; seed < 10; ++seed) expect_learned({.seed = seed});
}

TEST_F(WorkedTraining, gives_them_with_any_heads_and_either_order_of_norms) {
  expect_learned({.heads = 2, .head_width = 3});
  expect_learned({.heads = 8, .head_width = 4});
  expect_learned({.heads = 3, .head_width = 6, .hidden = 6});
  expect_learned({.heads = 2, .head_width = 4, .pre_norm = true});
  expect_learned({.heads = 1, .head_width = 1, .layers = 2});
}

}  // namespace
}  // namespace headlight::train
