// What a trace lists, and that its numbers are the engine's.
#include <algorithm>
#include <set>

#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

void expect_all_shown(base::ThreadPool& threads, const Trace& trace, const models::Model& model) {
  autograd::Recording all(
      {.wants =
           [](std::string_view place) { return place.find(".head.") == std::string_view::npos; },
       .reports = false});
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &all};
  model.logits(context, model.forward(context, trace.input().batch));
  for (const auto& [name, values] : all.seen()) {
    ASSERT_NE(trace.find(name), nullptr) << name;
    EXPECT_TRUE(same_bits(trace.values(name), values)) << name;
    EXPECT_EQ(trace.at(name).shape, values.shape()) << name;
  }
}

void expect_well_formed(const Trace& trace) {
  std::set<std::string> known;
  for (const TracedTensor& parameter : trace.parameters()) known.insert(parameter.name);
  for (const TracedTensor& tensor : trace.tensors()) {
    EXPECT_EQ(tensor.axes.size(), static_cast<size_t>(tensor.shape.rank())) << tensor.name;
    EXPECT_EQ(trace.values(tensor.name).shape(), tensor.shape) << tensor.name;
    EXPECT_TRUE(operation_table().formulas.contains(tensor.formula)) << tensor.formula;
    EXPECT_EQ(tensor.formula.ends_with(".bias"), tensor.operand("bias") != nullptr) << tensor.name;
    const bool is_leaf = tensor.operation == "given" || tensor.operation == "sinusoid";
    EXPECT_EQ(tensor.operands.empty(), is_leaf) << tensor.name;
    for (const Operand& operand : tensor.operands) {
      EXPECT_TRUE(known.contains(operand.name)) << tensor.name << " before " << operand.name;
    }
    EXPECT_TRUE(known.insert(tensor.name).second) << tensor.name << " twice";
  }
}

TEST_F(ExplainTest, a_trace_lists_all_that_a_run_shows_with_the_same_bits) {
  for (const bool pre_norm : {false, true}) {
    const Trace trace = worked_trace({.heads = 2, .layers = 2, .pre_norm = pre_norm});
    expect_well_formed(trace);
    expect_all_shown(threads_, trace, *worked_.back().model);
  }
  models::Gpt gpt(models::small_gpt());
  const Trace of_gpt = traced(gpt, 7);
  expect_well_formed(of_gpt);
  expect_all_shown(threads_, of_gpt, gpt);
  models::Bert bert(models::small_bert());
  const Trace of_bert = traced(bert, 5);
  expect_well_formed(of_bert);
  expect_all_shown(threads_, of_bert, bert);
}

TEST_F(ExplainTest, cross_attention_has_queries_of_the_decoder_and_the_rest_of_the_encoder) {
  const Trace trace = worked_trace();
  EXPECT_EQ(*trace.at("decoder.0.cross.projected_key").operand("input"), "encoder.output");
  EXPECT_EQ(*trace.at("decoder.0.cross.projected_value").operand("input"), "encoder.output");
  EXPECT_EQ(*trace.at("decoder.0.cross.projected_query").operand("input"),
            "decoder.0.norm_1.output");
}

TEST_F(ExplainTest, a_gpt_cuts_its_fused_projection) {
  models::Gpt gpt(models::small_gpt());
  const Trace trace = traced(gpt, 5);
  EXPECT_EQ(trace.at("decoder.0.self.projected").operation, "linear");
  EXPECT_EQ(trace.at("decoder.0.self.projected_key").operation, "cut");
  EXPECT_EQ(trace.at("decoder.positions").operation, "table");
}

TEST_F(ExplainTest, axes_have_the_words_of_the_text) {
  const Trace trace = worked_trace();
  const TracedTensor& cross = trace.at("decoder.0.cross.weights");
  EXPECT_EQ(trace.labels(cross.axes[2]),
            (std::vector<std::string>{"<start>", "you", "win", "or", "you", "die"}));
  EXPECT_EQ(trace.labels(cross.axes[3]),
            (std::vector<std::string>{"When", "you", "play", "the", "game", "of", "thrones"}));
  EXPECT_EQ(trace.labels(trace.at("logits").axes[2])[13], "die");
  EXPECT_EQ(trace.at("shared.weight").axes.front(), Axis::vocabulary);
  EXPECT_EQ(trace.at("decoder.0.cross.weights").text, "decoder.cross.weights");
}

TEST_F(ExplainTest, one_head_and_one_row_have_the_bits_of_the_whole) {
  models::Gpt gpt(models::small_gpt());
  const Trace trace = traced(gpt, 9);
  for (const char* name : {"scores", "scaled_scores", "masked_scores", "weights", "query"}) {
    const std::string place = "decoder.1.self.";
    const Tensor whole = trace.values(place + name);
    const Tensor one = trace.values(place + "head.2." + name);
    EXPECT_TRUE(same_bits(one, whole.slice(1, 2, 1).contiguous().reshaped(one.shape()))) << name;
    const TracedTensor& tensor = trace.at(place + name);
    size_t i = 0;
    for (const std::vector<int64_t>& index : indices_of(tensor.shape)) {
      EXPECT_EQ(trace.value(tensor, index), whole.data<float>()[i++]) << name;
    }
  }
}

TEST_F(ExplainTest, chosen_layers_begin_with_what_comes_in) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 1);
  Input input;
  input.batch.ids = models::random_ids({1, 4}, gpt.vocab_size(), 4);
  const Trace trace = trace_model(threads_, gpt, input, {.layers = {1}});
  expect_well_formed(trace);
  EXPECT_EQ(trace.find("decoder.0.self.query"), nullptr);
  EXPECT_EQ(trace.at("decoder.1.residual_in").operation, "given");
  EXPECT_EQ(trace.at("decoder.1.self.query").operation, "split");
  EXPECT_EQ(trace.at("decoder.norm.input").operation, "copy");
}

TEST_F(ExplainTest, a_model_without_a_prediction_ends_with_its_output) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert bert(config);
  const Trace trace = traced(bert, 4);
  expect_well_formed(trace);
  EXPECT_EQ(trace.tensors().back().name, "encoder.output");
}

TEST_F(ExplainTest, more_than_one_sequence_is_refused) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 1);
  Input input;
  expect_has(error_of([&] { trace_model(threads_, gpt, input); }), "trace (ids): are missing");
  input.batch.ids = models::random_ids({2, 4}, gpt.vocab_size(), 4);
  expect_has(error_of([&] { trace_model(threads_, gpt, input); }),
             "trace (ids): are [2, 4], one sequence without padding is needed");
}

TEST_F(ExplainTest, gates_of_heads_are_seen) {
  models::Gpt gpt(models::small_gpt());
  gpt.attentions().front()->set_gates(autograd::Value::leaf(Tensor::of({4}, {1, 0, 1, 0.5F})));
  const Trace trace = traced(gpt, 4);
  const CellTerms cell =
      explain_cell(trace, parse_cell(trace, "decoder.0.self.concatenated[2,20]"));
  ASSERT_EQ(cell.terms.size(), 1);
  EXPECT_EQ(cell.terms[0].factors[1].value, 0.5);
  EXPECT_EQ(cell.combined, cell.value);
}

}  // namespace
}  // namespace headlight::explain
