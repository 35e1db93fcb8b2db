// Gradient importance: what it is, and what it does not depend on.
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using tensor::Tensor;

// Examples of different lengths; some targets do not count.
std::vector<Batch> random_examples(const models::Model& model, uint64_t seed) {
  std::vector<Batch> rows;
  const std::vector<int64_t> lengths = {7, 3, 9, 5};
  for (size_t i = 0; i < lengths.size(); ++i) {
    Batch row{
        .ids = models::random_ids({1, lengths[i]}, model.vocab_size(), seed + 10 * i),
        .targets = models::random_ids({1, lengths[i]}, model.vocab_size(), seed + 10 * i + 1)};
    row.targets.mutable_data<int64_t>()[0] = -1;
    if (model.capabilities().translates) {
      row.source_ids = models::random_ids({1, lengths[(i + 1) % 4] + 1}, model.source_vocab_size(),
                                          seed + 10 * i + 2);
    }
    rows.push_back(row);
  }
  return rows;
}

// Ids behind the ends that would change everything if anybody looked.
Batch with_other_padding(Batch batch, int64_t id) {
  for (int64_t b = 0; b < batch.ids.size(0); ++b) {
    for (int64_t t = batch.lens.data<int64_t>()[b]; t < batch.ids.size(1); ++t) {
      batch.ids.mutable_data<int64_t>()[b * batch.ids.size(1) + t] = id;
      batch.targets.mutable_data<int64_t>()[b * batch.ids.size(1) + t] = id;
    }
    if (!batch.source_ids.defined()) continue;
    for (int64_t t = batch.source_lens.data<int64_t>()[b]; t < batch.source_ids.size(1); ++t)
      batch.source_ids.mutable_data<int64_t>()[b * batch.source_ids.size(1) + t] = id;
  }
  return batch;
}

class Importance : public testing::Test {
 protected:
  double loss_of(models::Model& model, const Batch& batch) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    return model.loss(context, batch).item();
  }

  // (loss with the gate a bit wider open - a bit less) / difference.
  double gate_slope(models::Model& model, nn::MultiHeadAttention& attention, int64_t head,
                    const Batch& batch) {
    constexpr float kStep = 0.02F;
    double loss[2];
    for (const int side : {0, 1}) {
      std::vector<float> gates(static_cast<size_t>(attention.options().heads), 1.0F);
      gates[static_cast<size_t>(head)] += side == 1 ? kStep : -kStep;
      attention.set_gates(autograd::Value::leaf(Tensor::of({attention.options().heads}, gates)));
      loss[side] = loss_of(model, batch);
    }
    attention.set_gates({});
    return (loss[1] - loss[0]) / (2 * kStep);
  }

  base::ThreadPool threads_{2};
  std::vector<std::unique_ptr<models::Model>> models_ = one_of_each_kind();
};

TEST_F(Importance, is_the_slope_of_the_loss_along_each_gate_for_every_kind_of_model) {
  for (const auto& model : models_) {
    SCOPED_TRACE(std::string(model->type()));
    const std::vector<Batch> rows = random_examples(*model, 1);
    const ImportanceResult result = measure_importance(threads_, *model, batched(rows));
    EXPECT_EQ(result.examples, 4);
    EXPECT_NEAR(result.loss, loss_of(*model, joined(rows)), 1e-5) << "of all targets alike";
    for (nn::MultiHeadAttention* attention : model->attentions()) {
      for (int64_t head = 0; head < attention->options().heads; ++head) {
        double size = 0, with_sign = 0;
        for (const Batch& row : rows) {
          const double slope = gate_slope(*model, *attention, head, row);
          size += std::abs(slope) / 4;
          with_sign += slope / 4;
        }
        const std::string& place = attention->options().place;
        const HeadImportance& one = result.heads.at(place)[static_cast<size_t>(head)];
        EXPECT_NEAR(one.gradient, size, 3e-4 + 2e-2 * size) << place << "." << head;
        EXPECT_NEAR(one.gradient_signed, with_sign, 3e-4 + 2e-2 * size) << place << "." << head;
      }
    }
  }
}

void expect_same_importance(const ImportanceResult& a, const ImportanceResult& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.examples, b.examples);
  ASSERT_EQ(a.heads.size(), b.heads.size());
  for (const auto& [place, heads] : a.heads) {
    for (size_t i = 0; i < heads.size(); ++i) {
      const HeadImportance& other = b.heads.at(place)[i];
      SCOPED_TRACE(place + "." + std::to_string(i));
      EXPECT_EQ(heads[i].gradient, other.gradient);
      EXPECT_EQ(heads[i].gradient_signed, other.gradient_signed);
      EXPECT_EQ(heads[i].statistics.entropy, other.statistics.entropy);
      EXPECT_EQ(heads[i].statistics.mean_distance, other.statistics.mean_distance);
      EXPECT_EQ(heads[i].statistics.role, other.statistics.role);
      EXPECT_EQ(heads[i].confidence, other.confidence);
      EXPECT_EQ(heads[i].rows, other.rows);
    }
  }
}

TEST_F(Importance, depends_neither_on_batches_nor_on_padding_nor_on_threads) {
  for (const auto& model : models_) {
    SCOPED_TRACE(std::string(model->type()));
    const std::vector<Batch> rows = random_examples(*model, 2);
    const ImportanceResult alone = measure_importance(threads_, *model, batched(rows, 1));
    const Examples two = {joined({rows[0], rows[1]}), joined({rows[2], rows[3]})};
    expect_same_importance(alone, measure_importance(threads_, *model, two));
    base::ThreadPool one(1);
    expect_same_importance(alone,
                           measure_importance(one, *model, {with_other_padding(joined(rows), 5)}));
  }
}

TEST_F(Importance, leaves_the_model_as_it_was) {
  models::Model& model = *models_.front();
  nn::MultiHeadAttention* attention = model.attentions().front();
  const autograd::Value gates = autograd::Value::leaf(Tensor::of({4}, {1, 0, 0.5F, 1}));
  attention->set_gates(gates);
  const Examples examples = batched(random_examples(model, 3));
  const ImportanceResult result = measure_importance(threads_, model, examples);
  EXPECT_EQ(attention->gates().data().memory(), gates.data().memory());
  EXPECT_EQ(result.heads.at("decoder.0.self")[1].gradient, 0) << "it was off already";
  EXPECT_GT(result.heads.at("decoder.0.self")[0].gradient, 0);
  EXPECT_FALSE(model.attentions().back()->gates().defined());
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    EXPECT_FALSE(parameter->frozen());
    EXPECT_FALSE(parameter->grad().defined()) << "frozen parameters gather none";
  }
}

TEST_F(Importance, is_nothing_for_heads_that_add_nothing_and_of_length_one_in_each_layer) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 7);
  nn::Parameter& output = parameter_of(model, "transformer.h.1.attn.c_proj.weight");
  for (int64_t row = 12; row < 18; ++row) {  // head 2 of width 6, stored (in, out)
    for (int64_t column = 0; column < 24; ++column) set_number(output, row, column, 0);
  }
  const ImportanceResult result =
      measure_importance(threads_, model, batched(random_examples(model, 4)));
  for (const auto& [place, heads] : result.heads) {
    double squares = 0;
    for (size_t i = 0; i < heads.size(); ++i) {
      EXPECT_EQ(heads[i].gradient == 0, place == "decoder.1.self" && i == 2);
      squares += heads[i].gradient_normalized * heads[i].gradient_normalized;
    }
    EXPECT_NEAR(squares, 1, 1e-9);
  }
}

// One layer, one row of two keys with the same scores: weights one half.
TEST_F(Importance, entropy_confidence_and_distance_are_means_over_real_rows) {
  models::Bert model(models::small_bert());
  for (const nn::ParameterHandle& parameter : model.parameters())
    parameter->assign(Tensor::zeros(tensor::DType::f32, parameter->shape()));
  const std::vector<Batch> rows = {
      {.ids = models::integers({1, 2}, {1, 2}), .targets = models::integers({1, 2}, {1, -1})},
      {.ids = models::integers({1, 4}, {1, 2, 3, 4}),
       .targets = models::integers({1, 4}, {-1, -1, 1, 1})}};
  const ImportanceResult result = measure_importance(threads_, model, {joined(rows)});
  const HeadImportance& head = result.heads.at("encoder.0.self")[0];
  EXPECT_EQ(head.rows, 6);
  EXPECT_NEAR(head.statistics.entropy, (2 * std::log(2) + 4 * std::log(4)) / 6, 1e-6);
  EXPECT_NEAR(head.confidence, (2 * 0.5 + 4 * 0.25) / 6, 1e-6);
  // |i - j| over 2 keys is 1/2 on average; over 4 keys 6/4, 4/4, 4/4, 6/4.
  EXPECT_NEAR(head.statistics.mean_distance, (2 * 0.5 + 5.0) / 6, 1e-6);
  EXPECT_EQ(head.statistics.role, HeadRole::uniform);
  EXPECT_NEAR(result.loss, std::log(19), 1e-5);
}

TEST_F(Importance, examples_without_targets_do_not_count) {
  models::Model& model = *models_.front();
  std::vector<Batch> rows = random_examples(model, 5);
  const ImportanceResult three =
      measure_importance(threads_, model, batched({rows[0], rows[1], rows[2]}));
  for (int64_t i = 0; i < 5; ++i) rows[3].targets.mutable_data<int64_t>()[i] = -1;
  const ImportanceResult four = measure_importance(threads_, model, batched(rows));
  EXPECT_EQ(four.examples, 3);
  EXPECT_EQ(four.loss, three.loss);
  EXPECT_EQ(four.heads.at("decoder.0.self")[0].gradient,
            three.heads.at("decoder.0.self")[0].gradient);
  models::expect_has(
      tests::error_of([&] { measure_importance(threads_, model, batched({rows[3]})); }),
      "none of them has a target");
  models::expect_has(tests::error_of([&] { measure_importance(threads_, model, {}); }),
                     "there are none");
}

TEST_F(Importance, is_refused_by_models_that_predict_nothing) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert model(config);
  models::fill(model, 1);
  models::expect_has(tests::error_of([&] {
                       measure_importance(threads_, model, batched(random_examples(model, 1)));
                     }),
                     "predicts no words");
}

TEST_F(Importance, stops_when_it_is_told_and_tells_how_far_it_is) {
  models::Model& model = *models_.front();
  const Examples examples = batched(random_examples(model, 6), 1);
  std::vector<double> shares;
  Watch watch{.progress = [&](double share) { shares.push_back(share); }};
  measure_importance(threads_, model, examples, watch);
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
  watch.interrupted = [&] { return shares.size() >= 6; };
  EXPECT_TRUE(measure_importance(threads_, model, examples, watch).interrupted);
  EXPECT_EQ(shares.size(), 6u);
  EXPECT_TRUE(score_heads(threads_, model, examples, {.watch = watch}).interrupted);
}

TEST_F(Importance, of_a_circuit_is_with_the_heads_that_carry_the_answer) {
  const auto model = induction_circuit();
  std::vector<Batch> rows;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const BehaviourResult made =
        measure_behaviour(threads_, *model, {.sequences = 1, .tokens = 8, .seed = seed});
    const int64_t* ids = made.sequences[0].ids.data<int64_t>();
    std::vector<int64_t> targets(16, -1);
    for (size_t t = 8; t < 15; ++t) targets[t] = ids[t + 1];
    rows.push_back({.ids = models::integers({1, 16}, {ids, ids + 16}),
                    .targets = models::integers({1, 16}, targets)});
  }
  const HeadScores scores = score_heads(threads_, *model, batched(rows));
  ASSERT_EQ(scores.heads.size(), 4u);
  EXPECT_EQ(scores.heads[1].importance.gradient, 0);
  EXPECT_EQ(scores.heads[3].importance.gradient, 0);
  EXPECT_GT(scores.heads[2].importance.gradient, 0);
  EXPECT_LT(scores.heads[2].importance.gradient_signed, 0) << "turned up, the loss falls";
  // It looks at the token before and not at its own, which is the last that it sees.
  EXPECT_NEAR(scores.heads[0].importance.confidence, 1, 1e-6);
  EXPECT_EQ(scores.heads[0].role, HeadRole::previous);
  EXPECT_EQ(scores.heads[1].role, HeadRole::duplicate);
  EXPECT_EQ(scores.heads[2].role, HeadRole::induction);
  EXPECT_EQ(scores.heads[3].role, HeadRole::uniform);
  const AblationResult ablated = ablate_heads(threads_, *model, batched(rows));
  EXPECT_GT(ablated.heads[0].change, 1);
  EXPECT_EQ(ablated.heads[1].change, 0);
  EXPECT_GT(ablated.heads[2].change, 1);
  EXPECT_EQ(ablated.heads[3].change, 0);
}

TEST_F(Importance, scores_are_written_as_the_contract_has_them) {
  models::Model& model = *models_[2];
  const HeadScores scores = score_heads(threads_, model, batched(random_examples(model, 1)));
  const io::Json json = head_scores_json(scores);
  EXPECT_EQ(json.find("examples")->integer(), 4);
  EXPECT_EQ(json.find("loss")->number(), scores.loss);
  const io::Json::Array& heads = *json.find("heads")->array();
  ASSERT_EQ(heads.size(), 24u);
  const std::vector<std::string> keys = {
      "head",     "gradient",  "gradient_signed", "entropy",         "confidence", "mean_distance",
      "previous", "duplicate", "induction",       "prefix_matching", "copying",    "role"};
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ((*heads[0].object())[i].first, keys[i]);
  EXPECT_EQ(*heads[0].find("head")->text(), "encoder.0.self.0");
  EXPECT_TRUE(heads[0].find("copying")->is_null());
  EXPECT_TRUE(heads[0].find("induction")->is_null());
  EXPECT_TRUE(heads[0].find("uniform")->find("induction")->is_null());
  EXPECT_TRUE(heads[0].find("uniform")->find("previous")->number());
  EXPECT_EQ(*heads[12].find("head")->text(), "decoder.0.cross.0");
  EXPECT_TRUE(heads[12].find("previous")->is_null());
  EXPECT_TRUE(heads[12].find("gradient")->number());
  const io::Json& sequences = (*json.find("sequences")->array())[0];
  EXPECT_EQ(sequences.find("ids")->array()->size(), 8u);
  EXPECT_TRUE(sequences.find("source_ids"));
  EXPECT_EQ(json.find("compositions")->array()->size(), scores.compositions.size());
}

}  // namespace
}  // namespace headlight::heads
