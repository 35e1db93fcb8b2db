// What each layer would say: against the formulas, and against what the model says in the end.
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/block_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using tensor::Tensor;

class Lens : public models::ModelTest {
 protected:
  // Everything that a run shows.
  nn::Keeper run_of(const models::Model& model, const Batch& batch) {
    nn::Keeper run;
    models::Context context = inference_context();
    context.observer = &run;
    model.logits(context, model.forward(context, batch));
    return run;
  }

  // The last layer's words have the logits of the model, to the bit, and their probabilities.
  void expect_ends_with_the_model(const models::Model& model) {
    const Batch batch = random_batch(model, 7, 4);
    for (const int64_t position : {0, 3, 6}) {
      const LogitLens lens =
          logit_lens(threads_, model, batch, {.position = position, .word = 2, .against = 5}, 4);
      nn::Keeper run = run_of(model, batch);
      const int64_t words = model.vocab_size();
      const float* logits = run.seen.at("logits").data<float>() + position * words;
      const float* probabilities = run.seen.at("probabilities").data<float>() + position * words;
      const LensLayer& last = lens.layers.back();
      ASSERT_EQ(last.words.size(), 4u);
      for (const LensWord& word : last.words) {
        EXPECT_EQ(word.logit, static_cast<double>(logits[word.id]));
        EXPECT_NEAR(word.probability, probabilities[word.id], 1e-6);
      }
      EXPECT_EQ(last.words[0].id, std::max_element(logits, logits + words) - logits);
      EXPECT_EQ(last.word.id, 2);
      EXPECT_EQ(last.word.logit, static_cast<double>(logits[2]));
      EXPECT_EQ(last.against->logit, static_cast<double>(logits[5]));
    }
  }
};

TEST_F(Lens, ends_with_what_the_model_says) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 2);
  expect_ends_with_the_model(gpt);
  models::Bert bert(models::small_bert());
  models::fill(bert, 2);
  expect_ends_with_the_model(bert);
  for (const bool pre_norm : {true, false}) {
    models::Seq2SeqConfig config = models::small_seq2seq();
    config.normalize_before = pre_norm;
    config.final_layer_norm = pre_norm;
    models::Seq2Seq pairs(config);
    models::fill(pairs, 2);
    expect_ends_with_the_model(pairs);
  }
  for (const BlockModelOptions& options : {parallel_model(), both_norms_model()}) {
    BlockModel blocks(options);
    models::fill(blocks, 2);
    expect_ends_with_the_model(blocks);
  }
}

TEST_F(Lens, computes_the_final_norm_anew_for_each_layer) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 6);
  const Batch batch = random_batch(model, 6, 1);
  const LogitLens lens = logit_lens(threads_, model, batch, {.position = 4, .word = 3}, 17);
  nn::Keeper run = run_of(model, batch);
  EXPECT_EQ(lens.final_norm, "decoder.norm");
  const std::vector<std::string> streams = {"decoder.0.residual_in", "decoder.0.residual_out",
                                            "decoder.1.residual_out"};
  ASSERT_EQ(lens.layers.size(), streams.size());
  nn::StateDict state = model.state();
  for (size_t layer = 0; layer < streams.size(); ++layer) {
    EXPECT_EQ(lens.layers[layer].stream, streams[layer]);
    const float* x = run.seen.at(streams[layer]).data<float>() + 4 * 24;
    double mean = 0;
    for (int i = 0; i < 24; ++i) mean += x[i] / 24.0;
    double variance = 0;
    for (int i = 0; i < 24; ++i) variance += (x[i] - mean) * (x[i] - mean) / 24;
    double total = 0;
    ASSERT_EQ(lens.layers[layer].words.size(), 17u);
    for (size_t rank = 0; rank < 17; ++rank) {
      const LensWord& word = lens.layers[layer].words[rank];
      double logit = 0;
      for (int64_t i = 0; i < 24; ++i) {
        const double normed = (x[i] - mean) / std::sqrt(variance + 1e-5) *
                                  state.at("transformer.ln_f.weight").data<float>()[i] +
                              state.at("transformer.ln_f.bias").data<float>()[i];
        logit += normed * state.at("transformer.wte.weight").data<float>()[word.id * 24 + i];
      }
      EXPECT_NEAR(word.logit, logit, 1e-5);
      EXPECT_EQ(word.rank, static_cast<int64_t>(rank) + 1);
      if (rank > 0) {
        EXPECT_LE(word.logit, lens.layers[layer].words[rank - 1].logit);
      }
      if (word.id == 3) {
        EXPECT_EQ(word.rank, lens.layers[layer].word.rank);
      }
      total += word.probability;
    }
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST_F(Lens, passes_a_bert_through_its_whole_head_and_no_final_norm) {
  models::Bert model(models::small_bert());
  models::fill(model, 6);
  const Batch batch = random_batch(model, 6, 1);
  const LogitLens lens = logit_lens(threads_, model, batch, {.position = 2, .word = 3}, 3);
  EXPECT_EQ(lens.final_norm, "");
  nn::Keeper run = run_of(model, batch);
  ASSERT_EQ(lens.layers.size(), 3u);
  EXPECT_EQ(lens.layers[0].stream, "encoder.0.residual_in");
  for (const LensLayer& layer : lens.layers) {
    models::Context context = inference_context();
    const Tensor row = run.seen.at(layer.stream).slice(1, 2, 1).contiguous();
    const Tensor logits = model.logits(context, models::Value::leaf(row)).data();
    EXPECT_EQ(layer.word.logit, static_cast<double>(logits.data<float>()[3]));
  }
}

TEST_F(Lens, gives_equal_words_their_order_by_id) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 6);
  std::vector<float> table(17 * 24, 0.0F);
  set_numbers(model, "transformer.wte.weight", table);
  const LogitLens lens =
      logit_lens(threads_, model, random_batch(model, 3, 1), {.position = 1, .word = 5}, 3);
  EXPECT_EQ(lens.layers[0].words[0].id, 0);
  EXPECT_EQ(lens.layers[0].words[2].id, 2);
  EXPECT_EQ(lens.layers[0].word.rank, 6);
  EXPECT_NEAR(lens.layers[0].word.probability, 1.0 / 17, 1e-12);
}

TEST_F(Lens, takes_what_is_no_number_for_the_least_likely) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 6);
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name() != "transformer.wte.weight") continue;
    parameter->change().mutable_data<float>()[4 * 24] = NAN;  // of word 4, which nobody reads
  }
  const Batch batch{.ids = models::integers({1, 3}, {1, 2, 3})};
  const LogitLens lens = logit_lens(threads_, model, batch, {.position = 1, .word = 4}, 17);
  for (const LensLayer& layer : lens.layers) {
    EXPECT_EQ(layer.words.back().id, 4);
    EXPECT_EQ(layer.word.rank, 17);
  }
}

TEST_F(Lens, is_written_by_layer_with_the_words_of_the_vocabulary) {
  LogitLens lens{.final_norm = "decoder.norm", .layers = {}};
  lens.layers.push_back(
      {.stream = "decoder.0.residual_in",
       .words = {{.id = 4, .logit = 1.5, .probability = 0.5, .rank = 1}},
       .word = {.id = 2, .logit = 1, .probability = 0.25, .rank = 2},
       .against = LensWord{.id = 7, .logit = 0, .probability = 0.125, .rank = 5}});
  const auto label = [](int64_t id) { return "w" + std::to_string(id); };
  EXPECT_EQ(io::json_text(logit_lens_json(lens, label)),
            R"({"final_norm":"decoder.norm","layers":[{"layer":"decoder.0.residual_in","words":[)"
            R"({"word":"w4","id":4,"logit":1.5,"probability":0.5,"rank":1}],)"
            R"("word":{"word":"w2","id":2,"logit":1.0,"probability":0.25,"rank":2},)"
            R"("against":{"word":"w7","id":7,"logit":0.0,"probability":0.125,"rank":5}}]})");
}

TEST_F(Lens, of_a_model_that_predicts_nothing_is_refused) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert bare(config);
  models::fill(bare, 1);
  models::expect_has(
      models::error_of([&] { logit_lens(threads_, bare, random_batch(bare, 3, 1), {}); }),
      "logit lens (bert): the model predicts no words");
}

}  // namespace
}  // namespace headlight::heads
