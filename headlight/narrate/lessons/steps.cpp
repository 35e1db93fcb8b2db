// The lesson `steps`: one head on three inputs with the tutorial's own numbers; then eight heads,
// the residual, and the norm after the sum.
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using explain::Trace;
using tensor::Tensor;

constexpr int64_t kStepsInputs = 3;
constexpr int64_t kStepsWidth = 512;

// Row `row` of a (1, rows, width) tensor as a matrix of one row.
Tensor row_of(const Tensor& x, int64_t row) {
  return x.slice(1, row, 1).contiguous().reshaped({1, x.size(-1)});
}

nn::ParameterHandle whole_numbers(const std::string& name, const tensor::Shape& shape,
                                  const std::vector<float>& numbers) {
  return std::make_shared<nn::Parameter>(name, Tensor::of(shape, numbers));
}

Trace trace_one_head(LessonOptions& options) {
  const nn::Parameters weights = {
      whole_numbers("w_query", {4, 3}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1}),
      whole_numbers("w_key", {4, 3}, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0}),
      whole_numbers("w_value", {4, 3}, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0})};
  return explain::trace_run(options.threads, weights, [&](autograd::Context& context) {
    const Value x = leaf({1, kStepsInputs, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1});
    autograd::name_value(context, "", "x", x);
    const auto projected = [&](size_t weight, const char* name) {
      const Value made = autograd::linear(context, x, weights[weight]->value(), {},
                                          {.layout = autograd::WeightLayout::in_out});
      autograd::name_value(context, "self", name, made);
      return made;
    };
    const Value query = projected(0, "projected_query");
    const Value key = projected(1, "projected_key");
    const Value value = projected(2, "projected_value");
    const Value output =
        autograd::attention(context, query, key, value, {.scale = 1.0F, .place = "self"});
    autograd::name_value(context, "self", "output", output);
  });
}

// "2 · 2 + 2 · 3 + 2 · 1 = 12": the dot product of a query and a key of whole numbers, written out.
std::string dot_product_text(const Tensor& query, const Tensor& key, float score) {
  const auto shown = [](float whole) { return std::to_string(std::lround(whole)); };
  std::string text;
  for (int64_t i = 0; i < query.elements(); ++i) {
    text += (text.empty() ? "" : " + ") + shown(query.data<float>()[i]) + " · " +
            shown(key.data<float>()[i]);
  }
  return text + " = " + shown(score);
}

void add_scores(const LessonOptions& options, const Trace& head, ShownStep& step) {
  constexpr int64_t kQuery = 1, kKey = 2;  // the second query and the third key
  const Tensor scores = head.values("self.scores").reshaped({1, kStepsInputs, kStepsInputs});
  step.paragraphs.push_back(options.catalogue.text(
      "lesson.steps.4.all",
      {{"terms", dot_product_text(row_of(head.values("self.projected_query"), kQuery),
                                  row_of(head.values("self.projected_key"), kKey),
                                  scores.data<float>()[kQuery * kStepsInputs + kKey])}}));
  const auto array = [&](const char* name, const Tensor& numbers) {
    return of_run(options, lesson_array(options, name, "scores", numbers), "one_head",
                  "self.scores");
  };
  step.arrays = {array("scores", row_of(scores, 0)),
                 array("all_scores", scores.reshaped({kStepsInputs, kStepsInputs}))};
  step.slips = {"scaling"};
}

void add_one_head(LessonOptions& options, std::vector<ShownStep>& steps) {
  const Trace& head = options.runs->traced("one_head", [&] { return trace_one_head(options); });
  const auto step = [&](int number) -> ShownStep& {
    return steps.emplace_back(lesson_step(options, "steps", number));
  };
  // From the tensor's first number on.
  const auto array = [&](const char* name, const char* tensor, const char* key,
                         const Tensor& numbers) {
    return of_run(options, lesson_array(options, name, key, numbers), "one_head", tensor);
  };
  const auto projected = [&](const std::string& name) {
    return run_array(options, "one_head", "self.projected_" + name, name, name);
  };
  const auto plain = [&](const char* name) {
    return of_run(options, {.name = name, .title = name, .numbers = head.values(name)}, "one_head",
                  name);
  };
  const Tensor weights = head.values("self.weights").reshaped({1, kStepsInputs, kStepsInputs});
  const Tensor weighted =
      head.values("self.weighted_values").reshaped({kStepsInputs, kStepsInputs, 3});
  const Tensor output = head.values("self.output");
  step(1).arrays = {plain("x")};
  step(2).arrays = {plain("w_query"), plain("w_key"), plain("w_value")};
  step(3).arrays = {projected("query"), projected("key"), projected("value")};
  add_scores(options, head, step(4));
  step(5).arrays = {array("weights", "self.weights", "weights", row_of(weights, 0))};
  step(6).arrays = {array("weighted_values", "self.weighted_values", "weighted_values",
                          weighted.slice(0, 0, 1).contiguous().reshaped({kStepsInputs, 3}))};
  step(7).arrays = {array("output", "self.output", "self.output", row_of(output, 0))};
  step(8).arrays = {array("all_weights", "self.weights", "weights", weights),
                    array("all_outputs", "self.output", "self.output", output)};
}

// Eight heads without an output projection, the sum with what went in, and the norm of the sum.
Trace trace_eight_heads(LessonOptions& options) {
  const nn::MultiHeadAttention attention({.query_width = kStepsWidth,
                                          .heads = 8,
                                          .head_dim = 64,
                                          .output_projection = false,
                                          .qkv_bias = false,
                                          .place = "self"});
  nn::draw_xavier_uniform(attention.parameters(), options.seed);
  const nn::Norm norm("norm", {.width = kStepsWidth, .place = "norm"});
  nn::Parameters parameters = attention.parameters();
  nn::append(parameters, norm.parameters());
  return explain::trace_run(options.threads, parameters, [&](autograd::Context& context) {
    const Value x = Value::leaf(drawn_numbers({1, kStepsInputs, kStepsWidth}, options.seed, "x"));
    autograd::name_value(context, "", "sublayer_input", x);
    norm.forward(context, autograd::add(context, attention.forward(context, x), x));
  });
}

void add_residual(const LessonOptions& options, const Trace& run, ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  const Tensor x = row_of(run.values("sublayer_input"), 0);
  ShownTable table{{{"", catalogue.text("lesson.steps.cosine")}}};
  const auto add_line = [&](const char* title, const char* name, const char* number) {
    const double cosine = cosine_of(x, row_of(run.values(name), 0));
    table.lines.push_back({title, catalogue.number(cosine, 4)});
    step.numbers.push_back({number, cosine});
  };
  add_line("Sublayer(x)", "self.concatenated", "cosine_without_residual");
  add_line("x + Sublayer(x)", "norm.input", "cosine_with_residual");
  step.paragraphs.push_back(catalogue.text("lesson.steps.11.why"));
  step.tables = {table};
  const auto array = [&](const char* name, const char* title) {
    return of_run(options, {.name = name, .title = title, .numbers = run.values(name)},
                  "eight_heads", name);
  };
  step.arrays = {array("sublayer_input", "x"), array("norm.input", "x + Sublayer(x)")};
}

// μ, σ, γ and β of the first row, each with its number; then its first cell from them.
void add_norm(const LessonOptions& options, const Trace& run, ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  const auto first = [&](const char* name) {
    return static_cast<double>(run.values(name).data<float>()[0]);
  };
  const double mean = first("norm.mean"), deviation = first("norm.deviation");
  const double gain = first("norm.weight"), shift = first("norm.bias");
  step.numbers = {
      {"row_mean", mean}, {"row_deviation", deviation}, {"gain", gain}, {"shift", shift}};
  const auto line = [&](const char* symbol, const char* key, double value) {
    return std::vector<std::string>{symbol, catalogue.number(value, 4), catalogue.text(key)};
  };
  step.tables = {{{{"", catalogue.text("lesson.steps.first_row"), ""},
                   line("μ", "lesson.steps.norm.mean", mean),
                   line("σ", "lesson.steps.norm.deviation", deviation),
                   line("γ", "lesson.steps.norm.gain", gain),
                   line("β", "lesson.steps.norm.shift", shift)}}};
  const auto column = [&](const std::string& name) {
    const std::string tensor = "norm." + name;
    const Tensor numbers = run.values(tensor).reshaped({kStepsInputs, 1});
    return of_run(options, lesson_array(options, tensor, name, numbers), "eight_heads", tensor);
  };
  step.arrays = {column("mean"), column("deviation"),
                 run_array(options, "eight_heads", "norm.output", "norm.output", "output")};
  const auto shown = [&](double value) { return catalogue.number(value, 4); };
  step.afterwards = {catalogue.text(
      "lesson.steps.12.by_hand",
      {{"terms", shown(gain) + " · (" + shown(first("norm.input")) + " − (" + shown(mean) +
                     ")) / " + shown(deviation) + " + " + shown(shift) + " = " +
                     shown(gain * (first("norm.input") - mean) / deviation + shift)}})};
}

void add_eight_heads(LessonOptions& options, std::vector<ShownStep>& steps) {
  const Trace& run =
      options.runs->traced("eight_heads", [&] { return trace_eight_heads(options); });
  const auto step = [&](int number) -> ShownStep& {
    return steps.emplace_back(lesson_step(options, "steps", number));
  };
  ShownStep& heads = step(9);
  heads.arrays = {
      run_array(options, "eight_heads", "self.head_output", "head_output", "head_output")};
  heads.slips = {"split"};
  step(10).arrays = {
      run_array(options, "eight_heads", "self.concatenated", "concatenated", "concatenated")};
  add_residual(options, run, step(11));
  add_norm(options, run, step(12));
}

}  // namespace

std::vector<ShownStep> steps_lesson(LessonOptions& options) {
  std::vector<ShownStep> steps;
  add_one_head(options, steps);
  add_eight_heads(options, steps);
  return steps;
}

}  // namespace headlight::narrate
