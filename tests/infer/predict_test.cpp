// Predictions step by step: what generate gives, with all that was chosen among.
#include "headlight/infer/predict.h"

#include <cmath>

#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

class PredictTest : public testing::Test {
 protected:
  PredictTest() : gpt_(models::small_gpt()) { models::fill(gpt_, 5); }

  std::vector<PredictedStep> steps(const Prompt& prompt, const PredictOptions& options) {
    std::vector<PredictedStep> all;
    autograd::Context context{.threads = threads_, .arena = arena_};
    last_ = predict(context, gpt_, prompt, options, [&](const PredictedStep& step) {
      all.push_back(step);
      return true;
    });
    return all;
  }
  Continuation generated(const Prompt& prompt, const GenerateOptions& options) {
    autograd::Context context{.threads = threads_, .arena = arena_};
    return generate(context, gpt_, {prompt}, options).front();
  }

  base::ThreadPool threads_{2};
  tensor::Arena arena_;
  models::Gpt gpt_;
  Continuation last_;
};

TEST_F(PredictTest, gives_what_generate_gives) {
  const Prompt prompt{.ids = {1, 2, 3}};
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 1.3F, .seed = 4},
        SamplingOptions{
            .repetition_penalty = 1.4F, .temperature = 0.7F, .top_k = 5, .top_p = 0.8F}}) {
    for (const int64_t count : {1, 4, 100}) {  // the last one to the context's end
      const Ending ending{.max_new_tokens = count};
      const Continuation expected = generated(prompt, {.sampling = sampling, .ending = ending});
      const std::vector<PredictedStep> found =
          steps(prompt, {.sampling = sampling, .ending = ending, .stages = true});
      EXPECT_EQ(last_.ids, expected.ids);
      EXPECT_EQ(last_.log_probabilities, expected.log_probabilities);
      EXPECT_EQ(last_.reason, expected.reason);
      ASSERT_EQ(found.size(), expected.log_probabilities.size());
    }
  }
}

TEST_F(PredictTest, tells_the_likeliest_words_in_order) {
  const std::vector<PredictedStep> found = steps({.ids = {1, 2}}, {.best = 1000});
  const std::vector<PredictedWord>& best = found.front().best;
  ASSERT_EQ(std::ssize(best), gpt_.vocab_size());
  double sum = 0;
  for (size_t i = 0; i < best.size(); ++i) {
    sum += best[i].probability;
    if (i > 0) {
      EXPECT_GE(best[i - 1].logit, best[i].logit);
    }
  }
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_EQ(best.front().id, found.front().chosen.id);
}

TEST_F(PredictTest, tells_what_each_stage_leaves) {
  const SamplingOptions sampling{
      .repetition_penalty = 2, .temperature = 0.5F, .top_k = 6, .top_p = 0.7F, .min_p = 0.05F};
  std::vector<float> logits;
  for (int i = 0; i < 20; ++i) logits.push_back(static_cast<float>((i * 7) % 20) / 5 - 1);
  const std::vector<int64_t> history = {3, 3, 11};
  const Sampler sampler(sampling);
  const Sampler::Stages stages = sampler.stages(logits, history);
  EXPECT_EQ(stages.top_k, 6);
  EXPECT_LE(stages.top_p, stages.top_k);
  EXPECT_LE(stages.min_p, stages.top_p);
  const std::vector<Sampler::Candidate> candidates = sampler.candidates(logits, history);
  EXPECT_EQ(stages.min_p, std::ssize(candidates));
  double sum = 0;
  for (const Sampler::Candidate& one : candidates) {
    EXPECT_EQ(stages.drawn_with[static_cast<size_t>(one.id)], one.probability);
    EXPECT_EQ(stages.kept[static_cast<size_t>(one.id)], 7);
    sum += one.probability;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool is_repeated = i == 3 || i == 11;
    const float penalized = !is_repeated    ? logits[i]
                            : logits[i] > 0 ? logits[i] / 2
                                            : logits[i] * 2;
    EXPECT_EQ(stages.penalized[i], penalized);
    EXPECT_EQ(stages.tempered[i], penalized / 0.5F);
  }
}

TEST_F(PredictTest, keeps_all_and_draws_one_at_temperature_zero) {
  const Sampler::Stages stages = Sampler({}).stages(std::vector<float>{1, 3, 2}, {});
  EXPECT_EQ(stages.drawn_with, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(stages.tempered, (std::vector<float>{1, 3, 2}));
  EXPECT_EQ(stages.min_p, 3);
}

// Gates of the first layer's first head are closed.
class FirstHeadOff : public autograd::Intervention {
 public:
  bool changes(std::string_view place) override { return place == "decoder.0.self.head_gates"; }
  void change(std::string_view /*place*/, tensor::Tensor& gates) override {
    gates.mutable_data<float>()[0] = 0;
  }
};

TEST_F(PredictTest, tells_what_would_have_been_without_a_change) {
  FirstHeadOff off;
  const Prompt prompt{.ids = {4, 1, 2}};
  const std::vector<PredictedStep> changed =
      steps(prompt, {.ending = {.max_new_tokens = 3}, .change = &off});
  const std::vector<PredictedStep> whole = steps(prompt, {});
  const PredictedStep& first = changed.front();
  ASSERT_GE(first.unchanged.size(), first.best.size());
  for (size_t i = 0; i < first.best.size(); ++i) EXPECT_EQ(first.unchanged[i].id, first.best[i].id);
  for (const PredictedWord& word : whole.front().best) {
    const auto ghost = std::ranges::find(first.unchanged, word.id, &PredictedWord::id);
    ASSERT_NE(ghost, first.unchanged.end());
    EXPECT_EQ(ghost->logit, word.logit);
  }
  EXPECT_NE(first.best.front().logit, whole.front().best.front().logit);
}

TEST_F(PredictTest, shows_the_row_that_decided) {
  const std::vector<PredictedStep> found = steps(
      {.ids = {1, 2, 3}}, {.ending = {.max_new_tokens = 3}, .watches = [](std::string_view place) {
                             return place == "decoder.1.self";
                           }});
  int64_t keys = 3;
  for (const PredictedStep& step : found) {
    ASSERT_EQ(step.attention.size(), 1u);
    const auto& [place, weights] = step.attention.front();
    EXPECT_EQ(place, "decoder.1.self");
    ASSERT_EQ(weights.size(1), keys++);
    for (int64_t head = 0; head < weights.size(0); ++head) {
      double sum = 0;
      for (int64_t key = 0; key < weights.size(1); ++key) {
        sum += weights.data<float>()[head * weights.size(1) + key];
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_F(PredictTest, ends_when_nobody_listens) {
  int count = 0;
  autograd::Context context{.threads = threads_, .arena = arena_};
  const Continuation result =
      predict(context, gpt_, {.ids = {1}}, {.ending = {.max_new_tokens = 5}},
              [&](const PredictedStep&) { return ++count < 2; });
  EXPECT_EQ(count, 2);
  EXPECT_EQ(result.reason, StopReason::caller);
}

}  // namespace
}  // namespace headlight::infer
