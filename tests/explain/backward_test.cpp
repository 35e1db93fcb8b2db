// From the loss to a weight, and what the optimizer makes of it.
#include <cmath>
#include <cstdlib>

#include "tests/explain/support.h"
#include "tests/places.h"

namespace headlight::explain {
namespace {

class Backward : public ExplainTest {
 protected:
  // The loss in double precision, from the engine's logits.
  double exact_loss(const models::Model& model, const models::Batch& batch) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const Tensor logits = model.logits(context, model.forward(context, batch)).data();
    const int64_t width = logits.size(-1);
    double total = 0;
    int64_t count = 0;
    for (int64_t row = 0; row < batch.targets.elements(); ++row) {
      const int64_t target = batch.targets.data<int64_t>()[row];
      if (target < 0) continue;
      const float* numbers = logits.data<float>() + row * width;
      double sum = 0;
      for (int64_t c = 0; c < width; ++c) sum += std::exp(static_cast<double>(numbers[c]));
      total += std::log(sum) - numbers[target];
      ++count;
    }
    return total / static_cast<double>(count);
  }

  // Central differences of two widths, combined so that the error of the third order goes.
  double slope(models::Model& model, const models::Batch& batch, const CellReference& weight) {
    const float before = *cell(model, weight);
    const auto loss_with = [&](float number) {
      *cell(model, weight) = number;
      return exact_loss(model, batch);
    };
    const auto difference = [&](float step) {
      return (loss_with(before + step) - loss_with(before - step)) / (2.0 * step);
    };
    const double wide = difference(0.005F);
    const double narrow = difference(0.0025F);
    *cell(model, weight) = before;
    return (4 * narrow - wide) / 3;
  }

  // For writing: each call makes a new version of the parameter.
  static float* cell(models::Model& model, const CellReference& weight) {
    for (const nn::ParameterHandle& parameter : model.parameters()) {
      if (parameter->name() != weight.name) continue;
      int64_t offset = 0;
      for (size_t axis = 0; axis < weight.index.size(); ++axis) {
        offset = offset * parameter->shape()[static_cast<int>(axis)] + weight.index[axis];
      }
      return parameter->change().mutable_data<float>() + offset;
    }
    return nullptr;
  }

  // Weights of all parameters, chosen at random.
  static std::vector<CellReference> random_weights(const Trace& trace, size_t count) {
    const base::Random random(11);
    std::vector<CellReference> weights;
    uint64_t next = 0;
    while (weights.size() < count) {
      const auto pick = random.below(next++, trace.parameters().size());
      CellReference weight{trace.parameters()[pick].name, {}};
      for (const int64_t size : trace.parameters()[pick].shape.sizes()) {
        weight.index.push_back(
            static_cast<int64_t>(random.below(next++, static_cast<uint64_t>(size))));
      }
      weights.push_back(std::move(weight));
    }
    return weights;
  }

  static void expect_terms(const Trace& trace, const BackwardWalk& walk) {
    const double sum = walk.terms.empty() ? 0 : walk.terms.back().running;
    double size = 1e-3;
    for (const Term& term : walk.terms) size += std::abs(term.value);
    EXPECT_NEAR(sum, walk.gradient, 2e-6 * size) << cell_text(trace, walk.weight);
  }

  const BackwardOptions options_ = {
      .optimizer = {.learning_rate = 0.01, .weight_decay = 0.1, .grad_clip = 0.5}};
};

TEST_F(Backward, gradients_of_200_weights_are_finite_differences_and_the_sums_of_their_terms) {
  const Trace trace = worked_trace();
  models::Model& model = *worked_.back().model;
  const models::Batch& batch = trace.input().batch;
  for (const CellReference& weight : random_weights(trace, 200)) {
    const BackwardWalk walk = walk_backward(trace, model, weight);
    EXPECT_NEAR(walk.gradient, slope(model, batch, weight), 3e-4 + 2e-3 * std::abs(walk.gradient))
        << cell_text(trace, weight);
    expect_terms(trace, walk);
  }
}

// The same in float64 by another program, where a step can be so small that no number passes the
// bend of a ReLU.
TEST_F(Backward, gradients_of_200_weights_are_those_of_another_program) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has NumPy";
  }
  const Trace trace = worked_trace();
  const test::TemporaryFolder folder;
  write_trace(base::real_files(), folder / "trace.safetensors", trace, trace_tensors(trace));
  io::Json::Array gradients;
  for (const CellReference& weight : random_weights(trace, 200)) {
    const double gradient = walk_backward(trace, *worked_.back().model, weight).gradient;
    gradients.emplace_back(
        io::Json::Object{{"name", weight.name},
                         {"index", io::Json::Array(weight.index.begin(), weight.index.end())},
                         {"gradient", gradient}});
  }
  const Tensor targets = trace.input().batch.targets;
  const int64_t* ids = targets.data<int64_t>();
  folder.put("gradients.json", io::json_text(io::Json::Object{
                                   {"targets", io::Json::Array(ids, ids + targets.elements())},
                                   {"gradients", std::move(gradients)}}));
  const std::string command = std::string("'") + python + "' '" + tests::source_folder() +
                              "/tests/explain/differences.py' '" + folder / "trace.safetensors" +
                              "' '" + folder / "gradients.json" + "' > '" + folder / "said" +
                              "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << folder.get("said");
}

TEST_F(Backward, the_update_is_the_optimizers_to_the_bit_and_the_model_is_put_back) {
  const Trace trace = worked_trace();
  models::Model& model = *worked_.back().model;
  const nn::StateDict before = model.state();
  std::map<std::string, std::vector<float>> numbers;
  for (const auto& [name, tensor] : before) numbers[name] = models::floats(tensor);

  // A twin that takes two steps of training.
  WorkedModel twin = make_worked_model(default_sentences(), {.heads = 1});
  optim::Optimizer optimizer(twin.model->parameters(), options_.optimizer);
  const auto step = [&] {
    tensor::Arena arena;
    autograd::Tape tape;
    autograd::Context context{.threads = threads_, .arena = arena, .tape = &tape};
    tape.backward(context, twin.model->loss(context, trace.input().batch));
    optimizer.step(context.execution());
    optimizer.clear_gradients();
  };
  step();
  for (const CellReference& weight : random_weights(trace, 200)) {
    const BackwardWalk walk = walk_backward(trace, model, weight, options_);
    EXPECT_EQ(walk.update.new_value, *cell(*twin.model, weight)) << cell_text(trace, weight);
    EXPECT_NEAR(walk.value + walk.update.decay + walk.update.change, walk.update.new_value, 1e-7);
    EXPECT_NEAR(walk.update.first_moment, 0.1 * walk.update.clipped_gradient, 1e-7);
    EXPECT_EQ(walk.update.step, 1);
  }
  for (const auto& [name, tensor] : model.state()) {
    EXPECT_EQ(models::floats(tensor), numbers[name]) << name;
  }

  BackwardOptions second = options_;
  for (const auto& [name, tensor] : optimizer.state()) {
    second.optimizer_state[name] = Tensor::of(tensor.shape(), models::floats(tensor));
  }
  const CellReference weight = parse_cell(trace, "decoder.layers.0.fc1.weight[3,2]");
  nn::StateDict state;
  for (const auto& [name, tensor] : twin.model->state()) {
    state[name] = Tensor::of(tensor.shape(), models::floats(tensor));
  }
  nn::load_state(model.parameters(), state);
  const Trace later = trace_model(threads_, model, trace.input());
  const BackwardWalk walk = walk_backward(later, model, weight, second);
  step();
  EXPECT_EQ(walk.update.new_value, *cell(*twin.model, weight));
  EXPECT_EQ(walk.update.step, 2);
  EXPECT_NE(walk.update.first_moment_before, 0);
}

TEST_F(Backward, the_loss_goes_down_and_clipping_is_shown) {
  const Trace trace = worked_trace();
  const CellReference weight = parse_cell(trace, "encoder.layers.0.fc1.weight[3,2]");
  const BackwardWalk walk = walk_backward(trace, *worked_.back().model, weight, options_);
  EXPECT_LT(walk.new_loss, walk.loss);
  EXPECT_GT(walk.update.gradient_norm, 0.5);
  EXPECT_NEAR(walk.update.clip_factor, 0.5 / walk.update.gradient_norm, 1e-5);
  EXPECT_EQ(walk.target_count, 6);
  EXPECT_NEAR(walk.loss, exact_loss(*worked_.back().model, trace.input().batch), 1e-6);
}

TEST_F(Backward, the_error_is_what_is_predicted_less_what_is_right) {
  const Trace trace = worked_trace();
  const BackwardWalk walk =
      walk_backward(trace, *worked_.back().model, parse_cell(trace, "lm_head.weight[5,1]"));
  const Tensor targets = trace.input().batch.targets;
  const TracedTensor& probabilities = trace.at("probabilities");
  for (int64_t t = 0; t < 6; ++t) {
    const int64_t right = targets.data<int64_t>()[t];
    EXPECT_FLOAT_EQ(walk.error.data<float>()[t * 29 + right],
                    static_cast<float>(trace.value(probabilities, {0, t, right})) - 1);
    EXPECT_EQ(walk.error.data<float>()[t * 29], trace.value(probabilities, {0, t, 0}));
  }
}

TEST_F(Backward, the_path_leads_from_the_logits_to_the_weight) {
  const Trace trace = worked_trace();
  const BackwardWalk walk =
      walk_backward(trace, *worked_.back().model,
                    parse_cell(trace, "encoder.layers.0.self_attn.q_proj.weight[1,2]"));
  EXPECT_EQ(walk.gradients.front().name, "logits");
  EXPECT_EQ(walk.gradients.back().name, "encoder.0.self.projected_query");
  std::map<std::string, Tensor> found;
  for (const TensorGradient& gradient : walk.gradients) {
    EXPECT_EQ(gradient.values.shape(), trace.at(gradient.name).shape) << gradient.name;
    found[gradient.name] = gradient.values;
  }
  for (const char* name :
       {"decoder.0.cross.value", "encoder.output", "encoder.0.norm_1.input", "encoder.0.ffn.hidden",
        "encoder.0.self.weights", "encoder.0.self.scores", "encoder.0.norm_2.normalized"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  EXPECT_FALSE(found.contains("encoder.0.self.key"));

  // Through softmax and scale by hand: dQ = dS K.
  const Tensor scores = found.at("encoder.0.self.scores");
  const Tensor key = trace.values("encoder.0.self.key");
  const Tensor query = found.at("encoder.0.self.query");
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t d = 0; d < 4; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < 7; ++j) {
        sum += static_cast<double>(scores.data<float>()[i * 7 + j]) * key.data<float>()[j * 4 + d];
      }
      EXPECT_NEAR(query.data<float>()[i * 4 + d], sum, 1e-7 + 1e-5 * std::abs(sum));
    }
  }
}

TEST_F(Backward, terms_add_up_in_every_kind_of_model) {
  models::Gpt gpt(models::small_gpt());
  const Trace of_gpt = traced(gpt, 6);
  for (const CellReference& weight : random_weights(of_gpt, 60)) {
    expect_terms(of_gpt, walk_backward(of_gpt, gpt, weight));
  }
  models::Bert bert(models::small_bert());
  const Trace of_bert = traced(bert, 5);
  for (const CellReference& weight : random_weights(of_bert, 60)) {
    expect_terms(of_bert, walk_backward(of_bert, bert, weight));
  }
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.normalize_before = true;
  config.final_layer_norm = true;
  config.learned_positions = true;
  models::Seq2Seq seq2seq(config);
  const Trace of_both = traced(seq2seq, 5, 7);
  for (const CellReference& weight : random_weights(of_both, 60)) {
    expect_terms(of_both, walk_backward(of_both, seq2seq, weight));
  }
}

TEST_F(Backward, terms_add_up_in_every_family) {
  for (const std::string& family : models::golden_families()) {
    SCOPED_TRACE(family);
    const auto model = models::load_model(base::real_files(), models::golden_folder(family));
    const Trace trace = traced(*model, 5, model->capabilities().translates ? 4 : 0);
    for (const CellReference& weight : random_weights(trace, 20)) {
      expect_terms(trace, walk_backward(trace, *model, weight));
    }
  }
}

// Where the norm comes first, a sum goes two ways: on with the stream, and through the next norm.
TEST_F(Backward, a_sum_has_the_whole_gradient_of_what_was_added_there) {
  models::Gpt model(models::small_gpt());
  const Trace trace = traced(model, 6);
  const BackwardWalk walk =
      walk_backward(trace, model, parse_cell(trace, "transformer.h.0.ln_1.weight[1]"));
  std::map<std::string, Tensor> found;
  for (const TensorGradient& gradient : walk.gradients) found[gradient.name] = gradient.values;
  for (const auto& [sum, branch] :
       std::map<std::string, std::string>{{"decoder.0.norm_2.input", "decoder.0.self.output"},
                                          {"decoder.0.residual_out", "decoder.0.ffn.output"},
                                          {"decoder.1.norm_1.input", "decoder.0.ffn.output"},
                                          {"decoder.1.norm_2.input", "decoder.1.self.output"},
                                          {"decoder.norm.input", "decoder.1.ffn.output"}}) {
    ASSERT_TRUE(found.contains(sum)) << sum;
    EXPECT_TRUE(models::same_bits(found.at(sum), found.at(branch))) << sum;
  }
}

TEST_F(Backward, the_steepest_weight_has_the_largest_gradient) {
  const Trace trace = worked_trace();
  models::Model& model = *worked_.back().model;
  const std::vector<std::string> names = {"encoder.layers.0.self_attn.v_proj.weight", "no.such",
                                          "encoder.layers.0.self_attn.out_proj.weight"};
  const CellReference steepest = steepest_weight(trace, model, names);
  const double largest = std::abs(walk_backward(trace, model, steepest).gradient);
  EXPECT_GT(largest, 0);
  for (const std::string& name : {names[0], names[2]}) {
    for (const std::vector<int64_t>& index : indices_of(trace.at(name).shape)) {
      EXPECT_LE(std::abs(walk_backward(trace, model, {name, index}).gradient), largest) << name;
    }
  }
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    EXPECT_FALSE(parameter->grad().defined()) << parameter->name();
  }
  expect_has(error_of([&] { steepest_weight(trace, model, {"logits"}); }), "none of them");
  const Trace blind =
      trace_model(threads_, model, make_input(model, worked_.back().tokenizer, {.text = "When"}));
  expect_has(error_of([&] { steepest_weight(blind, model, names); }), "(target): there is none");
}

TEST_F(Backward, what_cannot_be_walked_is_refused) {
  const Trace trace = worked_trace();
  models::Model& model = *worked_.back().model;
  expect_has(error_of([&] { walk_backward(trace, model, parse_cell(trace, "logits[0,1]")); }),
             "backward walk (logits): is no parameter");
  const CellReference weight = parse_cell(trace, "shared.weight[5,1]");
  expect_has(error_of([&] {
               walk_backward(trace, model, weight,
                             {.optimizer = {.kind = optim::OptimizerKind::sgd}});
             }),
             "(optimizer): only adamw");
  const Input input = make_input(model, worked_.back().tokenizer, {.text = "When"});
  const Trace blind = trace_model(threads_, model, input);
  expect_has(error_of([&] { walk_backward(blind, model, weight); }), "(target): there is none");
}

}  // namespace
}  // namespace headlight::explain
