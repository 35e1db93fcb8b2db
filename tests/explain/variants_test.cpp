// The same step in other ways.
#include <cmath>
#include <set>

#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

class Variants : public ExplainTest {
 protected:
  // The variant of this key at a place of the worked model.
  Variant variant(Trace& trace, const std::string& place, const std::string& key) {
    for (Variant& variant : add_variants(trace, *worked_.back().model, place)) {
      if (variant.key == key) return variant;
    }
    ADD_FAILURE() << key << " is not there";
    return {};
  }
};

TEST_F(Variants, cover_every_disagreement_and_say_which_is_the_models_own) {
  Trace trace = worked_trace();
  const models::Model& model = *worked_.back().model;
  std::set<std::string> keys;
  std::set<std::string> own;
  for (const std::string& place : variant_places(trace)) {
    for (const Variant& variant : add_variants(trace, model, place)) {
      keys.insert(variant.key);
      if (variant.is_own) own.insert(variant.key);
      EXPECT_EQ(variant.place, place);
      if (variant.is_own) continue;
      EXPECT_TRUE(std::isfinite(variant.largest_difference)) << variant.key;
      for (const std::string& name : variant.tensors) {
        EXPECT_EQ(trace.at(name).variant, variant.key) << name;
      }
    }
  }
  EXPECT_EQ(own, (std::set<std::string>{"scale.sqrt_head_width", "norm.post", "epsilon.inside",
                                        "deviation.population", "feed_forward.two",
                                        "position_index.pair", "prediction.per_position"}));
  EXPECT_EQ(keys.size(), 16U);
}

TEST_F(Variants, can_be_explained_cell_by_cell) {
  for (const bool pre_norm : {false, true}) {
    Trace trace = worked_trace({.heads = 2, .head_width = 2, .pre_norm = pre_norm});
    add_variants(trace, *worked_.back().model);
    expect_all_explained(trace);
  }
  models::Gpt gpt({.block_size = 6, .vocab_size = 9, .n_layer = 2, .n_head = 2, .n_embd = 8});
  Trace trace = traced(gpt, 4);
  add_variants(trace, gpt);
  expect_all_explained(trace);
}

TEST_F(Variants, have_keys_of_the_formula_that_was_computed) {
  Trace trace = worked_trace();
  EXPECT_EQ(variant(trace, "logits", "prediction.per_position").formula, "prediction.logits");
  EXPECT_EQ(variant(trace, "encoder.0.ffn", "feed_forward.two").formula,
            "variant.feed_forward.two.bias");
}

TEST_F(Variants, are_added_once) {
  Trace trace = worked_trace();
  add_variants(trace, *worked_.back().model, "encoder.0.self");
  const size_t count = trace.tensors().size();
  add_variants(trace, *worked_.back().model, "encoder.0.self");
  EXPECT_EQ(trace.tensors().size(), count);
}

TEST_F(Variants, of_the_scale_divide_by_what_they_say) {
  Trace trace = worked_trace();
  const std::pair<const char*, double> cases[] = {
      {"scale.sqrt_width", std::sqrt(6.0)}, {"scale.width", 6.0}, {"scale.none", 1.0}};
  for (const auto& [key, divisor] : cases) {
    const Variant scaled = variant(trace, "encoder.0.self", key);
    const TracedTensor& tensor = trace.at(scaled.tensors.front());
    EXPECT_NEAR(tensor.number("factor"), 1 / divisor, 1e-6);
    const std::vector<int64_t> cell = {0, 0, 2, 3};
    EXPECT_NEAR(trace.value(tensor, cell) * divisor,
                trace.value(trace.at("encoder.0.self.scores"), cell), 1e-4);
    EXPECT_EQ(scaled.result_of, "encoder.0.self.head_output");
  }
  EXPECT_EQ(
      cell_text(trace, parse_cell(trace, "variant.scale.none.encoder.0.self.head.0.weights[1,2]")),
      "variant.scale.none.encoder.0.self.head.0.weights[1,2]");
}

TEST_F(Variants, of_the_deviation_are_as_by_hand) {
  Trace trace = worked_trace();
  const Variant outside = variant(trace, "encoder.0.norm_1", "epsilon.outside");
  const Variant sample = variant(trace, "encoder.0.norm_1", "deviation.sample");
  const TracedTensor& input = trace.at("encoder.0.norm_1.input");
  const double mean = trace.value(trace.at("encoder.0.norm_1.mean"), {0, 2});
  double squares = 0;
  for (int64_t c = 0; c < 6; ++c) squares += std::pow(trace.value(input, {0, 2, c}) - mean, 2);
  EXPECT_NEAR(trace.value(trace.at(outside.tensors[0]), {0, 2}), std::sqrt(squares / 6) + 1e-5,
              1e-6);
  EXPECT_NEAR(trace.value(trace.at(sample.tensors[0]), {0, 2}), std::sqrt(squares / 5 + 1e-5),
              1e-6);
}

TEST_F(Variants, of_positions_by_column_follow_the_other_formula) {
  Trace trace = worked_trace();
  const Variant columns = variant(trace, "encoder.positions", "position_index.column");
  const TracedTensor& positions = trace.at(columns.tensors.front());
  EXPECT_NEAR(trace.value(positions, {0, 3, 0}), std::sin(3.0), 1e-6);
  EXPECT_NEAR(trace.value(positions, {0, 3, 1}), std::cos(3 / std::pow(10000.0, 2.0 / 6)), 1e-6);
  EXPECT_NEAR(trace.value(positions, {0, 3, 2}), std::sin(3 / std::pow(10000.0, 4.0 / 6)), 1e-6);
}

TEST_F(Variants, of_the_prediction_are_the_same_for_one_row) {
  const WorkedModel worked = make_worked_model(default_sentences());
  const Input input = make_input(*worked.model, worked.tokenizer, {.text = "When you play"});
  Trace trace = trace_model(threads_, *worked.model, input);
  const Variant flattened = add_variants(trace, *worked.model, "logits").back();
  EXPECT_LT(flattened.largest_difference, 1e-6);
  Trace longer = worked_trace();
  EXPECT_GT(variant(longer, "logits", "prediction.flattened").largest_difference, 1e-3);
}

TEST_F(Variants, at_places_without_any_are_refused) {
  Trace trace = worked_trace();
  expect_has(error_of([&] { add_variants(trace, *worked_.back().model, "encoder.0.slef"); }),
             "variants (\"encoder.0.slef\"): no place with variants is called so; the nearest is "
             "encoder.0.self");
}

}  // namespace
}  // namespace headlight::explain
