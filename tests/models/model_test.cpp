// What models promise besides their numbers: first weights, dropout, places that can be seen, heads
// that can be left out, sentence vectors.
#include "headlight/optim/optim.h"
#include "tests/models/support.h"

namespace headlight::models {
namespace {

float deviation(const Tensor& numbers) {
  double sum = 0;
  for (const float number : floats(numbers)) sum += static_cast<double>(number) * number;
  return static_cast<float>(std::sqrt(sum / static_cast<double>(numbers.elements())));
}

const nn::Parameter& named(const nn::Parameters& parameters, const std::string& name) {
  for (const nn::ParameterHandle& parameter : parameters) {
    if (parameter->name() == name) return *parameter;
  }
  throw std::runtime_error("no parameter " + name);
}

TEST_F(ModelTest, gpt_starts_as_nanogpt_does) {
  Gpt model({.block_size = 64, .vocab_size = 65, .n_layer = 4, .n_head = 4, .n_embd = 128});
  model.draw(7);
  const nn::Parameters parameters = model.parameters();
  const auto deviation_of = [&](const std::string& name) {
    return deviation(named(parameters, "transformer." + name).value().data());
  };
  EXPECT_NEAR(deviation_of("wte.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation_of("h.3.mlp.c_fc.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation_of("h.3.mlp.c_proj.weight"), 0.02 / std::sqrt(8), 0.0005);
  EXPECT_NEAR(deviation_of("h.0.attn.c_proj.weight"), 0.02 / std::sqrt(8), 0.0005);
  EXPECT_EQ(deviation_of("h.0.attn.c_attn.bias"), 0);
  EXPECT_EQ(deviation_of("ln_f.weight"), 1);
  Gpt again(model.gpt_config());
  again.draw(7);
  EXPECT_TRUE(same_bits(again.state().at("transformer.wpe.weight"),
                        model.state().at("transformer.wpe.weight")));
}

TEST_F(ModelTest, encoder_decoder_starts_within_xaviers_bounds) {
  Seq2Seq model(small_seq2seq());
  model.draw(1);
  const Tensor weight = model.state().at("decoder.layers.1.fc1.weight");
  const float bound = std::sqrt(6.0F / (24 + 48));
  EXPECT_LE(largest(weight), bound);
  EXPECT_NEAR(deviation(weight), bound / std::sqrt(3.0F), 0.02);
}

TEST_F(ModelTest, dropout_depends_on_seed_and_step_and_only_on_them) {
  Seq2SeqConfig config = small_seq2seq();
  config.dropout = config.attention_dropout = config.activation_dropout = 0.2F;
  Seq2Seq model(config);
  fill(model, 1);
  const Batch batch{.ids = random_ids({2, 5}, 17, 1),
                    .source_ids = random_ids({2, 6}, 17, 2),
                    .targets = random_ids({2, 5}, 17, 3)};
  const auto loss = [&](bool training, uint64_t step) {
    Context context = inference_context();
    context.training = training;
    context.random.step = step;
    return model.loss(context, batch).item();
  };
  EXPECT_EQ(loss(true, 1), loss(true, 1));
  EXPECT_NE(loss(true, 1), loss(true, 2));
  EXPECT_NE(loss(true, 1), loss(false, 1));
  EXPECT_EQ(loss(false, 1), loss(false, 2));
}

TEST_F(ModelTest, a_bias_of_the_output_layer_changes_the_way_of_the_loss_but_not_the_loss) {
  Seq2SeqConfig config = small_seq2seq();
  Seq2Seq plain(config);
  fill(plain, 1);
  config.head_bias = true;
  Seq2Seq biased(config);
  nn::StateDict state = plain.state();
  state["lm_head.bias"] = Tensor::zeros(DType::f32, {17});
  biased.load_state(state, "test");
  const Batch batch{.ids = random_ids({2, 5}, 17, 1),
                    .source_ids = random_ids({2, 6}, 17, 2),
                    .targets = integers({2, 5}, {3, 4, -1, 6, 7, 1, -1, -1, 2, 0})};
  const auto loss = [&](const Model& model) {
    Context context = inference_context();
    return model.loss(context, batch, 0.1F).item();
  };
  EXPECT_NEAR(loss(plain), loss(biased), 1e-6);
}

TEST_F(ModelTest, encoder_decoder_shows_all_its_places) {
  Seq2Seq model(small_seq2seq());
  fill(model, 1);
  Keeper keeper;
  Context context = inference_context();
  context.observer = &keeper;
  const Batch batch{.ids = random_ids({2, 5}, 17, 1), .source_ids = random_ids({2, 6}, 17, 2)};
  model.logits(context, model.forward(context, batch));
  for (const char* place : {"encoder.embedding",
                            "encoder.positions",
                            "encoder.sum",
                            "encoder.output",
                            "encoder.0.residual_in",
                            "encoder.1.residual_out",
                            "encoder.1.self.weights",
                            "encoder.0.norm_1.mean",
                            "encoder.0.norm_2.normalized",
                            "encoder.0.ffn.hidden",
                            "decoder.embedding",
                            "decoder.positions",
                            "decoder.sum",
                            "decoder.output",
                            "decoder.0.self.head.3.weights",
                            "decoder.1.cross.weights",
                            "decoder.1.cross.output",
                            "decoder.0.norm_3.output",
                            "decoder.1.norm_3.input",
                            "decoder.0.ffn.activated",
                            "decoder.1.ffn.output",
                            "logits",
                            "probabilities"}) {
    EXPECT_TRUE(keeper.seen.contains(place)) << place;
  }
  EXPECT_EQ(keeper.seen["decoder.0.cross.weights"].shape(), (Shape{2, 4, 5, 6}));
  EXPECT_EQ(keeper.seen["encoder.positions"].shape(), (Shape{2, 6, 24}));
  EXPECT_TRUE(same_bits(keeper.seen["decoder.1.residual_out"], keeper.seen["decoder.output"]));
}

TEST_F(ModelTest, looking_changes_nothing) {
  Gpt model(small_gpt());
  fill(model, 1);
  const Batch batch{.ids = random_ids({2, 5}, 17, 1), .targets = random_ids({2, 5}, 17, 3)};
  const auto run = [&](autograd::Observer* observer) {
    Context context = recording_context();
    context.observer = observer;
    for (const nn::ParameterHandle& parameter : model.parameters()) parameter->clear_grad();
    tape_.backward(context, model.loss(context, batch));
    return model.parameters()[4]->grad().contiguous();
  };
  Keeper keeper;
  const Tensor alone = run(nullptr);
  EXPECT_TRUE(same_bits(alone, run(&keeper)));
  EXPECT_GT(keeper.seen.size(), 100u);
}

TEST_F(ModelTest, bert_with_segments_and_padding_is_bert_alone) {
  Bert model(small_bert());
  fill(model, 1);
  Context context = inference_context();
  const Tensor ids = random_ids({2, 8}, 19, 4);
  const Tensor segments = random_ids({2, 8}, 2, 5);
  const Tensor both =
      model.forward(context, {.ids = ids, .lens = integers({2}, {8, 3}), .segments = segments})
          .data();
  const auto part = [](const Tensor& x) { return x.slice(0, 1, 1).slice(1, 0, 3).contiguous(); };
  const Tensor alone =
      model.forward(context, {.ids = part(ids), .segments = part(segments)}).data();
  EXPECT_TRUE(same_bits(part(both), alone));
}

TEST_F(ModelTest, sentence_vectors_of_the_first_token_are_its_row_of_length_one) {
  Bert model(small_bert());
  fill(model, 1);
  Context context = inference_context();
  const Value output = model.forward(context, {.ids = random_ids({2, 4}, 19, 4)});
  const Tensor vectors =
      model.sentence_vectors(context, output, integers({2}, {4, 2}), Pooling::first);
  const std::vector<float> rows = floats(output.data());
  for (size_t b = 0; b < 2; ++b) {
    const float* row = rows.data() + b * 4 * 24;
    double square = 0;
    for (size_t c = 0; c < 24; ++c) square += static_cast<double>(row[c]) * row[c];
    for (size_t c = 0; c < 24; ++c) {
      EXPECT_NEAR(vectors.data<float>()[b * 24 + c], row[c] / std::sqrt(square), 1e-6);
    }
  }
  expect_has(error_of([&] {
               model.sentence_vectors(context, output, integers({2}, {4, 0}), Pooling::first);
             }),
             "sequence 1 is empty");
}

TEST_F(ModelTest, sentence_vectors_are_means_over_what_counts_of_length_one) {
  Bert model(small_bert());
  fill(model, 1);
  Context context = inference_context();
  const Value output = model.forward(context, {.ids = random_ids({2, 4}, 19, 4)});
  const Tensor vectors = model.sentence_vectors(context, output, integers({2}, {4, 2}));
  const std::vector<float> rows = floats(output.data());
  for (size_t b = 0; b < 2; ++b) {
    const size_t count = b == 0 ? 4 : 2;
    std::vector<double> mean(24);
    double square = 0;
    for (size_t c = 0; c < 24; ++c) {
      for (size_t t = 0; t < count; ++t) {
        mean[c] += static_cast<double>(rows[(b * 4 + t) * 24 + c]) / static_cast<double>(count);
      }
      square += mean[c] * mean[c];
    }
    for (size_t c = 0; c < 24; ++c) {
      EXPECT_NEAR(vectors.data<float>()[b * 24 + c], mean[c] / std::sqrt(square), 1e-6);
    }
  }
}

TEST_F(ModelTest, ids_that_do_not_fit_are_refused_with_the_numbers) {
  Gpt gpt(small_gpt());
  fill(gpt, 1);
  Seq2Seq seq2seq(small_seq2seq());
  fill(seq2seq, 1);
  Context context = inference_context();
  const auto gpt_error = [&](const Batch& batch) {
    return error_of([&] { gpt.forward(context, batch); });
  };
  expect_has(gpt_error({}), "decoder ids: there are none");
  expect_has(gpt_error({.ids = integers({1, 2}, {3, 17})}), "id 17 at position 1");
  expect_has(gpt_error({.ids = integers({1, 2}, {3, -1})}), "id -1 at position 1");
  expect_has(gpt_error({.ids = random_ids({1, 13}, 17, 1)}), "has 13 ids, the model has positions");
  expect_has(gpt_error({.ids = integers({2}, {3, 1})}), "int64 (B, T) is needed");
  expect_has(gpt_error({.ids = random_ids({2, 3}, 17, 1), .lens = integers({2}, {3, 4})}),
             "length 4 of sequence 1 is not within 0 and 3");
  expect_has(gpt_error({.ids = random_ids({2, 3}, 17, 1), .lens = integers({1}, {3})}),
             "int64 [2] is needed");
  const Tensor ids = random_ids({2, 3}, 17, 1);
  expect_has(error_of([&] { seq2seq.forward(context, {.ids = ids}); }), "source ids");
  expect_has(error_of([&] {
               seq2seq.forward(context, {.ids = ids, .source_ids = random_ids({3, 2}, 17, 1)});
             }),
             "2 sequences for 3 sources");
}

}  // namespace
}  // namespace headlight::models
