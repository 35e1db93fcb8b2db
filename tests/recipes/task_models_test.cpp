// Tasks find the models that can do them.
#include <gtest/gtest.h>

#include "headlight/recipes/recipes.h"
#include "tests/models/support.h"

namespace headlight::recipes {
namespace {

using models::error_of;
TEST(TaskModelsTest, take_models_that_can_do_what_the_task_needs) {
  const models::Gpt gpt(models::small_gpt());
  const models::Seq2Seq seq2seq(models::small_seq2seq());
  EXPECT_EQ(error_of([&] { check_task_model("lm", gpt, "a", "trains"); }), "");
  EXPECT_EQ(error_of([&] { check_task_model("copy", seq2seq, "a", "trains"); }), "");
  const models::Registry& known = models::known_architectures();
  EXPECT_EQ(error_of([&] { check_task_model("lm", seq2seq, "a", "trains"); }),
            "model (a): is of type headlight-seq2seq, task lm trains " +
                known.types_that({&models::Capabilities::continues_prompt}));
  EXPECT_EQ(error_of([&] { check_task_model("translate", gpt, "b", "needs"); }),
            "model (b): is of type gpt2, task translate needs " +
                known.types_that({&models::Capabilities::translates}));
}

TEST(TaskModelsTest, name_the_head_that_a_model_of_the_right_type_lacks) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  const models::Bert bert(config);
  EXPECT_EQ(error_of([&] { check_task_model("mlm", bert, "a", "needs"); }),
            "model (a): is a bert without a head for hidden words; `headlight embed` is for it");
  EXPECT_EQ(task_of_model(bert), "mlm");
}

TEST(TaskModelsTest, make_a_type_that_can_do_the_task) {
  for (const std::string_view task : kTasks) {
    const TaskModels wanted = models_of_task(task);
    const models::Architecture* made = models::known_architectures().find(wanted.fresh_type);
    ASSERT_NE(made, nullptr) << task;
    EXPECT_TRUE(made->capabilities.*wanted.capability) << task;
    EXPECT_NE(made->fresh, nullptr) << task;
  }
}

TEST(TaskModelsTest, tell_the_task_of_a_model) {
  EXPECT_EQ(task_of_model(models::Gpt(models::small_gpt())), "lm");
  EXPECT_EQ(task_of_model(models::Seq2Seq(models::small_seq2seq())), "translate");
  EXPECT_EQ(task_of_model(models::Bert(models::small_bert())), "mlm");
}

}  // namespace
}  // namespace headlight::recipes
