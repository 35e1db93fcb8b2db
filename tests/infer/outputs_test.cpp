// Many inputs at once: in order, in bounded batches, with the bits of one at a time.
#include <cmath>

#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

TEST(LengthBatches, hold_similar_lengths_within_the_bound) {
  const std::vector<size_t> lengths = {9, 2, 30, 3, 2, 8, 1};
  const auto batches = length_batches(lengths, 10);
  // Lengths 1, 2, 2 make 6 tokens with padding; a 3 beside them would make 12.
  EXPECT_EQ(batches, (std::vector<std::vector<size_t>>{{6, 1, 4}, {3}, {5}, {0}, {2}}));
  EXPECT_TRUE(length_batches({}, 10).empty());
}

class Outputs : public ModelTest {
 protected:
  Outputs() {
    models::Seq2SeqConfig config = models::small_seq2seq();
    config.special_ids = {.end = 2, .decoder_start = 1};
    model_ = std::make_unique<models::Seq2Seq>(config);
    fill(*model_, 6);
    for (uint64_t i = 0; i < 12; ++i) {
      sources_.push_back(random_list(1 + (7 * i) % 16, 17, i));
    }
  }
  std::unique_ptr<models::Seq2Seq> model_;
  std::vector<Ids> sources_;
};

TEST_F(Outputs, are_those_of_one_source_at_a_time) {
  autograd::Context context = inference_context();
  const auto all = greedy_outputs(context, *model_, sources_, {.batch_tokens = 40});
  const auto searched =
      beam_outputs(context, *model_, sources_, {.beams = 3}, {.batch_tokens = 100});
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Prompt prompt{.source = sources_[i]};
    expect_same(all[i], generate(context, *model_, {prompt}, {})[0]);
    const auto single = beam_search(context, *model_, {prompt}, {.beams = 3})[0];
    ASSERT_EQ(searched[i].size(), single.size());
    for (size_t beam = 0; beam < single.size(); ++beam) {
      expect_same(searched[i][beam], single[beam]);
    }
  }
}

TEST_F(Outputs, end_within_a_distance_of_the_source_s_length) {
  autograd::Context context = inference_context();
  const auto all = greedy_outputs(context, *model_, sources_,
                                  {.ending = {.max_beyond_source = 1, .stop_ids = Ids{}}});
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(all[i].ids.size(), std::min<size_t>(16, sources_[i].size() + 1));
  }
}

TEST_F(Outputs, of_no_sources_are_none) {
  autograd::Context context = inference_context();
  EXPECT_TRUE(greedy_outputs(context, *model_, {}).empty());
  expect_has(error_of([&] { greedy_outputs(context, *model_, {{1}, {}}); }), "has no ids");
}

TEST_F(Outputs, of_an_encoder_are_vectors_of_length_one) {
  models::Bert encoder(models::small_bert());
  fill(encoder, 9);
  autograd::Context context = inference_context();
  std::vector<Ids> sentences;
  for (uint64_t i = 0; i < 6; ++i) sentences.push_back(random_list(1 + (5 * i) % 11, 19, i));
  const auto vectors = sentence_vectors(context, encoder, sentences, {.batch_tokens = 24});
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(vectors[i], sentence_vectors(context, encoder, {sentences[i]})[0]);
    double squares = 0;
    for (const float number : vectors[i]) squares += static_cast<double>(number * number);
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  EXPECT_NE(vectors[0], vectors[1]);
}

}  // namespace
}  // namespace headlight::infer
