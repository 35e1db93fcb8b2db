// Attention with a cache: row by row, in pieces and in batches of unequal lengths it has the bits
// of a whole run.
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using CachedAttention = tests::Autograd;

MultiHeadAttention grouped_attention() {
  MultiHeadAttention attention({.query_width = 20,
                                .heads = 4,
                                .kv_heads = 2,
                                .head_dim = 6,
                                .value_head_dim = 5,
                                .place = "decoder.0.self"});
  draw_xavier_uniform(attention.parameters(), 1);
  return attention;
}

Value rows_of(const Value& x, int64_t begin, int64_t count) {
  return Value::leaf(x.data().slice(1, begin, count).contiguous());
}

Tensor lengths(const std::vector<int64_t>& values) {
  return Tensor::of({static_cast<int64_t>(values.size())}, values);
}

TEST_F(CachedAttention, row_by_row_has_the_bits_of_a_whole_run) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({2, 140, 20}, 1, false);  // past one tile of keys
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  KvCache cache;
  for (int64_t i = 0; i < 140; ++i) {
    const Value row = attention.forward(context, rows_of(x, i, 1), cache, {.causal = true});
    ASSERT_TRUE(same_bits(row.data(), whole.slice(1, i, 1))) << "row " << i;
  }
  EXPECT_EQ(cache.count(), 140);
}

TEST_F(CachedAttention, pieces_with_a_window_and_a_cap_have_the_bits_of_a_whole_run) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({2, 300, 20}, 1, false);
  const AttentionOptions call{.softcap = 3, .causal = true, .window = 50};
  const Tensor whole = attention.forward(context, x, call).data();
  KvCache cache;
  int64_t begin = 0;
  for (const int64_t count : {1, 7, 128, 100, 64}) {
    const Value piece = attention.forward(context, rows_of(x, begin, count), cache, call);
    EXPECT_TRUE(same_bits(piece.data(), whole.slice(1, begin, count))) << "from " << begin;
    begin += count;
  }
}

TEST_F(CachedAttention, sequences_of_unequal_length_are_those_they_are_alone) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value first = random_leaf({1, 9, 20}, 1, false);
  const Value second = random_leaf({1, 4, 20}, 2, false);
  const Tensor first_whole = attention.forward(context, first, {.causal = true}).data();
  const Tensor second_whole = attention.forward(context, second, {.causal = true}).data();

  // Prompts of 7 and 2 rows, padded with NaN, then two rows each.
  Tensor prompt = Tensor::uninitialized(DType::f32, {2, 7, 20});
  std::fill_n(prompt.mutable_data<float>(), prompt.elements(), NAN);
  std::copy_n(first.data().data<float>(), 7 * 20, prompt.mutable_data<float>());
  std::copy_n(second.data().data<float>(), 2 * 20, prompt.mutable_data<float>() + 7 * 20);
  KvCache cache;
  const Tensor start = attention
                           .forward(context, Value::leaf(prompt), cache,
                                    {.causal = true, .query_lens = lengths({7, 2})})
                           .data();
  EXPECT_TRUE(same_bits(start.slice(0, 0, 1), first_whole.slice(1, 0, 7)));
  EXPECT_TRUE(same_bits(start.slice(0, 1, 1).slice(1, 0, 2), second_whole.slice(1, 0, 2)));
  for (int64_t i = 0; i < 2; ++i) {
    Tensor next = Tensor::uninitialized(DType::f32, {2, 1, 20});
    std::copy_n(first.data().data<float>() + (7 + i) * 20, 20, next.mutable_data<float>());
    std::copy_n(second.data().data<float>() + (2 + i) * 20, 20, next.mutable_data<float>() + 20);
    const Tensor row =
        attention.forward(context, Value::leaf(next), cache, {.causal = true}).data();
    EXPECT_TRUE(same_bits(row.slice(0, 0, 1), first_whole.slice(1, 7 + i, 1)));
    EXPECT_TRUE(same_bits(row.slice(0, 1, 1), second_whole.slice(1, 2 + i, 1)));
  }
  EXPECT_TRUE(same_bits(cache.lengths(), lengths({9, 4})));
}

TEST_F(CachedAttention, cross_attention_recalls_what_was_remembered) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value memory = random_leaf({2, 11, 20}, 1, false);
  const Value query = random_leaf({2, 3, 20}, 2, false);
  const Tensor lens = lengths({11, 6});
  KvCache cache;
  attention.remember(context, memory, memory, cache, lens);
  EXPECT_TRUE(
      same_bits(attention.recall(context, query, cache).data(),
                attention.forward(context, query, memory, memory, {.valid_lens = lens}).data()));
}

TEST_F(CachedAttention, an_observer_sees_all_keys_and_weights) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({1, 6, 20}, 1, false);
  Keeper whole, cached;
  context.observer = &whole;
  attention.forward(context, x, {.causal = true});
  KvCache cache;
  context.observer = nullptr;
  attention.forward(context, rows_of(x, 0, 5), cache, {.causal = true});
  context.observer = &cached;
  attention.forward(context, rows_of(x, 5, 1), cache, {.causal = true});
  for (const char* place :
       {"decoder.0.self.key", "decoder.0.self.value", "decoder.0.self.head.3.key"}) {
    EXPECT_TRUE(same_bits(cached.seen.at(place), whole.seen.at(place))) << place;
  }
  EXPECT_TRUE(same_bits(cached.seen.at("decoder.0.self.weights"),
                        whole.seen.at("decoder.0.self.weights").slice(2, 5, 1)));
}

TEST_F(CachedAttention, no_rows_are_no_harm) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({2, 3, 20}, 1, false);
  KvCache cache;
  EXPECT_EQ(attention.forward(context, rows_of(x, 0, 0), cache).shape(), (Shape{2, 0, 20}));
  EXPECT_TRUE(same_bits(attention.forward(context, x, cache, {.causal = true}).data(),
                        attention.forward(context, x, {.causal = true}).data()));
}

TEST_F(CachedAttention, goes_on_with_the_sequences_selected) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({3, 9, 20}, 1, false);
  KvCache cache;
  attention.forward(context, rows_of(x, 0, 8), cache,
                    {.causal = true, .query_lens = lengths({8, 3, 5})});
  cache.select(std::vector<int64_t>{2, 1, 2});
  EXPECT_EQ(cache.count(), 5);
  EXPECT_EQ(cache.lengths().data<int64_t>()[1], 3);
  // The next row of sequence 2, of sequence 1, and of sequence 2 again.
  Tensor next = Tensor::uninitialized(DType::f32, {3, 1, 20});
  const int64_t rows[] = {2 * 9 + 5, 9 + 3, 2 * 9 + 5};
  for (int64_t b = 0; b < 3; ++b) {
    std::copy_n(x.data().data<float>() + rows[b] * 20, 20, next.mutable_data<float>() + b * 20);
  }
  const Tensor got = attention.forward(context, Value::leaf(next), cache, {.causal = true}).data();
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  EXPECT_TRUE(same_bits(got.slice(0, 0, 1), whole.slice(0, 2, 1).slice(1, 5, 1)));
  EXPECT_TRUE(same_bits(got.slice(0, 1, 1), whole.slice(0, 1, 1).slice(1, 3, 1)));
  EXPECT_TRUE(same_bits(got.slice(0, 2, 1), got.slice(0, 0, 1)));
  expect_has(error_of([&] { cache.select(std::vector<int64_t>{3}); }), "no sequence 3 among 3");
  KvCache empty;
  expect_has(error_of([&] { empty.select(std::vector<int64_t>{0}); }), "there are none yet");
}

TEST_F(CachedAttention, goes_on_with_one_selection_after_the_other) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({4, 12, 20}, 1, false);
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  KvCache cache;
  attention.forward(context, rows_of(x, 0, 6), cache, {.causal = true});
  // In place, exchanged, repeated, fewer in memory that held more, and in place again.
  const std::vector<std::vector<int64_t>> selections = {{0, 2, 3}, {2, 0, 1}, {0, 0, 2},
                                                        {2, 1},    {0, 1},    {1}};
  std::vector<int64_t> origins = {0, 1, 2, 3};
  int64_t row = 6;
  for (const std::vector<int64_t>& selection : selections) {
    std::vector<int64_t> selected;
    for (const int64_t sequence : selection) {
      selected.push_back(origins[static_cast<size_t>(sequence)]);
    }
    origins = selected;
    cache.select(selection);
    const auto batch = static_cast<int64_t>(origins.size());
    Tensor next = Tensor::uninitialized(DType::f32, {batch, 1, 20});
    for (int64_t b = 0; b < batch; ++b) {
      std::copy_n(x.data().data<float>() + (origins[static_cast<size_t>(b)] * 12 + row) * 20, 20,
                  next.mutable_data<float>() + b * 20);
    }
    const Tensor got =
        attention.forward(context, Value::leaf(next), cache, {.causal = true}).data();
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t origin = origins[static_cast<size_t>(b)];
      EXPECT_TRUE(same_bits(got.slice(0, b, 1), whole.slice(0, origin, 1).slice(1, row, 1)))
          << "sequence " << b << " at row " << row;
    }
    ++row;
  }
}

// Sequences of several caches go on in one, some of them in the middle of a tile.
TEST_F(CachedAttention, goes_on_with_the_sequences_of_caches_that_join) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const std::vector<int64_t> counts = {5, 200, 128, 1};
  const Value x = random_leaf({4, 202, 20}, 1, false);
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  const auto row_of = [&](int64_t b, int64_t i) {
    return Value::leaf(x.data().slice(0, b, 1).slice(1, i, 1).contiguous());
  };
  KvCache all;
  for (int64_t b = 0; b < 4; ++b) {
    KvCache one;
    const Value prompt = Value::leaf(
        x.data().slice(0, b, 1).slice(1, 0, counts[static_cast<size_t>(b)]).contiguous());
    attention.forward(context, prompt, one, {.causal = true});
    all.join(one);
  }
  EXPECT_TRUE(same_bits(all.lengths(), lengths(counts)));
  for (int64_t added = 0; added < 2; ++added) {
    Tensor next = Tensor::uninitialized(DType::f32, {4, 1, 20});
    for (int64_t b = 0; b < 4; ++b) {
      const int64_t at = counts[static_cast<size_t>(b)] + added;
      std::copy_n(row_of(b, at).data().data<float>(), 20, next.mutable_data<float>() + b * 20);
    }
    const Tensor got = attention.forward(context, Value::leaf(next), all, {.causal = true}).data();
    for (int64_t b = 0; b < 4; ++b) {
      const int64_t at = counts[static_cast<size_t>(b)] + added;
      EXPECT_TRUE(same_bits(got.slice(0, b, 1), whole.slice(0, b, 1).slice(1, at, 1))) << b;
    }
  }
  KvCache others;
  others.append(context, Tensor::zeros(DType::f32, {1, 2, 9}), Tensor::zeros(DType::f32, {1, 2, 6}),
                3);
  expect_has(error_of([&] { all.join(others); }),
             "of 3 heads of widths 3 and 2 cannot join 2 heads of widths 6 and 5");
}

// What a copy adds, the original does not see; only tiles that are written to are copied.
TEST_F(CachedAttention, of_a_copy_goes_its_own_way) {
  Context context = inference_context();
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({1, 202, 20}, 1, false);
  const Value other = random_leaf({1, 1, 20}, 2, false);
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  const size_t tile = KvCache::bytes_of(1, 2, 6, 5);
  EXPECT_EQ(tile, 2U * 128 * (6 + 5) * sizeof(float));
  KvCache cache;
  attention.forward(context, rows_of(x, 0, 200), cache, {.causal = true});
  EXPECT_EQ(cache.bytes(), 2 * tile);
  KvCache copy = cache;
  attention.forward(context, other, copy, {.causal = true});
  for (int64_t i = 200; i < 202; ++i) {
    const Value row = attention.forward(context, rows_of(x, i, 1), cache, {.causal = true});
    EXPECT_TRUE(same_bits(row.data(), whole.slice(1, i, 1))) << i;
  }
  cache.select(std::vector<int64_t>{0, 0, 0});
  EXPECT_EQ(cache.bytes(), 2 * tile);
  attention.forward(context, random_leaf({3, 1, 20}, 3, false), cache, {.causal = true});
  EXPECT_EQ(cache.bytes(), 4 * tile);  // one that all share, and a last one each
  cache.select(std::vector<int64_t>{1});
  EXPECT_EQ(cache.bytes(), 2 * tile);
  EXPECT_EQ(KvCache::bytes_of(203, 2, 6, 5), 2 * tile);
}

TEST_F(CachedAttention, refuses_a_tape_and_what_the_cache_knows_itself) {
  const MultiHeadAttention attention = grouped_attention();
  const Value x = random_leaf({1, 2, 20}, 1, false);
  KvCache cache;
  Context recording = recording_context();
  expect_has(error_of([&] { attention.forward(recording, x, cache); }), "without a tape");
  Context context = inference_context();
  EXPECT_TRUE(cache.empty());
  expect_has(error_of([&] { attention.forward(context, x, cache, {.past = lengths({0})}); }),
             "past is what the cache holds");
  expect_has(error_of([&] { attention.forward(context, x, cache, {.valid_lens = lengths({1})}); }),
             "valid_lens are the cache's lengths");
  expect_has(error_of([&] { attention.recall(context, x, cache); }),
             "decoder.0.self): nothing has been remembered");
  EXPECT_TRUE(cache.empty());
}

TEST_F(CachedAttention, refuses_what_does_not_continue_it) {
  Context context = inference_context();
  KvCache cache;
  const auto append = [&](const Shape& key, const Shape& value, int64_t heads,
                          const Tensor& lens = {}) {
    return error_of([&] {
      cache.append(context, Tensor::zeros(DType::f32, key), Tensor::zeros(DType::f32, value), heads,
                   lens);
    });
  };
  expect_has(append({2, 3, 8}, {2, 4, 8}, 2), "value): is [2, 4, 8], the key is [2, 3, 8]");
  expect_has(append({2, 3, 8}, {2, 3, 8}, 3), "are not (B, T, width) of 3 heads");
  expect_has(append({2, 3, 8}, {2, 3, 8}, 2, lengths({3, 4})), "4 at position 1 is not within 0");
  expect_has(append({2, 3, 8}, {2, 3, 8}, 2, lengths({3})), "int64 [1], int64 [2] is needed");
  EXPECT_EQ(append({2, 3, 8}, {2, 3, 8}, 2), "");
  expect_has(append({3, 3, 8}, {3, 3, 8}, 2), "do not continue 2 sequences of 2 heads of widths 4");
}

}  // namespace
}  // namespace headlight::nn
