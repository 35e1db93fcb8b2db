// A logit as a sum of parts: by hand, for every family, and against the parts passed forward.
#include <cmath>
#include <functional>
#include <map>

#include "headlight/heads/heads.h"
#include "tests/heads/block_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using tensor::Tensor;

// What a test asks: the model of a family with numbers everywhere.
struct Family {
  const char* name;
  std::function<std::unique_ptr<models::Model>()> make;
};

std::unique_ptr<models::Model> small_model(models::GptConfig config) {
  return std::make_unique<models::Gpt>(config);
}

std::unique_ptr<models::Model> small_pair(bool pre_norm, bool final_norm) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.normalize_before = pre_norm;
  config.final_layer_norm = final_norm;
  config.head_bias = final_norm;
  return std::make_unique<models::Seq2Seq>(config);
}

std::vector<Family> families() {
  const auto blocks = [](BlockModelOptions (*options)()) {
    return [options] { return std::make_unique<BlockModel>(options()); };
  };
  return {{"gpt", [] { return small_model(models::small_gpt()); }},
          {"gpt_without_biases",
           [] {
             models::GptConfig config = models::small_gpt();
             config.bias = false;
             config.tied_head = false;
             return small_model(config);
           }},
          {"bert", [] { return std::make_unique<models::Bert>(models::small_bert()); }},
          {"bert_with_relu",
           [] {
             models::BertConfig config = models::small_bert();
             config.activation = nn::Activation::relu;
             config.tied_head = false;
             return std::make_unique<models::Bert>(config);
           }},
          {"pairs_before", [] { return small_pair(true, true); }},
          {"pairs_after", [] { return small_pair(false, false); }},
          {"pairs_after_and_at_the_end", [] { return small_pair(false, true); }},
          {"parallel", blocks(parallel_model)},
          {"both_norms", blocks(both_norms_model)},
          {"blocks_in_pairs", blocks(+[] { return pair_model(nn::NormPlace::pre); })},
          {"blocks_in_pairs_after", blocks(+[] { return pair_model(nn::NormPlace::post); })}};
}

double value_of(const Attribution& attribution, const std::string& part) {
  for (const AttributedPart& one : attribution.parts) {
    if (one.part == part) return one.value;
  }
  ADD_FAILURE() << "there is no part " << part;
  return NAN;
}

double largest_part(const Attribution& attribution) {
  double most = 0;
  for (const AttributedPart& part : attribution.parts) most = std::max(most, std::abs(part.value));
  return most;
}

class Attributing : public models::ModelTest {
 protected:
  // Logits of one position by an ordinary run.
  std::vector<float> logits(const models::Model& model, const Batch& batch, int64_t position) {
    models::Context context = inference_context();
    const Tensor all = model.logits(context, model.forward(context, batch)).data();
    return models::floats(all.slice(1, position, 1).contiguous());
  }
  base::ThreadPool one_thread_{1};
};

TEST_F(Attributing, one_head_and_one_feed_forward_layer_come_out_as_by_hand) {
  BlockModelOptions options = one_linear_layer(1);
  options.vocabulary = 2;
  options.output_bias = true;
  options.decoder[0].width = 2;
  options.decoder[0].hidden = 1;
  options.decoder[0].activation = nn::Activation::relu;
  options.decoder[0].feed_forward_bias = true;
  const BlockModel model(options);
  set_numbers(model, "words.weight", {1, 2, 0, 3});
  for (const char* name : {"q", "k"}) {
    set_numbers(model, std::string("decoder.0.self.") + name + ".weight", {0, 0, 0, 0});
    set_numbers(model, std::string("decoder.0.self.") + name + ".bias", {0, 0});
  }
  // The head gives the mean of 10 * (1, 2) and 10 * (0, 3), then plus (1, 1); W_O swaps and halves.
  set_numbers(model, "decoder.0.self.v.weight", {10, 0, 0, 10});
  set_numbers(model, "decoder.0.self.v.bias", {1, 1});
  set_numbers(model, "decoder.0.self.o.weight", {0, 0.5F, 0.5F, 0});
  set_numbers(model, "decoder.0.self.o.bias", {0.25F, -0.25F});
  // max(0, x_0 + 1) * (2, 4) + (7, 8); x = (0, 3) + (13, 3) + (0.25, -0.25)
  set_numbers(model, "decoder.0.up.weight", {1, 0});
  set_numbers(model, "decoder.0.up.bias", {1});
  set_numbers(model, "decoder.0.down.weight", {2, 4});
  set_numbers(model, "decoder.0.down.bias", {7, 8});
  set_numbers(model, "head.weight", {1, 1, 3, 0});
  set_numbers(model, "head.bias", {0.5F, -1});

  const Attribution alone = attribute_logits(
      threads_, model, {.ids = models::integers({1, 2}, {0, 1})}, {.position = 1, .word = 0});
  EXPECT_DOUBLE_EQ(value_of(alone, "decoder.embedding"), 3);
  EXPECT_DOUBLE_EQ(value_of(alone, "decoder.0.self.0"), 13 + 3);
  EXPECT_DOUBLE_EQ(value_of(alone, "decoder.0.self.bias"), 0);
  EXPECT_DOUBLE_EQ(value_of(alone, "decoder.0.ffn"), 14.25 * 6);
  EXPECT_DOUBLE_EQ(value_of(alone, "decoder.0.ffn.bias"), 15);
  EXPECT_DOUBLE_EQ(value_of(alone, "output.bias"), 0.5);
  EXPECT_EQ(alone.parts.size(), 6u);
  EXPECT_DOUBLE_EQ(alone.sum, 3 + 16 + 85.5 + 15 + 0.5);
  EXPECT_DOUBLE_EQ(alone.measured, alone.sum);

  const Attribution above =
      attribute_logits(threads_, model, {.ids = models::integers({1, 2}, {0, 1})},
                       {.position = 1, .word = 0, .against = 1});
  EXPECT_DOUBLE_EQ(value_of(above, "decoder.embedding"), 3);  // (1 - 3) * 0 + (1 - 0) * 3
  EXPECT_DOUBLE_EQ(value_of(above, "decoder.0.self.0"), -2 * 13 + 3);
  EXPECT_DOUBLE_EQ(value_of(above, "decoder.0.self.bias"), -0.5 - 0.25);
  EXPECT_DOUBLE_EQ(value_of(above, "decoder.0.ffn"), 14.25 * (-4 + 4));
  EXPECT_DOUBLE_EQ(value_of(above, "decoder.0.ffn.bias"), -14 + 8);
  EXPECT_DOUBLE_EQ(value_of(above, "output.bias"), 1.5);
}

class EachFamily : public Attributing, public testing::WithParamInterface<Family> {};

TEST_P(EachFamily, has_parts_that_add_up_to_what_is_measured) {
  const std::unique_ptr<models::Model> model = GetParam().make();
  for (uint64_t input = 0; input < 100; ++input) {
    if (input % 10 == 0) models::fill(*model, 1 + input);
    const base::Random random(70 + input);
    const auto tokens = static_cast<int64_t>(1 + random.below(0, 9));
    Batch batch = random_batch(*model, tokens, input);
    LogitMetric metric{
        .position = static_cast<int64_t>(random.below(1, static_cast<uint64_t>(tokens))),
        .word = static_cast<int64_t>(random.below(2, 13))};
    if (input % 3 != 0) metric.against = (metric.word + 1 + static_cast<int64_t>(input) % 5) % 13;
    const Attribution attribution = attribute_logits(threads_, *model, batch, metric);
    const std::vector<float> expected = logits(*model, batch, metric.position);
    EXPECT_EQ(attribution.measured, metric_of(expected.data(), metric));
    double sum = 0;
    for (const AttributedPart& part : attribution.parts) {
      sum += part.value;
      EXPECT_NE(part.kind, PartKind::other) << part.part;
    }
    EXPECT_DOUBLE_EQ(attribution.sum, sum);
    EXPECT_DOUBLE_EQ(attribution.rounding, attribution.measured - sum);
    EXPECT_LE(std::abs(attribution.rounding), 1e-4 * largest_part(attribution)) << input;
  }
}

TEST_P(EachFamily, has_each_of_its_parts_once_by_its_public_name) {
  const std::unique_ptr<models::Model> model = GetParam().make();
  models::fill(*model, 3);
  const Attribution attribution = attribute_logits(threads_, *model, random_batch(*model, 6, 2),
                                                   {.position = 4, .word = 3, .against = 5});
  std::map<std::string, int> count;
  for (const AttributedPart& part : attribution.parts) ++count[part.part];
  for (const auto& [part, times] : count) EXPECT_EQ(times, 1) << part;
  const models::Parts parts = model->parts();
  const nn::TransformerStack& stack = parts.decoder ? *parts.decoder : *parts.encoder;
  EXPECT_TRUE(count.contains(stack.place() + ".embedding"));
  for (const AttentionHeads& attention : attention_heads(*model)) {
    for (const std::string& head : attention.head_names) {
      EXPECT_EQ(count.contains(head), attention.is_output_stack) << head;
    }
  }
  for (const nn::TransformerBlock& block : stack.blocks()) {
    EXPECT_TRUE(count.contains(block.options().place + ".ffn"));
    for (const nn::MultiHeadAttention* attention : {&block.self(), block.cross()}) {
      if (attention == nullptr) continue;
      const bool has_bias = attention->output_layer()->part().bias != nullptr;
      EXPECT_EQ(count.contains(attention->options().place + ".bias"), has_bias);
    }
    EXPECT_EQ(count.contains(block.options().place + ".ffn.bias"),
              block.feed_forward().second().part().bias != nullptr);
  }
  EXPECT_EQ(count.contains("output.bias"), parts.output->linear().part().bias != nullptr);
}

TEST_P(EachFamily, has_the_same_bits_for_any_number_of_threads) {
  const std::unique_ptr<models::Model> model = GetParam().make();
  models::fill(*model, 5);
  const Batch batch = random_batch(*model, 7, 9);
  const LogitMetric metric{.position = 5, .word = 2, .against = 7};
  const Attribution one = attribute_logits(one_thread_, *model, batch, metric);
  const Attribution many = attribute_logits(threads_, *model, batch, metric);
  ASSERT_EQ(one.parts.size(), many.parts.size());
  for (size_t i = 0; i < one.parts.size(); ++i) {
    EXPECT_EQ(one.parts[i].part, many.parts[i].part);
    EXPECT_EQ(one.parts[i].value, many.parts[i].value);
  }
}

// One walk for each word, and one head sent forward to all of them.
TEST_P(EachFamily, pushes_every_word_by_what_attribution_says_of_it) {
  const std::unique_ptr<models::Model> model = GetParam().make();
  for (uint64_t seed = 0; seed < 3; ++seed) {
    models::fill(*model, 11 + seed);
    const Batch batch = random_batch(*model, 7, seed);
    const auto position = static_cast<int64_t>(2 * seed);
    models::Context context = inference_context();
    autograd::Recording recording;
    context.observer = &recording;
    model->logits(context, model->forward(context, batch));
    std::vector<Attribution> words;
    for (int64_t word = 0; word < model->vocab_size(); ++word) {
      words.push_back(
          attribute_logits(threads_, *model, batch, {.position = position, .word = word}));
    }
    for (const AttentionHeads& attention : attention_heads(*model)) {
      for (const std::string& name : attention.head_names) {
        const HeadName head = parse_head_names(name, "test").front();
        if (!attention.is_output_stack) {
          models::expect_has(
              models::error_of([&] { head_pushes(threads_, *model, batch, head, position); }),
              "reaches the words through the decoder's heads alone");
          continue;
        }
        const std::vector<double> alone = head_pushes(threads_, *model, batch, head, position);
        const std::vector<double> recorded = head_pushes(recording, *model, head, position);
        ASSERT_EQ(alone.size(), words.size());
        ASSERT_EQ(recorded.size(), words.size());
        for (size_t word = 0; word < words.size(); ++word) {
          const double expected = value_of(words[word], name);
          const double size = std::max(1.0, std::abs(expected));
          EXPECT_NEAR(alone[word], expected, 1e-9 * size) << name << " " << word;
          EXPECT_NEAR(recorded[word], expected, 1e-5 * size) << name << " " << word;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attribution, EachFamily, testing::ValuesIn(families()),
                         [](const auto& info) { return std::string(info.param.name); });

// The other way round: a head's own rows, passed forward through the numbers of the run.
class PassedForward {
 public:
  PassedForward(const models::Model& model, nn::Keeper& run, int64_t position)
      : run_(run), position_(position) {
    for (const nn::ParameterHandle& parameter : model.parameters()) {
      parameters_[parameter->name()] = models::floats(parameter->value().data());
    }
  }

  const std::vector<float>& numbers(const std::string& name) const { return parameters_.at(name); }
  std::vector<double> row(const std::string& place) const {
    const Tensor& values = run_.seen.at(place);
    const int64_t width = values.size(-1);
    const float* first =
        values.data<float>() + (values.elements() == width ? 0 : position_) * width;
    return {first, first + width};
  }

  // z_h W_O^h; the weight is (outputs, inputs), or the other way round.
  std::vector<double> head(const std::string& place, int64_t head, int64_t width,
                           const std::string& weight, bool out_in) const {
    const std::vector<double> merged = row(place + ".concatenated");
    const std::vector<float>& w = numbers(weight);
    const size_t outputs = w.size() / merged.size();
    std::vector<double> result(outputs);
    for (size_t out = 0; out < outputs; ++out) {
      for (auto in = static_cast<size_t>(head * width);
           in < static_cast<size_t>((head + 1) * width); ++in) {
        result[out] += merged[in] * w[out_in ? out * merged.size() + in : in * outputs + out];
      }
    }
    return result;
  }

  // Less its mean, over the deviation of the run, times the weight.
  void norm(std::vector<double>& x, const std::string& place, const std::string& name) const {
    double mean = 0;
    for (const double number : x) mean += number / static_cast<double>(x.size());
    const Tensor& deviations = run_.seen.at(place + ".deviation");
    const double deviation = deviations.data<float>()[deviations.elements() == 1 ? 0 : position_];
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / deviation * numbers(name + ".weight")[i];
    }
  }

  double word(const std::vector<double>& x, const std::string& table, int64_t id) const {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i] * numbers(table)[static_cast<size_t>(id) * x.size() + i];
    }
    return sum;
  }

 private:
  nn::Keeper& run_;
  int64_t position_;
  std::map<std::string, std::vector<float>> parameters_;
};

TEST_F(Attributing, a_head_of_a_gpt_passes_through_the_final_norm_alone) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  const Batch batch = random_batch(model, 8, 3);
  const LogitMetric metric{.position = 6, .word = 2, .against = 11};
  nn::Keeper run;
  models::Context context = inference_context();
  context.observer = &run;
  model.forward(context, batch);
  const Attribution attribution = attribute_logits(threads_, model, batch, metric);
  const PassedForward forward(model, run, metric.position);
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::string place = "decoder." + std::to_string(layer) + ".self";
    const std::string weight = "transformer.h." + std::to_string(layer) + ".attn.c_proj.weight";
    for (int64_t head = 0; head < 4; ++head) {
      std::vector<double> x = forward.head(place, head, 6, weight, false);
      forward.norm(x, "decoder.norm", "transformer.ln_f");
      const double expected = forward.word(x, "transformer.wte.weight", 2) -
                              forward.word(x, "transformer.wte.weight", 11);
      EXPECT_NEAR(value_of(attribution, place + "." + std::to_string(head)), expected,
                  1e-5 * largest_part(attribution));
    }
  }
  EXPECT_TRUE(attribution.gains.empty());
}

TEST_F(Attributing, a_head_of_a_bert_passes_through_every_norm_after_it_and_the_gain_of_its_head) {
  models::Bert model(models::small_bert());
  models::fill(model, 4);
  const Batch batch = random_batch(model, 8, 3);
  const LogitMetric metric{.position = 2, .word = 2, .against = 11};
  nn::Keeper run;
  models::Context context = inference_context();
  context.observer = &run;
  const models::Value output = model.forward(context, batch);
  model.logits(context, autograd::slice(output, 1, metric.position, 1));
  const Attribution attribution = attribute_logits(threads_, model, batch, metric);
  const PassedForward forward(model, run, metric.position);
  const auto layer_name = [](int64_t layer) {
    return "bert.encoder.layer." + std::to_string(layer) + ".";
  };
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::string place = "encoder." + std::to_string(layer);
    for (int64_t head = 0; head < 4; ++head) {
      std::vector<double> x = forward.head(
          place + ".self", head, 6, layer_name(layer) + "attention.output.dense.weight", true);
      for (int64_t after = layer; after < 2; ++after) {
        const std::string at = "encoder." + std::to_string(after);
        forward.norm(x, at + ".norm_1", layer_name(after) + "attention.output.LayerNorm");
        forward.norm(x, at + ".norm_2", layer_name(after) + "output.LayerNorm");
      }
      std::vector<double> transformed;
      for (int64_t out = 0; out < 24; ++out) {
        transformed.push_back(forward.word(x, "cls.predictions.transform.dense.weight", out));
      }
      const std::vector<double> before = forward.row("prediction.hidden");
      const std::vector<double> after = forward.row("prediction.activated");
      for (size_t i = 0; i < transformed.size(); ++i) transformed[i] *= after[i] / before[i];
      forward.norm(transformed, "prediction.norm", "cls.predictions.transform.LayerNorm");
      const std::string table = "bert.embeddings.word_embeddings.weight";
      const double expected =
          forward.word(transformed, table, 2) - forward.word(transformed, table, 11);
      EXPECT_NEAR(value_of(attribution, place + ".self." + std::to_string(head)), expected,
                  1e-5 * largest_part(attribution));
    }
  }
  ASSERT_EQ(attribution.gains.size(), 1u);
  EXPECT_EQ(attribution.gains[0].place, "prediction");
  EXPECT_EQ(attribution.gains[0].activation, "gelu");
  for (const char* part :
       {"encoder.embedding", "encoder.segments", "encoder.positions", "encoder.embedding_norm.bias",
        "prediction.bias", "prediction.norm.bias", "output.bias"}) {
    value_of(attribution, part);
  }
}

TEST_F(Attributing, parts_stand_in_the_order_in_which_they_compute) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  const Attribution attribution =
      attribute_logits(threads_, model, random_batch(model, 3, 1), {.position = 2, .word = 1});
  std::vector<std::string> names;
  for (const AttributedPart& part : attribution.parts) names.push_back(part.part);
  const std::vector<std::string> expected = {
      "decoder.embedding",  "decoder.positions",   "decoder.0.self.0",    "decoder.0.self.1",
      "decoder.0.self.2",   "decoder.0.self.3",    "decoder.0.self.bias", "decoder.0.ffn",
      "decoder.0.ffn.bias", "decoder.1.self.0",    "decoder.1.self.1",    "decoder.1.self.2",
      "decoder.1.self.3",   "decoder.1.self.bias", "decoder.1.ffn",       "decoder.1.ffn.bias",
      "decoder.norm.bias"};
  EXPECT_EQ(names, expected);
}

TEST_F(Attributing, a_head_that_is_gated_off_adds_nothing) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  model.attentions()[1]->set_gates(
      models::Value::leaf(Tensor::of({4}, std::vector<float>{1, 0, 0.5F, 1})));
  const Attribution attribution =
      attribute_logits(threads_, model, random_batch(model, 5, 1), {.position = 4, .word = 1});
  EXPECT_EQ(value_of(attribution, "decoder.1.self.1"), 0);
  EXPECT_NE(value_of(attribution, "decoder.1.self.2"), 0);
  EXPECT_LE(std::abs(attribution.rounding), 1e-4 * largest_part(attribution));
}

TEST_F(Attributing, the_strongest_pushes_come_first_and_stop_at_nothing) {
  const StrongestPushes found = strongest_pushes({0.5, -1, 2, 0, 0.5, -3, 0}, 3);
  const auto ids = [](const std::vector<PushedWord>& words) {
    std::vector<int64_t> all;
    for (const PushedWord& word : words) all.push_back(word.id);
    return all;
  };
  EXPECT_EQ(ids(found.up), (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(ids(found.down), (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(io::json_text(pushes_json({.up = {{2, 1.5}}, .down = {}},
                                      [](int64_t id) { return "w" + std::to_string(id); })),
            R"({"up":[{"id":2,"token":"w2","value":1.5}],"down":[]})");
  EXPECT_TRUE(strongest_pushes({}, 3).up.empty());
}

TEST_F(Attributing, pushes_of_what_there_is_not_are_refused) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  const Batch batch = random_batch(model, 5, 1);
  const auto refused = [&](const HeadName& head, int64_t position) {
    return models::error_of([&] { head_pushes(threads_, model, batch, head, position); });
  };
  models::expect_has(refused({"decoder.0.self", 9}, 0), "pushes");
  models::expect_has(refused({"decoder.7.self", 0}, 0), "the model has no such attention");
  models::expect_has(refused({"decoder.0.self", 0}, 5), "there are 5 tokens, 0 to 4");
}

TEST_F(Attributing, is_written_with_what_was_measured_and_what_the_parts_give) {
  const Attribution attribution{.measured = 2.5,
                                .parts = {{"decoder.0.self.1", PartKind::head, 2.25}},
                                .sum = 2.25,
                                .rounding = 0.25,
                                .gains = {{"prediction", "gelu"}}};
  EXPECT_EQ(io::json_text(attribution_json(attribution)),
            R"({"measured":2.5,"parts":[{"part":"decoder.0.self.1","kind":"head","value":2.25}],)"
            R"("sum":2.25,"rounding":0.25,"gains":[{"place":"prediction","activation":"gelu"}]})");
}

TEST_F(Attributing, what_cannot_be_asked_is_refused_with_the_numbers) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  const Batch batch = random_batch(model, 5, 1);
  const auto refused = [&](const models::Model& asked, const Batch& given,
                           const LogitMetric& metric) {
    return models::error_of([&] { attribute_logits(threads_, asked, given, metric); });
  };
  models::expect_has(refused(model, batch, {.position = 5}),
                     "attribute (position 5): there are 5 tokens, 0 to 4");
  models::expect_has(refused(model, batch, {.position = -1}), "attribute (position -1)");
  models::expect_has(refused(model, batch, {.word = 17}),
                     "attribute (word): id 17 is none of the model's, which are 0 to 16");
  models::expect_has(refused(model, batch, {.against = -2}), "attribute (against): id -2");
  models::expect_has(refused(model, {.ids = models::random_ids({2, 5}, 17, 1)}, {}),
                     "one sequence [1, T] is needed");
  models::expect_has(refused(model, {}, {}), "attribute (ids): are missing");
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert bare(config);
  models::fill(bare, 1);
  models::expect_has(refused(bare, batch, {}), "the model predicts no words");
}

}  // namespace
}  // namespace headlight::heads
