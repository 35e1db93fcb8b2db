// Beams against greedy choice, against scores computed again, and against all continuations there
// are.
#include <cmath>

#include "tests/infer/rescoring.h"

namespace headlight::infer {
namespace {

class Beams : public ModelTest {
 protected:
  Beams() {
    fill(gpt_, 4);
    models::Seq2SeqConfig config = models::small_seq2seq();
    config.special_ids = {.end = 2, .decoder_start = 1};
    seq2seq_ = std::make_unique<models::Seq2Seq>(config);
    fill(*seq2seq_, 5);
    for (uint64_t i = 0; i < 4; ++i) {
      sources_.push_back({.source = random_list(2 + 3 * i, 17, i)});
      prompts_.push_back({.ids = random_list(1 + i, 17, 10 + i)});
    }
  }

  void expect_scores_rescored(const models::Model& model, const std::vector<Prompt>& prompts,
                              const BeamOptions& options, int64_t end) {
    autograd::Context context = inference_context();
    const auto results = beam_search(context, model, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      expect_rescored(context, model, prompts[i], results[i], options, end);
    }
  }

  models::Gpt gpt_{models::small_gpt()};
  std::unique_ptr<models::Seq2Seq> seq2seq_;
  std::vector<Prompt> sources_;
  std::vector<Prompt> prompts_;
};

TEST_F(Beams, that_are_one_are_greedy) {
  autograd::Context context = inference_context();
  const Ending ending{.max_new_tokens = 8, .stop_ids = Ids{2, 7}};
  for (const auto& [model, prompts] :
       {std::pair<const models::Model*, std::vector<Prompt>>{&gpt_, prompts_},
        {seq2seq_.get(), sources_}}) {
    const auto greedy = generate(context, *model, prompts, {.ending = ending});
    const auto beams = beam_search(context, *model, prompts, {.beams = 1, .ending = ending});
    for (size_t i = 0; i < prompts.size(); ++i) {
      ASSERT_EQ(beams[i].size(), 1U);
      expect_same(beams[i][0], greedy[i]);
    }
  }
}

TEST_F(Beams, have_the_scores_of_a_forward_pass) {
  for (const double length_penalty : {0.0, 0.6, 1.0}) {
    const BeamOptions options{.beams = 3, .length_penalty = length_penalty};
    expect_scores_rescored(*seq2seq_, sources_, options, 2);
    BeamOptions with_end = options;
    with_end.ending.stop_ids = Ids{3};
    expect_scores_rescored(gpt_, prompts_, with_end, 3);
  }
}

// With room for every sequence of three ids, the best of all of them must come out.
TEST_F(Beams, that_are_enough_find_the_best_there_is) {
  models::Gpt model({.block_size = 12, .vocab_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 8});
  fill(model, 21);
  const Prompt prompt{.ids = {1, 3}};
  autograd::Context context = inference_context();
  const BeamOptions options{
      .beams = 125, .length_penalty = 0, .ending = {.max_new_tokens = 3, .stop_ids = Ids{}}};
  const auto found = beam_search(context, model, {prompt}, options)[0];
  ASSERT_EQ(found.size(), 125U);
  std::vector<double> all;
  for (int64_t code = 0; code < 125; ++code) {
    all.push_back(rescored(context, model, prompt, {code / 25, code / 5 % 5, code % 5}));
  }
  std::ranges::sort(all, std::greater<>());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(found[i].score, all[i], 1e-5);
}

TEST_F(Beams, prefer_longer_outputs_the_higher_the_penalty_s_power) {
  autograd::Context context = inference_context();
  double before = 0;
  for (const double length_penalty : {0.0, 1.0, 3.0}) {
    const auto results =
        beam_search(context, *seq2seq_, sources_, {.beams = 6, .length_penalty = length_penalty});
    double length = 0;
    for (const auto& hypotheses : results) {
      length += static_cast<double>(hypotheses.front().log_probabilities.size());
    }
    EXPECT_GE(length, before);
    before = length;
  }
}

TEST_F(Beams, end_at_stop_texts) {
  const std::string_view texts[] = {"abcd"};
  const text::Tokenizer tokenizer = text::char_tokenizer(texts);
  const models::Gpt model = scripted_gpt(tokenizer.encode("abcdab"), tokenizer.size());
  autograd::Context context = inference_context();
  const auto found =
      beam_search(context, model, {{.ids = {0}}},
                  {.beams = 2, .ending = {.stop_texts = {"cd"}, .tokenizer = &tokenizer}})[0];
  EXPECT_EQ(found[0].text, "ab");
  EXPECT_EQ(found[0].reason, StopReason::stop_text);
}

TEST_F(Beams, may_outnumber_the_vocabulary) {
  autograd::Context context = inference_context();
  const auto found =
      beam_search(context, gpt_, {prompts_[0]}, {.beams = 40, .ending = {.max_new_tokens = 1}})[0];
  EXPECT_EQ(found.size(), 17U);
}

TEST_F(Beams, of_no_new_tokens_are_one_empty_hypothesis) {
  autograd::Context context = inference_context();
  const auto found =
      beam_search(context, gpt_, {prompts_[0]}, {.beams = 3, .ending = {.max_new_tokens = 0}})[0];
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].ids.empty());
  EXPECT_EQ(found[0].score, 0);
}

TEST_F(Beams, that_cannot_be_are_refused) {
  autograd::Context context = inference_context();
  expect_has(error_of([&] { beam_search(context, gpt_, prompts_, {.beams = 0}); }), "0 beams");
  expect_has(
      error_of([&] { beam_search(context, gpt_, prompts_, {.beams = 2, .length_penalty = NAN}); }),
      "length penalty nan");
}

}  // namespace
}  // namespace headlight::infer
