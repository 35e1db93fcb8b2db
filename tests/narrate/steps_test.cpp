// The list of steps, and where tensors of models belong.
#include <algorithm>
#include <map>

#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using explain::TracedTensor;
using Names = std::vector<std::string>;

Names names_of(const std::vector<const TracedTensor*>& tensors) {
  Names names;
  for (const TracedTensor* tensor : tensors) names.push_back(tensor->name);
  return names;
}

void expect_steps(const Trace& trace, const std::map<std::string, Step>& expected) {
  for (const auto& [name, step] : expected) {
    EXPECT_EQ(step_of(trace, trace.at(name)), step) << name;
  }
}

// Every tensor is shown by the step that it belongs to, and by no other but the mask.
void expect_each_shown_once(const Trace& trace) {
  std::map<std::string, std::vector<Step>> shown_by;
  for (const Step step : all_steps()) {
    for (const TracedTensor* tensor : tensors_of(trace, step)) {
      if (step != Step::mask) shown_by[tensor->name].push_back(step);
    }
  }
  for (const TracedTensor& tensor : trace.tensors()) {
    const std::optional<Step> step = step_of(trace, tensor);
    ASSERT_TRUE(step) << tensor.name;
    const std::vector<Step> once =
        tensor.variant.empty() ? std::vector{*step} : std::vector<Step>();
    EXPECT_EQ(shown_by[tensor.name], once) << tensor.name;
  }
  for (const TracedTensor& parameter : trace.parameters()) {
    EXPECT_FALSE(step_of(trace, parameter)) << parameter.name;
    EXPECT_TRUE(step_of_use(trace, parameter)) << parameter.name;
  }
}

TEST(Steps, are_numbered_by_their_place_in_one_list) {
  const Names expected = {"data_set", "vocabulary", "encoding",   "embedding",    "positions",
                          "sum",      "attention",  "add_norm",   "feed_forward", "output",
                          "decoder",  "mask",       "prediction", "learning"};
  ASSERT_EQ(all_steps().size(), expected.size());
  for (int number = 1; number <= kStepCount; ++number) {
    const Step step = step_numbered(number);
    EXPECT_EQ(name_of(step), expected[static_cast<size_t>(number - 1)]);
    EXPECT_EQ(number_of(step), number);
    EXPECT_EQ(all_steps()[static_cast<size_t>(number - 1)], step);
  }
  EXPECT_EQ(number_of(std::optional<Step>()), 0);
}

TEST(Steps, that_texts_mention_have_their_numbers) {
  const std::string note = Catalogue::of("en").text("step.output.note", step_numbers());
  EXPECT_EQ(note, "With more layers, steps 7 to 10 repeat on this output.");
}

using StepsOf = NarrateTest;

TEST_F(StepsOf, an_encoder_decoder_are_told_by_names_alone) {
  const Trace trace = worked_trace();
  expect_each_shown_once(trace);
  expect_steps(trace, {{"encoder.ids", Step::encoding},
                       {"decoder.ids", Step::encoding},
                       {"encoder.embedding", Step::embedding},
                       {"encoder.positions", Step::positions},
                       {"encoder.sum", Step::sum},
                       {"encoder.0.residual_in", Step::attention},
                       {"encoder.0.self.scores", Step::attention},
                       {"encoder.0.self.output", Step::attention},
                       {"encoder.0.norm_1.mean", Step::add_norm},
                       {"encoder.0.ffn.hidden", Step::feed_forward},
                       {"encoder.0.norm_2.output", Step::output},
                       {"encoder.0.residual_out", Step::output},
                       {"encoder.output", Step::output},
                       {"decoder.embedding", Step::decoder},
                       {"decoder.0.self.weights", Step::decoder},
                       {"decoder.0.cross.key", Step::decoder},
                       {"decoder.0.norm_3.output", Step::decoder},
                       {"decoder.output", Step::decoder},
                       {"logits", Step::prediction},
                       {"logits.row_max", Step::prediction},
                       {"probabilities", Step::prediction}});
  EXPECT_EQ(step_of_use(trace, trace.at("encoder.layers.0.fc1.weight")), Step::feed_forward);
  EXPECT_EQ(step_of_use(trace, trace.at("shared.weight")), Step::embedding);
}

TEST_F(StepsOf, a_decoder_or_an_encoder_alone_are_the_same_as_of_an_encoder) {
  models::Gpt gpt(models::small_gpt());
  const Trace of_gpt = traced(gpt, 5);
  expect_each_shown_once(of_gpt);
  expect_steps(of_gpt, {{"decoder.sum", Step::sum},
                        {"decoder.1.self.scores", Step::attention},
                        {"decoder.1.norm_1.output", Step::add_norm},
                        {"decoder.1.norm_2.input", Step::output},
                        {"decoder.norm.output", Step::output}});
  EXPECT_TRUE(tensors_of(of_gpt, Step::decoder).empty());
  models::Bert bert(models::small_bert());
  const Trace of_bert = traced(bert, 4);
  expect_each_shown_once(of_bert);
  expect_steps(of_bert, {{"encoder.segment_ids", Step::encoding},
                         {"encoder.segments", Step::embedding},
                         {"encoder.embedding_norm.output", Step::sum},
                         {"prediction.hidden", Step::prediction}});
}

TEST_F(StepsOf, the_mask_are_scores_and_weights_of_what_may_not_look_ahead) {
  EXPECT_EQ(names_of(tensors_of(worked_trace(), Step::mask)),
            (Names{"decoder.0.self.scaled_scores", "decoder.0.self.masked_scores",
                   "decoder.0.self.row_max", "decoder.0.self.row_sum", "decoder.0.self.weights"}));
  models::Gpt gpt(models::small_gpt());
  EXPECT_EQ(tensors_of(traced(gpt, 5), Step::mask).size(), 10U);
  models::Bert bert(models::small_bert());
  EXPECT_TRUE(tensors_of(traced(bert, 4), Step::mask).empty());
}

TEST_F(StepsOf, variants_are_those_of_what_they_stand_for) {
  Trace trace = worked_trace();
  const auto before = names_of(tensors_of(trace, Step::attention));
  const std::map<std::string, Step> expected = {
      {"scale", Step::attention},           {"norm", Step::add_norm},
      {"epsilon", Step::add_norm},          {"deviation", Step::add_norm},
      {"feed_forward", Step::feed_forward}, {"position_index", Step::positions},
      {"prediction", Step::prediction}};
  std::map<std::string, Step> found;
  for (const explain::Variant& variant : add_variants(trace, *worked_.back().model)) {
    const std::optional<Step> step = step_of(trace, variant);
    ASSERT_TRUE(step) << variant.key;
    EXPECT_EQ(step, step_of(trace, trace.at(variant.tensors.front()))) << variant.key;
    found.emplace(variant.key.substr(0, variant.key.find('.')), *step);
  }
  EXPECT_EQ(found, expected);
  expect_each_shown_once(trace);
  EXPECT_EQ(names_of(tensors_of(trace, Step::attention)), before);
}

}  // namespace
}  // namespace headlight::narrate
