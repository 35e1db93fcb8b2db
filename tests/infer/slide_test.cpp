// Generating past the context's end: the last half is kept and read again.
#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

class Sliding : public ModelTest {
 protected:
  std::vector<Continuation> slid(const Model& model, const std::vector<Ids>& prompts,
                                 int64_t tokens, GenerateOptions options = {}) {
    std::vector<Prompt> list;
    for (const Ids& ids : prompts) list.push_back({.ids = ids});
    options.ending.max_new_tokens = tokens;
    options.slides = true;
    autograd::Context context = inference_context();
    return generate(context, model, list, options);
  }

  // What it must be: the model's choice for a window that is cut to its last half when it is full.
  Ids by_hand(const Model& model, Ids ids, int64_t tokens) {
    const auto half = static_cast<std::ptrdiff_t>(model.context_length() / 2);
    Ids written;
    for (int64_t i = 0; i < tokens; ++i) {
      autograd::Context context = inference_context();
      const int64_t next =
          generate(context, model, {{.ids = ids}}, {.ending = {.max_new_tokens = 1}})[0].ids[0];
      written.push_back(next);
      ids.push_back(next);
      if (static_cast<int64_t>(ids.size()) > model.context_length())
        ids.erase(ids.begin(), ids.end() - half);
    }
    return written;
  }
};

// The model writes script[p - 1] after p ids: so it can be seen how many it has read.
TEST_F(Sliding, goes_on_from_the_last_half) {
  const models::Gpt model = scripted_gpt({10, 11, 12, 13}, 20);
  const Continuation result = slid(model, {{0}}, 12).front();
  EXPECT_EQ(result.ids, (Ids{10, 11, 12, 13, 11, 12, 13, 11, 12, 13, 11, 12}));
  EXPECT_EQ(result.reason, StopReason::limit);
  EXPECT_EQ(result.slides, 3);
  EXPECT_EQ(result.log_probabilities.size(), 12U);
}

TEST_F(Sliding, of_odd_and_tiny_contexts_keeps_at_least_one) {
  EXPECT_EQ(slid(scripted_gpt({10, 11, 12, 13, 14}, 20), {{0}}, 9)[0].ids,
            (Ids{10, 11, 12, 13, 14, 11, 12, 13, 14}));
  const Continuation shortest = slid(scripted_gpt({10}, 20), {{0}}, 3).front();
  EXPECT_EQ(shortest.ids.size(), 3U);
  EXPECT_EQ(shortest.slides, 2);
  EXPECT_EQ(slid(scripted_gpt({10, 11}, 20), {{0}}, 5)[0].ids, (Ids{10, 11, 10, 11, 10}));
}

TEST_F(Sliding, does_not_happen_where_the_end_comes_first) {
  const models::Gpt model = scripted_gpt({10, 11, 12, 13}, 20);
  EXPECT_EQ(slid(model, {{0}}, 4)[0].slides, 0);
  GenerateOptions options;
  options.ending.stop_ids = Ids{13};
  const Continuation ended = slid(model, {{0}}, 100, options).front();
  EXPECT_EQ(ended.ids, (Ids{10, 11, 12}));
  EXPECT_EQ(ended.reason, StopReason::end);
  EXPECT_EQ(ended.slides, 0);
}

TEST_F(Sliding, is_the_model_s_choice_for_each_window) {
  models::Gpt model(models::small_gpt());
  fill(model, 5);
  const int64_t tokens = 3 * model.context_length();
  const Ids prompt = random_list(3, model.vocab_size(), 1);
  GenerateOptions options;
  options.ending.stop_ids = Ids{};
  EXPECT_EQ(slid(model, {prompt}, tokens, options)[0].ids, by_hand(model, prompt, tokens));
}

TEST_F(Sliding, has_the_same_bits_with_the_cache_and_without_and_in_any_batch) {
  models::Gpt model(models::small_gpt());
  fill(model, 6);
  const int64_t tokens = 2 * model.context_length() + 3;
  const std::vector<Ids> prompts = {random_list(1, model.vocab_size(), 1),
                                    random_list(5, model.vocab_size(), 2),
                                    random_list(2, model.vocab_size(), 3)};
  GenerateOptions options{.sampling = {.temperature = 1.5F, .seed = 9}};
  options.ending.stop_ids = Ids{};
  const std::vector<Continuation> together = slid(model, prompts, tokens, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    options.first_sequence = i;
    options.use_cache = i % 2 == 0;
    const Continuation alone = slid(model, {prompts[i]}, tokens, options).front();
    expect_same(alone, together[i]);
    EXPECT_EQ(alone.slides, together[i].slides);
    EXPECT_GT(alone.slides, 0);
  }
  options.first_sequence = 0;
  options.use_cache = false;
  const std::vector<Continuation> uncached = slid(model, prompts, tokens, options);
  for (size_t i = 0; i < prompts.size(); ++i) expect_same(uncached[i], together[i]);
}

}  // namespace
}  // namespace headlight::infer
