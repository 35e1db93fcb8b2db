// Arithmetic counted from models, and the clock beside it.
#include <algorithm>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::error_of;
using models::expect_has;

constexpr int64_t kC = 24;
constexpr int64_t kF = 40;
constexpr int64_t kV = 11;
constexpr int64_t kH = 4;

// One layer of the plain kind, of which nothing is drawn.
nn::TransformerBlockOptions plain_layer() {
  return {.width = kC,
          .heads = kH,
          .hidden = kF,
          .norm_place = nn::NormPlace::pre,
          .qkv_bias = false,
          .out_bias = false,
          .names = {.self = layer_attention_names("decoder.0"),
                    .self_norm = "norm_1",
                    .feed_forward_norm = "norm_2",
                    .first = "up",
                    .second = "down"},
          .place = "decoder.0"};
}

class Operations : public testing::Test {
 protected:
  OperationCount count(const nn::TransformerBlockOptions& layer, int64_t batch, int64_t tokens) {
    LayersModel model({.vocabulary = kV, .width = kC, .longest = 64, .layers = {layer}});
    models::fill(model, 3);
    return count_operations(threads_, model, {.ids = models::random_ids({batch, tokens}, kV, 1)});
  }

  base::ThreadPool threads_{2};
};

double number(int64_t value) { return static_cast<double>(value); }

TEST_F(Operations, of_a_plain_layer_are_those_of_the_formula) {
  for (const auto& [batch, tokens] : {std::pair<int64_t, int64_t>{1, 7}, {3, 30}, {2, 1}}) {
    const OperationCount whole = count(plain_layer(), batch, tokens);
    const int64_t rows = batch * tokens;
    EXPECT_EQ(whole.attention, number(rows * (8 * kC * kC + 4 * tokens * kC)));
    EXPECT_EQ(whole.rest, number(rows * (4 * kC * kF + 2 * kC * kV)));
    // p = 3/4 of the heads gone: (8C^2 + 4TC + 4CF) / ((1 - p)(8C^2 + 4TC) + 4CF), and logits.
    nn::TransformerBlockOptions pruned = plain_layer();
    pruned.self_heads_left = nn::HeadNumbers{2};
    const OperationCount left = count(pruned, batch, tokens);
    EXPECT_EQ(left.attention, whole.attention / 4);
    EXPECT_EQ(left.rest, whole.rest);
    pruned.self_heads_left = nn::HeadNumbers{};
    EXPECT_EQ(count(pruned, batch, tokens).attention, 0);
  }
}

TEST_F(Operations, under_a_mask_are_those_of_the_keys_that_are_seen) {
  constexpr int64_t kT = 9;
  constexpr int64_t kProjections = kT * 8 * kC * kC;
  nn::TransformerBlockOptions layer = plain_layer();
  layer.causal = true;
  EXPECT_EQ(count(layer, 1, kT).attention, number(kProjections + 4 * kC * kT * (kT + 1) / 2));
  layer.window = 3;  // 1 + 2 + 3 * 7 keys
  EXPECT_EQ(count(layer, 1, kT).attention, number(kProjections + 4 * kC * 24));
  layer.causal = false;  // 3 and 4 keys at either end, 5 in the middle
  EXPECT_EQ(count(layer, 1, kT).attention, number(kProjections + 4 * kC * (2 * 3 + 2 * 4 + 5 * 5)));
}

TEST_F(Operations, of_grouped_heads_and_gated_layers_are_counted_as_they_are) {
  constexpr int64_t kT = 5;
  nn::TransformerBlockOptions layer = plain_layer();
  layer.kv_heads = 2;
  layer.names.gate = "gate";
  layer.activation = nn::Activation::silu;
  const OperationCount grouped = count(layer, 1, kT);
  EXPECT_EQ(grouped.attention, number(kT * (2 * kC * (kC + kC / 2 + kC / 2 + kC) + 4 * kT * kC)));
  EXPECT_EQ(grouped.rest, number(kT * (6 * kC * kF + 2 * kC * kV)));
  // Query heads 0 and 3 are left, and both key/value heads.
  layer.self_heads_left = nn::HeadNumbers{0, 3};
  EXPECT_EQ(count(layer, 1, kT).attention,
            number(kT * (2 * kC * (kC / 2 + kC / 2 + kC / 2 + kC / 2) + 4 * kT * kC / 2)));
  // Query heads 2 and 3 are left, and the key/value head that both read.
  layer.self_heads_left = nn::HeadNumbers{2, 3};
  EXPECT_EQ(count(layer, 1, kT).attention,
            number(kT * (2 * kC * (kC / 2 + kC / 4 + kC / 4 + kC / 2) + 4 * kT * kC / 2)));
}

TEST_F(Operations, of_an_encoder_decoder_take_in_both_sides) {
  const models::Seq2SeqConfig config = models::small_seq2seq();
  models::Seq2Seq model(config);
  models::fill(model, 3);
  constexpr int64_t kS = 7;
  constexpr int64_t kT = 4;
  const OperationCount count =
      count_operations(threads_, model,
                       {.ids = models::random_ids({1, kT}, model.vocab_size(), 1),
                        .source_ids = models::random_ids({1, kS}, model.source_vocab_size(), 2)});
  const int64_t c = config.d_model;
  const int64_t encoder = kS * (8 * c * c + 4 * kS * c);
  const int64_t decoder = kT * 8 * c * c + 4 * c * kT * (kT + 1) / 2;
  const int64_t cross = kT * 4 * c * c + kS * 4 * c * c + 4 * c * kT * kS;
  EXPECT_EQ(count.attention,
            number(config.encoder_layers * encoder + config.decoder_layers * (decoder + cross)));
  EXPECT_EQ(count.rest, number(config.encoder_layers * kS * 4 * c * config.encoder_ffn_dim +
                               config.decoder_layers * kT * 4 * c * config.decoder_ffn_dim +
                               kT * 2 * c * model.vocab_size()));
}

class Speed : public Operations {
 protected:
  Speed() {
    models::GptConfig config = models::small_gpt();
    config.n_embd = 64;
    config.n_head = 8;
    config.block_size = 48;
    gpt_ = std::make_unique<models::Gpt>(config);
    models::fill(*gpt_, 3);
    std::vector<HeadName> removed;
    for (const HeadName& head : heads_of(*gpt_)) {
      if (head.head % 2 == 0) removed.push_back(head);
    }
    pruned_ = pruned_model(*gpt_, removed);
  }

  std::unique_ptr<models::Model> gpt_;
  std::unique_ptr<models::Model> pruned_;
};

TEST_F(Speed, is_compared_with_the_arithmetic_of_both_models) {
  const SpeedResult result =
      compare_speed(threads_, *gpt_, *pruned_,
                    {.batches = {1, 3}, .tokens = {4, 40, 400}, .seconds = 0.01, .fewest = 3});
  EXPECT_EQ(result.threads, 2);
  ASSERT_EQ(result.rows.size(), 4u) << "400 tokens are beyond the context";
  for (const SpeedRow& row : result.rows) {
    const Batch batch{.ids = models::random_ids({row.batch, row.tokens}, gpt_->vocab_size(), 1)};
    const OperationCount full = count_operations(threads_, *gpt_, batch);
    const OperationCount pruned = count_operations(threads_, *pruned_, batch);
    EXPECT_DOUBLE_EQ(row.bound, full.all() / pruned.all());
    EXPECT_GT(row.bound, 1.1);
    EXPECT_EQ(row.operations_full.attention, full.attention);
    EXPECT_EQ(row.operations_pruned.rest, pruned.rest);
    EXPECT_LE(row.low, row.measured);
    EXPECT_LE(row.measured, row.high);
    EXPECT_GE(row.pairs, 3);
    EXPECT_GT(row.seconds_full, 0);
    EXPECT_GT(row.timed_full.attention, 0);
    EXPECT_GT(row.timed_full.rest, 0);
    EXPECT_NEAR(row.saved, (1 - 1 / row.measured) / (1 - 1 / row.bound), 1e-12);
  }
}

TEST_F(Speed, of_a_model_and_itself_is_one_by_arithmetic) {
  const SpeedResult result = compare_speed(
      threads_, *gpt_, *gpt_, {.batches = {1}, .tokens = {8}, .seconds = 0.01, .fewest = 3});
  EXPECT_EQ(result.rows[0].bound, 1);
  EXPECT_EQ(result.rows[0].saved, 1);
  EXPECT_EQ(result.rows[0].reason, SpeedReason::reached);
}

TEST_F(Speed, of_models_with_short_contexts_is_measured_there) {
  const SpeedResult result = compare_speed(
      threads_, *gpt_, *pruned_, {.batches = {1}, .tokens = {512}, .seconds = 0, .fewest = 1});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].tokens, 48);
}

TEST_F(Speed, is_of_models_that_do_the_same) {
  models::Seq2Seq translator(models::small_seq2seq());
  models::fill(translator, 3);
  expect_has(error_of([&] { compare_speed(threads_, *gpt_, translator); }),
             "do not do the same work");
  const SpeedResult result = compare_speed(
      threads_, translator, translator, {.batches = {2}, .tokens = {6}, .seconds = 0, .fewest = 1});
  EXPECT_EQ(result.rows.size(), 1u);
}

TEST_F(Speed, stops_when_it_is_told_to) {
  int asked = 0;
  const SpeedResult result = compare_speed(
      threads_, *gpt_, *pruned_,
      {.batches = {1, 2}, .tokens = {4}, .seconds = 0, .fewest = 2, .watch = {.interrupted = [&] {
                                                                      return ++asked > 3;
                                                                    }}});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.rows.size(), 1u);
}

TEST_F(Speed, is_told_as_json) {
  SpeedRow row{.batch = 2, .tokens = 16, .bound = 1.5, .measured = 1.25};
  row.low = 1.125;
  row.high = 1.375;
  row.pairs = 7;
  row.seconds_full = 0.5;
  row.seconds_pruned = 0.25;
  row.saved = 0.625;
  row.reason = SpeedReason::rest;
  row.operations_full = {.attention = 60, .rest = 40};
  row.operations_pruned = {.attention = 30, .rest = 20};
  row.timed_full = {.attention = 0.25, .rest = 0.75};
  row.timed_pruned = {.attention = 0.125, .rest = 0.5};
  EXPECT_EQ(io::json_text(speed_json({.rows = {row}, .threads = 3})),
            R"({"rows":[{"batch":2,"tokens":16,"bound":1.5,"measured":1.25,"low":1.125,)"
            R"("high":1.375,"pairs":7,"seconds_full":0.5,"seconds_pruned":0.25,"saved":0.625,)"
            R"("reason":"rest","attention":{"operations_full":60.0,"operations_pruned":30.0,)"
            R"("seconds_full":0.25,"seconds_pruned":0.125},"rest":{"operations_full":40.0,)"
            R"("operations_pruned":20.0,"seconds_full":0.75,"seconds_pruned":0.5}}],"threads":3})");
}

// A reason is told only where the figures beside it show it.
TEST(SpeedReasons, go_by_what_was_measured) {
  SpeedRow row{.bound = 2, .measured = 1.2, .low = 1.1, .high = 1.3, .saved = 1.0 / 3};
  row.operations_full = {.attention = 60, .rest = 40};
  row.operations_pruned = {.attention = 10, .rest = 40};
  row.timed_full = {.attention = 0.3, .rest = 0.7};
  row.timed_pruned = {.attention = 0.06, .rest = 0.7};
  EXPECT_EQ(speed_reason(row), SpeedReason::rest);
  row.timed_full = {.attention = 0.65, .rest = 0.35};
  row.timed_pruned = {.attention = 0.5, .rest = 0.35};
  EXPECT_EQ(speed_reason(row), SpeedReason::attention);
  row.timed_pruned = {.attention = 0.1, .rest = 0.35};
  EXPECT_EQ(speed_reason(row), SpeedReason::noise) << "neither explains it";
  row.timed_pruned = {.attention = 0.5, .rest = 0.35};
  row.high = 2.1;
  EXPECT_EQ(speed_reason(row), SpeedReason::noise);
  row.saved = 0.95;
  EXPECT_EQ(speed_reason(row), SpeedReason::reached);
}

}  // namespace
}  // namespace headlight::heads
