// The lesson `d2l`: heads with free widths, valid lengths, and every weight 1/3 or 1/2.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kD2lWidth = 100;
constexpr int64_t kD2lHeads = 5;

nn::MultiHeadAttention module_of(uint64_t seed) {
  nn::MultiHeadAttention attention({.query_width = kD2lWidth,
                                    .heads = kD2lHeads,
                                    .qkv_bias = false,
                                    .out_bias = false,
                                    .weight_dropout = 0.5F,
                                    .names = nn::names_of(nn::AttentionLayout::d2l)});
  nn::draw_xavier_uniform(attention.parameters(), seed);
  return attention;
}

ShownArray with_heads(ShownArray array) {
  array.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
                explain::Axis::column};
  return array;
}

void add_scoring(LessonOptions& options, std::vector<ShownStep>& steps) {
  constexpr int64_t kSmall = 4;
  tensor::Arena arena;
  autograd::Recording dot = record_all();
  autograd::Recording additive = record_all();
  const Value query = Value::leaf(drawn_numbers({1, 2, kSmall}, options.seed, "query"));
  const Value key = Value::leaf(drawn_numbers({1, 3, kSmall}, options.seed, "key"));
  autograd::Context by_dot{.threads = options.threads, .arena = arena, .observer = &dot};
  autograd::attention(by_dot, query, key, key);
  autograd::Context by_sum{.threads = options.threads, .arena = arena, .observer = &additive};
  const nn::AdditiveAttention scoring({.query_width = kSmall, .key_width = kSmall, .hidden = 8});
  nn::draw_xavier_uniform(scoring.parameters(), options.seed);
  scoring.forward(by_sum, query, key, key);
  ShownStep& step = steps.emplace_back(lesson_step(options, "d2l", 2));
  step.arrays = {{.name = "dot.weights", .title = "q · k / √D", .numbers = dot.seen("weights")},
                 {.name = "additive.weights",
                  .title = "w_vᵀ tanh(W_q q + W_k k)",
                  .numbers = additive.seen("weights")}};
}

// How far the output moves when one head is silent, as a share of its length.
ShownStep silent_heads(LessonOptions& options) {
  tensor::Arena arena;
  autograd::Context context{.threads = options.threads, .arena = arena};
  nn::MultiHeadAttention attention = module_of(options.seed);
  const Value x = Value::leaf(drawn_numbers({1, 4, kD2lWidth}, options.seed, "x"));
  const Tensor whole = attention.forward(context, x).data().contiguous();
  ShownStep step = lesson_step(options, "d2l", 6);
  ShownTable table{
      {{options.catalogue.text("label.head"), options.catalogue.text("label.change")}}};
  for (int64_t head = 0; head < kD2lHeads; ++head) {
    std::vector<float> gates(kD2lHeads, 1.0F);
    gates[static_cast<size_t>(head)] = 0;
    attention.set_gates(leaf({kD2lHeads}, gates));
    const Tensor without = attention.forward(context, x).data().contiguous();
    double moved = 0, length = 0;
    for (int64_t i = 0; i < whole.elements(); ++i) {
      const double before = whole.data<float>()[i];
      moved += std::pow(before - without.data<float>()[i], 2);
      length += before * before;
    }
    const double share = std::sqrt(moved / length);
    table.lines.push_back({std::to_string(head), options.catalogue.number(share, 4)});
    step.numbers.push_back({"change_without_head_" + std::to_string(head), share});
  }
  step.tables = {table};
  return step;
}

}  // namespace

std::vector<ShownStep> d2l_lesson(LessonOptions& options) {
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const nn::MultiHeadAttention attention = module_of(options.seed);
  const Value queries = Value::leaf(ones_of({2, 4, kD2lWidth}));
  const Value pairs = Value::leaf(ones_of({2, 6, kD2lWidth}));
  const Tensor lengths = Tensor::of({2}, std::vector<int64_t>{3, 2});
  const Value output = attention.forward(context, queries, pairs, pairs, {.valid_lens = lengths});

  std::vector<ShownStep> steps;
  ShownStep& model = steps.emplace_back(lesson_step(options, "d2l", 1));
  for (const nn::ParameterHandle& parameter : attention.parameters()) {
    model.arrays.push_back({.name = parameter->name(),
                            .title = parameter->name(),
                            .numbers = parameter->value().data()});
  }
  add_scoring(options, steps);
  ShownStep& split = steps.emplace_back(lesson_step(options, "d2l", 3));
  split.arrays = {
      lesson_array(options, "projected_query", "projected_query", seen.seen("projected_query")),
      with_heads(lesson_array(options, "query", "query", seen.seen("query")))};
  split.slips = {"split"};
  ShownStep& weights = steps.emplace_back(lesson_step(options, "d2l", 4));
  weights.arrays = {with_heads(lesson_array(options, "weights", "weights", seen.seen("weights")))};
  ShownStep& merged = steps.emplace_back(lesson_step(options, "d2l", 5));
  merged.arrays = {lesson_array(options, "concatenated", "concatenated", seen.seen("concatenated")),
                   lesson_array(options, "output", "self.output", output.data())};
  merged.arrays.back().title = "[h_1 … h_5] W_o";
  steps.push_back(silent_heads(options));
  return steps;
}

}  // namespace headlight::narrate
