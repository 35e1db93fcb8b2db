// Every cell has terms that give its value, and leads back to a parameter.
#include <cmath>
#include <set>

#include "headlight/models/encoder_decoder_model.h"
#include "headlight/models/marian.h"
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

TEST_F(ExplainTest, every_cell_of_the_worked_model_is_what_its_terms_give) {
  expect_all_explained(worked_trace());
  expect_all_explained(worked_trace({.heads = 3, .head_width = 2, .pre_norm = true, .seed = 7}));
}

TEST_F(ExplainTest, every_cell_of_a_gpt_and_a_bert_is_what_its_terms_give) {
  models::Gpt gpt(models::small_gpt());
  expect_all_explained(traced(gpt, 5));
  models::Bert bert(models::small_bert());
  expect_all_explained(traced(bert, 4));
}

TEST_F(ExplainTest, every_cell_of_every_family_is_what_its_terms_give) {
  for (const std::string& family : models::golden_families()) {
    SCOPED_TRACE(family);
    const auto model = models::load_model(base::real_files(), models::golden_folder(family));
    expect_all_explained(traced(*model, 5, model->capabilities().translates ? 4 : 0));
  }
}

TEST_F(ExplainTest, every_cell_of_a_text_with_padding_inside_is_what_its_terms_give) {
  const auto model = models::load_model(base::real_files(), models::golden_folder("roberta"));
  models::fill(*model, 3);
  Input input;
  input.batch.ids = Tensor::zeros(DType::i64, {1, 6});
  const int64_t ids[] = {4, 1, 5, 1, 1, 7};  // 1 is the padding
  std::copy(std::begin(ids), std::end(ids), input.batch.ids.mutable_data<int64_t>());
  const Trace trace = trace_model(threads_, *model, input);
  std::vector<double> places;
  for (int64_t t = 0; t < 6; ++t)
    places.push_back(trace.value(trace.at("encoder.position_ids"), {0, t}));
  EXPECT_EQ(places, (std::vector<double>{0, -1, 1, -1, -1, 2}));
  expect_all_explained(trace);
}

TEST_F(ExplainTest, every_cell_of_a_marian_of_an_odd_width_is_what_its_terms_give) {
  models::EncoderDecoderModel marian(
      models::design_of(models::MarianConfig{.vocab_size = 11,
                                             .d_model = 9,
                                             .encoder_layers = 1,
                                             .decoder_layers = 1,
                                             .encoder_attention_heads = 3,
                                             .decoder_attention_heads = 1,
                                             .encoder_ffn_dim = 5,
                                             .decoder_ffn_dim = 7,
                                             .max_position_embeddings = 16}));
  const Trace trace = traced(marian, 5, 4);
  EXPECT_EQ(trace.at("encoder.positions").operation, "sinusoid");
  expect_all_explained(trace);
}

TEST_F(ExplainTest, every_cell_of_a_classified_text_is_what_its_terms_give) {
  for (const std::string& family : models::golden_classifiers()) {
    SCOPED_TRACE(family);
    const auto model = models::load_model(base::real_files(), models::classifier_folder(family));
    const Trace trace = traced(*model, 5);
    expect_all_explained(trace);
    EXPECT_EQ(trace.at("classifier.logits").operation, "linear");
    EXPECT_EQ(trace.at("classifier.pooled").operation, "mean_rows");
    EXPECT_EQ(trace.find("logits"), nullptr);
  }
}

TEST_F(ExplainTest, every_way_back_from_a_prediction_ends_at_a_parameter_or_an_input) {
  const Trace trace = worked_trace();
  std::set<std::pair<std::string, std::vector<int64_t>>> seen;
  std::set<std::string> leaves;
  std::vector<CellReference> open = {parse_cell(trace, "probabilities[0,5]")};
  while (!open.empty()) {
    const CellReference cell = open.back();
    open.pop_back();
    if (!seen.insert({cell.name, cell.index}).second) continue;
    const CellTerms terms = explain_cell(trace, cell);
    const std::vector<CellReference> next = terms.cells();
    if (next.empty()) leaves.insert(cell.name);
    open.insert(open.end(), next.begin(), next.end());
  }
  EXPECT_TRUE(leaves.contains("shared.weight"));
  for (const std::string& leaf : leaves) {
    const std::string operation = trace.at(leaf).operation;
    EXPECT_TRUE(operation == "parameter" || operation == "given" || operation == "sinusoid")
        << leaf;
  }
  EXPECT_GT(seen.size(), 1000U);
}

TEST_F(ExplainTest, terms_say_what_enters) {
  const Trace trace = worked_trace();
  const CellTerms score =
      explain_cell(trace, parse_cell(trace, "encoder.0.self.head.0.scores[3,5]"));
  EXPECT_EQ(score.operation, "scores");
  ASSERT_EQ(score.terms.size(), 4U);
  EXPECT_EQ(cell_text(trace, score.terms[2].factors[0].cell), "encoder.0.self.head.0.query[3,2]");
  EXPECT_EQ(cell_text(trace, score.terms[2].factors[1].cell), "encoder.0.self.head.0.key[5,2]");
  EXPECT_EQ(score.terms.back().running, score.combined);

  const CellTerms position = explain_cell(trace, parse_cell(trace, "encoder.positions[3,5]"));
  EXPECT_EQ(position.combination, "cosine");
  EXPECT_EQ(position.ingredients[0].key, "position");
  EXPECT_EQ(position.ingredients[0].value, 3);
  EXPECT_NEAR(position.ingredients[1].value, std::pow(10000.0, -4.0 / 6), 1e-12);

  const CellTerms hidden =
      explain_cell(trace, parse_cell(trace, "decoder.0.self.head.0.masked_scores[1,4]"));
  EXPECT_EQ(hidden.combination, "hidden");
  EXPECT_TRUE(std::isinf(hidden.value));

  const CellTerms deviation =
      explain_cell(trace, parse_cell(trace, "encoder.0.norm_1.deviation[2]"));
  EXPECT_EQ(deviation.terms.size(), 6U);
  EXPECT_EQ(deviation.ingredients[0].cell->name, "encoder.0.norm_1.mean");

  const CellTerms word = explain_cell(trace, parse_cell(trace, "encoder.embedding[1,0]"));
  EXPECT_EQ(cell_text(trace, word.terms[0].factors[0].cell), "shared.weight[5,0]");
  EXPECT_TRUE(explain_cell(trace, word.terms[0].factors[0].cell).cells().empty());
}

TEST_F(ExplainTest, what_is_scaled_shows_the_number_before_and_the_factor) {
  const Trace trace = worked_trace();
  const CellTerms scaled =
      explain_cell(trace, parse_cell(trace, "encoder.0.self.head.0.scaled_scores[1,2]"));
  const CellReference score = parse_cell(trace, "encoder.0.self.head.0.scores[1,2]");
  ASSERT_EQ(scaled.terms.size(), 1U);
  EXPECT_EQ(scaled.terms[0].factors[0].value, explain_cell(trace, score).value);
  EXPECT_EQ(scaled.terms[0].constant, 0.5);
  EXPECT_EQ(scaled.combination, "one");
}

TEST_F(ExplainTest, only_several_terms_that_are_added_add_up) {
  const Trace trace = worked_trace();
  const auto cell = [&](const char* name) { return explain_cell(trace, parse_cell(trace, name)); };
  for (const char* name : {"decoder.0.self.head.0.row_max[3]", "encoder.positions[2,3]",
                           "encoder.0.ffn.activated[1,1]", "encoder.output[1,1]",
                           "encoder.0.self.head.0.query[1,1]", "shared.weight[5,0]"}) {
    EXPECT_FALSE(cell(name).adds_up()) << name;
  }
  for (const char* name : {"encoder.0.self.head.0.row_sum[3]", "encoder.0.norm_1.mean[2]",
                           "encoder.0.norm_1.deviation[1]", "logits[0,1]", "encoder.sum[1,1]"}) {
    EXPECT_TRUE(cell(name).adds_up()) << name;
  }
  EXPECT_EQ(cell("encoder.output[1,1]").combination, "one");
  EXPECT_EQ(cell("encoder.0.self.head.0.query[1,1]").combination, "one");
  EXPECT_EQ(cell("encoder.sum[1,1]").combination, "sum");
}

TEST_F(ExplainTest, cells_are_read_and_written_in_the_same_form) {
  const Trace trace = worked_trace({.heads = 3});
  for (const char* text :
       {"encoder.0.self.head.2.scores[3,5]", "encoder.0.norm_1.mean[3]", "logits[0,28]",
        "shared.weight[5,0]", "decoder.0.self.head.1.weighted_values[3,2,1]",
        "encoder.0.self.head.2.row_max[6]", "encoder.layers.0.fc1.bias[4]"}) {
    EXPECT_EQ(cell_text(trace, parse_cell(trace, text)), text);
  }
  EXPECT_EQ(parse_cell(trace, "encoder.0.self.scores[0,2,3,5]"),
            parse_cell(trace, "encoder.0.self.head.2.scores[ 3, 5 ]"));
  EXPECT_EQ(parse_cell(trace, "encoder.0.self.scores[2,3,5]"),
            parse_cell(trace, "encoder.0.self.head.2.scores[0,3,5]"));
}

TEST_F(ExplainTest, wrong_cells_are_refused_with_what_would_be_right) {
  const Trace trace = worked_trace({.heads = 3});
  const std::pair<const char*, const char*> cases[] = {
      {"encoder.0.self.scors[3,5]", "the nearest is encoder.0.self.scores"},
      {"encoder.0.self.head.2.scors[3,5]", "the nearest is encoder.0.self.scores"},
      {"encoder.0.self.head.3.scores[3,5]", "head 3 is not within 0 and 2"},
      {"encoder.0.self.head.x.scores[3,5]", "head x is not within 0 and 2"},
      {"encoder.0.self.head.-1.scores[3,5]", "head -1 is not within 0 and 2"},
      {"encoder.0.norm_1.head.1.mean[3]", "encoder.0.norm_1.mean has no heads"},
      {"encoder.0.self.head.2.scores[3,7]",
       "index 7 is not within 0 and 6, the shape of encoder.0.self.scores is [1, 3, 7, 7]"},
      {"encoder.0.self.head.2.scores[-1,5]", "index -1 is not within 0 and 6"},
      {"encoder.0.self.head.2.scores[3]", "1 number for encoder.0.self.scores, whose shape is"},
      {"encoder.0.self.head.2.scores[1,2,3,4]", "4 numbers for"},
      {"encoder.0.self.scores[3,5]", "of head 0 it is encoder.0.self.head.0.scores[3,5]"},
      {"encoder.0.self.row_max[3]", "of head 0 it is encoder.0.self.head.0.row_max[3]"},
      {"encoder.0.self.head.2.scores", "numbers in brackets are expected"},
      {"encoder.0.self.head.2.scores[3,5", "numbers in brackets are expected"},
      {"encoder.0.self.head.2.scores[]", "whole numbers with commas are expected"},
      {"encoder.0.self.head.2.scores[3,]", "whole numbers with commas are expected"},
      {"encoder.0.self.head.2.scores[3,5.5]", "whole numbers with commas are expected"},
      {"encoder.0.self.head.2.scores[3,99999999999999999999]", "whole numbers with commas"},
      {"", "numbers in brackets are expected"},
      {"[0]", "there is no such tensor"},
  };
  for (const auto& [text, part] : cases) {
    expect_has(error_of([&] { parse_cell(trace, text); }), part);
  }
}

}  // namespace
}  // namespace headlight::explain
