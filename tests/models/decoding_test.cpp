// Decoding: cached is uncached, batched is single, padded is unpadded, to the bit; selection; the
// context's end.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

class DecodingTest : public ModelTest {
 protected:
  DecodingTest() {
    fill(gpt_, 1);
    Seq2SeqConfig config = small_seq2seq();
    config.normalize_before = true;
    config.final_layer_norm = true;
    seq2seq_ = std::make_unique<Seq2Seq>(config);
    fill(*seq2seq_, 2);
  }

  // The logits after each prefix of one sequence, from scratch.
  Tensor from_scratch(const Model& model, const Tensor& ids, int64_t sequence, int64_t length,
                      const Batch& source = {}) {
    Context context = inference_context();
    Batch one{.ids = ids.slice(0, sequence, 1).slice(1, 0, length).contiguous()};
    if (source.source_ids.defined()) {
      const int64_t source_length = source.source_lens.data<int64_t>()[sequence];
      one.source_ids =
          source.source_ids.slice(0, sequence, 1).slice(1, 0, source_length).contiguous();
    }
    return model.next_logits(context, one);
  }

  // Reads prompts of different lengths, then id by id; each step against a run of one sequence
  // alone.
  void expect_same_bits(const Model& model, const Batch& source) {
    const Tensor ids = random_ids({3, 10}, model.vocab_size(), 5);
    const std::vector<int64_t> prompts = {4, 1, 6};
    Context context = inference_context();
    Decoding decoding = model.start(context, source);
    Tensor logits = decoding.read(context, ids.slice(1, 0, 6).contiguous(), integers({3}, prompts));
    for (int64_t step = 0; step < 4; ++step) {
      std::vector<int64_t> next;
      for (int64_t b = 0; b < 3; ++b) {
        const int64_t length = prompts[static_cast<size_t>(b)] + step;
        EXPECT_TRUE(same_bits(logits.slice(0, b, 1), from_scratch(model, ids, b, length, source)))
            << "sequence " << b << " after " << length << " ids";
        next.push_back(ids.data<int64_t>()[b * 10 + length]);
      }
      logits = decoding.read(context, integers({3, 1}, next));
    }
    EXPECT_EQ(decoding.lengths(), (std::vector<int64_t>{8, 5, 10}));
  }

  Batch source() const {
    return {.source_ids = random_ids({3, 9}, 17, 7), .source_lens = integers({3}, {9, 2, 5})};
  }

  Gpt gpt_{small_gpt()};
  std::unique_ptr<Seq2Seq> seq2seq_;
};

TEST_F(DecodingTest, of_a_gpt_has_the_bits_of_a_run_from_scratch) { expect_same_bits(gpt_, {}); }

TEST_F(DecodingTest, of_an_encoder_decoder_has_the_bits_of_a_run_from_scratch) {
  expect_same_bits(*seq2seq_, source());
}

TEST_F(DecodingTest, of_a_post_norm_encoder_decoder_has_the_bits_of_a_run_from_scratch) {
  Seq2Seq model(small_seq2seq());
  fill(model, 3);
  expect_same_bits(model, source());
}

TEST_F(DecodingTest, goes_on_with_the_sequences_selected) {
  Context context = inference_context();
  const Tensor ids = random_ids({3, 4}, 17, 8);
  Decoding decoding = seq2seq_->start(context, source());
  const Tensor before = decoding.read(context, ids, integers({3}, {4, 2, 3}));
  decoding.select(std::vector<int64_t>{2, 0, 0, 2});
  EXPECT_EQ(decoding.lengths(), (std::vector<int64_t>{3, 4, 4, 3}));
  const Tensor after = decoding.read(context, integers({4, 1}, {5, 6, 7, 5}));

  Decoding whole = seq2seq_->start(context, source());
  whole.read(context, ids, integers({3}, {4, 2, 3}));
  const Tensor expected = whole.read(context, integers({3, 1}, {6, 0, 5}));
  EXPECT_TRUE(same_bits(after.slice(0, 0, 1), expected.slice(0, 2, 1)));
  EXPECT_TRUE(same_bits(after.slice(0, 3, 1), expected.slice(0, 2, 1)));
  EXPECT_TRUE(same_bits(after.slice(0, 1, 1), expected.slice(0, 0, 1)));
  EXPECT_FALSE(same_bits(after.slice(0, 2, 1), expected.slice(0, 0, 1)));
}

TEST_F(DecodingTest, of_sequences_that_join_has_the_bits_of_each_alone) {
  Context context = inference_context();
  const Batch sources = source();
  const Tensor ids = random_ids({3, 6}, 17, 8);
  const std::vector<int64_t> counts = {4, 1, 3};
  std::optional<Decoding> all;
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t length = sources.source_lens.data<int64_t>()[b];
    Decoding one = seq2seq_->start(
        context,
        {.source_ids = sources.source_ids.slice(0, b, 1).slice(1, 0, length).contiguous()});
    const int64_t count = counts[static_cast<size_t>(b)];
    one.read(context, ids.slice(0, b, 1).slice(1, 0, count).contiguous());
    EXPECT_EQ(one.cached_bytes(), cache_bytes(*seq2seq_->parts().decoder, count, length));
    if (all) {
      all->join(one);
    } else {
      all = one;
    }
  }
  EXPECT_EQ(all->lengths(), counts);
  std::vector<int64_t> next;
  for (int64_t b = 0; b < 3; ++b) {
    next.push_back(ids.data<int64_t>()[b * 6 + counts[static_cast<size_t>(b)]]);
  }
  const Value states = all->states(context, integers({3, 1}, next));
  EXPECT_EQ(states.shape(), (Shape{3, 1, 24}));
  const Tensor logits = seq2seq_->logits(context, states).data();
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t length = counts[static_cast<size_t>(b)] + 1;
    EXPECT_TRUE(same_bits(logits.slice(0, b, 1).reshaped({1, 17}),
                          from_scratch(*seq2seq_, ids, b, length, sources)))
        << b;
  }
  expect_has(error_of([&] { all->join(gpt_.start(context)); }), "another model");
  const Decoding unread = seq2seq_->start(context, sources);
  expect_has(error_of([&] { all->join(unread); }), "have read nothing yet");
}

TEST_F(DecodingTest, after_selecting_the_longest_away_has_more_room) {
  Context context = inference_context();
  Decoding decoding = gpt_.start(context);
  EXPECT_EQ(decoding.room(), 12);
  decoding.read(context, random_ids({2, 9}, 17, 1), integers({2}, {9, 3}));
  EXPECT_EQ(decoding.room(), 3);
  decoding.select(std::vector<int64_t>{1});
  EXPECT_EQ(decoding.room(), 9);
}

TEST_F(DecodingTest, stops_at_the_end_of_the_context_with_nothing_read) {
  Context context = inference_context();
  Decoding decoding = gpt_.start(context);
  decoding.read(context, random_ids({2, 11}, 17, 1));
  expect_has(error_of([&] {
               decoding.read(context, random_ids({2, 2}, 17, 1));
             }),
             "sequence 0 has 13 ids, the model has positions for 12");
  EXPECT_EQ(decoding.room(), 1);
  decoding.read(context, random_ids({2, 1}, 17, 1));
  EXPECT_EQ(decoding.room(), 0);
}

TEST_F(DecodingTest, refuses_what_does_not_go_on) {
  Context context = inference_context();
  Decoding decoding = gpt_.start(context);
  decoding.read(context, random_ids({2, 3}, 17, 1));
  expect_has(error_of([&] {
               decoding.read(context, random_ids({3, 1}, 17, 1));
             }),
             "3 sequences, decoding goes on with 2");
  expect_has(error_of([&] {
               decoding.select(std::vector<int64_t>{0, 2});
             }),
             "no sequence 2 among 2");
  expect_has(error_of([&] {
               decoding.read(context, random_ids({2, 2}, 17, 1), integers({2}, {2, 0}));
             }),
             "0 is not within 1 and 2");
  expect_has(error_of([&] { decoding.read(context, integers({2, 1}, {3, 17})); }), "id 17");
  expect_has(error_of([&] {
               gpt_.start(context, {.source_ids = random_ids({1, 2}, 17, 1)});
             }),
             "takes none");
  expect_has(error_of([&] { seq2seq_->start(context, {}); }), "source ids");
  Bert encoder(small_bert());
  expect_has(error_of([&] { encoder.start(context); }), "does not write text");
}

TEST_F(DecodingTest, gpt_padded_at_the_end_is_the_gpt_unpadded) {
  Context context = inference_context();
  const Tensor ids = random_ids({2, 8}, 17, 9);
  const Tensor padded = gpt_.forward(context, {.ids = ids, .lens = integers({2}, {8, 5})}).data();
  const Tensor alone =
      gpt_.forward(context, {.ids = ids.slice(0, 1, 1).slice(1, 0, 5).contiguous()}).data();
  EXPECT_TRUE(same_bits(padded.slice(0, 1, 1).slice(1, 0, 5), alone));
}

TEST_F(DecodingTest, what_stands_in_the_padding_of_a_source_does_not_matter) {
  Context context = inference_context();
  Batch batch = source();
  batch.ids = random_ids({3, 4}, 17, 3);
  const Tensor first = seq2seq_->forward(context, batch).data();
  Tensor changed = batch.source_ids.contiguous();
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t s = batch.source_lens.data<int64_t>()[b]; s < 9; ++s) {
      changed.mutable_data<int64_t>()[b * 9 + s] = (changed.data<int64_t>()[b * 9 + s] + 1) % 17;
    }
  }
  EXPECT_TRUE(same_bits(first, seq2seq_->forward(context, batch).data()));
}

}  // namespace
}  // namespace headlight::models
