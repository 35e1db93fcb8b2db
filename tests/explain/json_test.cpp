// What pages and other programs read.
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

TEST_F(ExplainTest, a_trace_as_json_says_how_each_tensor_came_about) {
  const Trace trace = worked_trace();
  const io::Json json = trace_json(trace);
  EXPECT_EQ(json.find("tensors")->array()->size(), trace.tensors().size());
  EXPECT_EQ(*json.find("tokens")->array()->front().text(), "<start>");
  EXPECT_EQ(io::json_text(tensor_json(trace.at("encoder.0.self.scaled_scores"))),
            R"({"name":"encoder.0.self.scaled_scores","operation":"scale",)"
            R"("operands":[{"role":"input","name":"encoder.0.self.scores"}],)"
            R"("attributes":{"factor":0.5},"shape":[1,1,7,7],)"
            R"("axes":["batch","head","source_token","source_token"],)"
            R"("formula":"attention.scale","text":"encoder.self.scaled_scores"})");
}

TEST_F(ExplainTest, a_cell_as_json_names_cells_that_can_be_asked_for_next) {
  const Trace trace = worked_trace();
  const CellReference score = parse_cell(trace, "decoder.0.cross.head.0.weights[1,2]");
  const io::Json json = cell_json(trace, explain_cell(trace, score));
  EXPECT_EQ(*json.find("cell")->text(), "decoder.0.cross.head.0.weights[1,2]");
  EXPECT_EQ(*json.find("combination")->text(), "quotient");
  const io::Json& sum = json.find("ingredients")->array()->at(1);
  EXPECT_EQ(*sum.find("key")->text(), "sum");
  EXPECT_EQ(parse_cell(trace, *sum.find("cell")->text()).name, "decoder.0.cross.row_sum");
  const io::Json& term = json.find("terms")->array()->front();
  EXPECT_EQ(*term.find("factors")->array()->front().find("cell")->text(),
            "decoder.0.cross.head.0.masked_scores[1,2]");
}

TEST_F(ExplainTest, variants_and_the_way_back_are_json_too) {
  Trace trace = worked_trace();
  models::Model& model = *worked_.back().model;
  const Variant variant = add_variants(trace, model, "encoder.0.self").back();
  EXPECT_EQ(*variant_json(variant).find("key")->text(), "scale.none");
  const CellReference weight = parse_cell(trace, "encoder.layers.0.fc1.weight[3,2]");
  const io::Json walk = backward_json(trace, walk_backward(trace, model, weight));
  EXPECT_EQ(*walk.find("weight")->text(), "encoder.layers.0.fc1.weight[3,2]");
  EXPECT_EQ(*walk.find("gradients")->array()->front().text(), "logits");
  const io::Json& factors = *walk.find("terms")->array()->front().find("factors");
  EXPECT_EQ(*factors.array()->at(0).find("cell")->text(), "encoder.0.norm_1.output[0,2]");
  EXPECT_EQ(*factors.array()->at(1).find("cell")->text(), "gradient.encoder.0.ffn.hidden[0,3]");
  EXPECT_TRUE(walk.find("update")->find("first_corrected")->number());
}

}  // namespace
}  // namespace headlight::explain
