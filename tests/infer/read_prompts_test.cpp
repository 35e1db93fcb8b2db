// Prompts that begin as others did, and long ones: the same bits as without what is kept, and in
// one piece.
#include "headlight/infer/read_prompts.h"

#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

class ReadBefore : public ModelTest {
 protected:
  ReadBefore() : model_(models::small_gpt()) { fill(model_, 5); }

  Continuation generated(const Model& model, const Ids& ids, int64_t tokens,
                         ReadPrompts* read_before, bool use_cache = true) {
    GenerateOptions options{.ending = {.max_new_tokens = tokens, .stop_ids = Ids{}},
                            .use_cache = use_cache,
                            .read_before = read_before};
    autograd::Context context = inference_context();
    return generate(context, model, {{.ids = ids}}, options).front();
  }

  models::Gpt model_;
};

TEST_F(ReadBefore, changes_no_bit_of_an_answer) {
  ReadPrompts kept;
  Ids conversation = random_list(3, model_.vocab_size(), 1);
  int64_t reused = 0;
  for (uint64_t turn = 0; turn < 3; ++turn) {
    SCOPED_TRACE(turn);
    const Continuation answer = generated(model_, conversation, 2, &kept);
    expect_same(answer, generated(model_, conversation, 2, nullptr));
    expect_same(answer, generated(model_, conversation, 2, nullptr, false));
    EXPECT_GE(answer.reused, reused);
    if (turn > 0) {
      EXPECT_GT(answer.reused, 0);
    }
    reused = answer.reused;
    conversation.insert(conversation.end(), answer.ids.begin(), answer.ids.end());
    conversation.push_back(static_cast<int64_t>(turn));
  }
}

TEST_F(ReadBefore, is_used_as_far_as_the_ids_agree) {
  ReadPrompts kept;
  EXPECT_EQ(generated(model_, {1, 2, 3}, 2, &kept).reused, 0);
  EXPECT_EQ(generated(model_, {1, 2, 3, 4}, 1, &kept).reused, 3);
  EXPECT_EQ(generated(model_, {1, 2, 5, 4}, 1, &kept).reused, 0);
  // The last id is read in any case: its row is wanted.
  EXPECT_EQ(generated(model_, {1, 2, 3}, 1, &kept).reused, 0);
  expect_same(generated(model_, {1, 2, 3, 4}, 3, &kept),
              generated(model_, {1, 2, 3, 4}, 3, nullptr));
}

TEST_F(ReadBefore, keeps_a_few_and_forgets_the_oldest) {
  ReadPrompts kept;
  for (int64_t first = 0; first < 6; ++first) generated(model_, {first, 1}, 1, &kept);
  EXPECT_EQ(kept.find(Ids{0, 1, 2}), nullptr);
  EXPECT_NE(kept.find(Ids{5, 1, 2}), nullptr);
  kept.clear();
  EXPECT_EQ(kept.find(Ids{5, 1, 2}), nullptr);
}

TEST_F(ReadBefore, is_not_asked_without_a_cache) {
  ReadPrompts kept;
  generated(model_, {1, 2, 3}, 2, &kept, false);
  EXPECT_EQ(kept.find(Ids{1, 2, 3, 4}), nullptr);
}

// Prompts of more than a slice, in a batch with a shorter one.
TEST_F(ReadBefore, long_prompts_are_read_in_slices_with_the_same_bits) {
  models::GptConfig sizes = models::small_gpt();
  sizes.block_size = 1200;
  models::Gpt model(sizes);
  fill(model, 6);
  std::vector<Prompt> prompts;
  for (const size_t size : {1150, 513, 1100}) {
    prompts.push_back({.ids = random_list(size, model.vocab_size(), size)});
  }
  GenerateOptions options{.ending = {.max_new_tokens = 2, .stop_ids = Ids{}}};
  autograd::Context context = inference_context();
  const std::vector<Continuation> sliced = generate(context, model, prompts, options);
  options.use_cache = false;
  const std::vector<Continuation> whole = generate(context, model, prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) expect_same(sliced[i], whole[i]);
}

TEST_F(ReadBefore, long_prompts_are_not_read_on_when_somebody_stops_them) {
  models::GptConfig sizes = models::small_gpt();
  sizes.block_size = 2048;
  models::Gpt model(sizes);
  fill(model, 6);
  ReadPrompts kept;
  int asked = 0;
  const GenerateOptions options{.ending = {.max_new_tokens = 2, .stop_ids = Ids{}},
                                .read_before = &kept,
                                .is_stopped = [&] { return ++asked == 2; }};
  const Ids ids = random_list(2000, model.vocab_size(), 7);
  autograd::Context context = inference_context();
  const Continuation stopped = generate(context, model, {{.ids = ids}}, options).front();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(stopped.reason, StopReason::caller);
  EXPECT_TRUE(stopped.ids.empty());
  expect_same(generated(model, ids, 2, &kept), generated(model, ids, 2, nullptr));
}

}  // namespace
}  // namespace headlight::infer
