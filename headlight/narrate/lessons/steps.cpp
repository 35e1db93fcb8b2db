// The lesson `steps`: one head on three inputs with the tutorial's own numbers; then eight heads,
// and the norm after the sum.
#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

// Row `row` of a (1, rows, width) tensor as a matrix of one row.
Tensor row_of(const Tensor& x, int64_t row) {
  return x.slice(1, row, 1).contiguous().reshaped({1, x.size(-1)});
}

struct OneHead {
  Value x, w_query, w_key, w_value;
  Tensor query, key, value, scores, weights, weighted, output;
};

OneHead run_one_head(LessonOptions& options) {
  OneHead head;
  tensor::Arena arena;
  autograd::Recording seen = record_all(/*with_weighted_values=*/true);
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  head.x = leaf({1, 3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1});
  head.w_query = leaf({4, 3}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  head.w_key = leaf({4, 3}, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0});
  head.w_value = leaf({4, 3}, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0});
  const autograd::LinearOptions in_out{.layout = autograd::WeightLayout::in_out};
  const Value query = autograd::linear(context, head.x, head.w_query, {}, in_out);
  const Value key = autograd::linear(context, head.x, head.w_key, {}, in_out);
  const Value value = autograd::linear(context, head.x, head.w_value, {}, in_out);
  const Value output = autograd::attention(context, query, key, value, {.scale = 1.0F});
  head.query = query.data();
  head.key = key.data();
  head.value = value.data();
  head.scores = seen.seen("scores").reshaped({1, 3, 3});
  head.weights = seen.seen("weights").reshaped({1, 3, 3});
  head.weighted = seen.seen("weighted_values").reshaped({3, 3, 3});
  head.output = output.data();
  return head;
}

void add_one_head(LessonOptions& options, std::vector<ShownStep>& steps) {
  const OneHead head = run_one_head(options);
  const auto step = [&](int number) -> ShownStep& {
    return steps.emplace_back(lesson_step(options, "steps", number));
  };
  const auto array = [&](const char* name, const char* key, const Tensor& numbers) {
    return lesson_array(options, name, key, numbers);
  };
  step(1).arrays = {{.name = "x", .title = "x", .numbers = head.x.data()}};
  step(2).arrays = {{.name = "w_query", .title = "w_query", .numbers = head.w_query.data()},
                    {.name = "w_key", .title = "w_key", .numbers = head.w_key.data()},
                    {.name = "w_value", .title = "w_value", .numbers = head.w_value.data()}};
  step(3).arrays = {array("query", "query", head.query), array("key", "key", head.key),
                    array("value", "value", head.value)};
  ShownStep& scores = step(4);
  scores.arrays = {array("scores", "scores", row_of(head.scores, 0))};
  scores.slips = {"scaling"};
  step(5).arrays = {array("weights", "weights", row_of(head.weights, 0))};
  step(6).arrays = {array("weighted_values", "weighted_values",
                          head.weighted.slice(0, 0, 1).contiguous().reshaped({3, 3}))};
  step(7).arrays = {array("output", "self.output", row_of(head.output, 0))};
  step(8).arrays = {array("all_weights", "weights", head.weights),
                    array("all_outputs", "self.output", head.output)};
}

void add_eight_heads(LessonOptions& options, std::vector<ShownStep>& steps) {
  constexpr int64_t kWidth = 512;
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const nn::MultiHeadAttention attention({.query_width = kWidth,
                                          .heads = 8,
                                          .head_dim = 64,
                                          .output_projection = false,
                                          .qkv_bias = false});
  nn::draw_xavier_uniform(attention.parameters(), options.seed);
  const Value x = Value::leaf(drawn_numbers({1, 3, kWidth}, options.seed, "x"));
  const Value output = attention.forward(context, x);
  const nn::Norm norm("norm", {.width = kWidth, .place = "norm"});
  norm.forward(context, autograd::add(context, output, x));

  ShownStep& heads = steps.emplace_back(lesson_step(options, "steps", 9));
  ShownArray each = lesson_array(options, "head_output", "head_output", seen.seen("head_output"));
  each.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
               explain::Axis::column};
  heads.arrays = {each, lesson_array(options, "concatenated", "concatenated", output.data())};
  heads.slips = {"split"};
  ShownStep& normed = steps.emplace_back(lesson_step(options, "steps", 10));
  const auto column = [&](const char* place) { return seen.seen(place).reshaped({3, 1}); };
  normed.arrays = {lesson_array(options, "norm.input", "input", seen.seen("norm.input")),
                   lesson_array(options, "norm.mean", "mean", column("norm.mean")),
                   lesson_array(options, "norm.deviation", "deviation", column("norm.deviation")),
                   lesson_array(options, "norm.output", "output", seen.seen("norm.output"))};
}

}  // namespace

std::vector<ShownStep> steps_lesson(LessonOptions& options) {
  std::vector<ShownStep> steps;
  add_one_head(options, steps);
  add_eight_heads(options, steps);
  return steps;
}

}  // namespace headlight::narrate
