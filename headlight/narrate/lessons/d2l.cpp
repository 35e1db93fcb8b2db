// The lesson `d2l`: heads with free widths, valid lengths, every weight 1/3 or 1/2, and the
// flattened view that the code attends with. Its exercises are in d2l_exercises.cpp.
#include "headlight/narrate/lessons/d2l.h"

#include "headlight/narrate/lessons/lesson_parts.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kBatchSize = 2;
constexpr int64_t kQueryCount = 4;
constexpr int64_t kPairCount = 6;

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

// p_q = p_k = p_v = p_o / h: the widths that let one product compute all heads.
void add_widths(const LessonOptions& options, const nn::MultiHeadAttention& attention,
                ShownStep& step) {
  const nn::MultiHeadAttentionOptions& widths = attention.options();
  step.paragraphs.insert(step.paragraphs.begin(), options.catalogue.text("lesson.d2l.1.why"));
  step.paragraphs.push_back(options.catalogue.text(
      "lesson.d2l.1.widths", {{"width", std::to_string(widths.out_dim)},
                              {"heads", std::to_string(widths.heads)},
                              {"head_width", std::to_string(widths.head_dim)}}));
  step.numbers = {{"p_o", static_cast<double>(widths.out_dim)},
                  {"h", static_cast<double>(widths.heads)},
                  {"p_q", static_cast<double>(widths.head_dim)}};
}

// (B, H, T, D) as the code has it: batch and heads in one axis.
Tensor flattened(const Tensor& x) {
  return x.contiguous().reshaped({x.size(0) * x.size(1), x.size(2), x.size(3)});
}

// Attention over the flattened view, each length once for each head, beside the module's own.
void add_flattened(LessonOptions& options, const autograd::Recording& seen, const Tensor& lengths,
                   ShownStep& step) {
  std::vector<int64_t> repeated;
  for (int64_t sequence = 0; sequence < kBatchSize; ++sequence) {
    repeated.insert(repeated.end(), kD2lHeads, lengths.data<int64_t>()[sequence]);
  }
  const Tensor of_all = Tensor::of({kBatchSize * kD2lHeads}, repeated);
  tensor::Arena arena;
  autograd::Recording flat = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &flat};
  autograd::attention(context, Value::leaf(flattened(seen.seen("query"))),
                      Value::leaf(flattened(seen.seen("key"))),
                      Value::leaf(flattened(seen.seen("value"))), {.valid_lens = of_all});
  const Tensor weights = flattened(flat.seen("weights").reshaped(seen.seen("weights").shape()));
  const double difference = largest_difference(weights, seen.seen("weights"));
  step.paragraphs.push_back(options.catalogue.text(
      "lesson.d2l.4.repeat", {{"difference", options.catalogue.number(difference, 4)}}));
  step.arrays.push_back(
      lesson_array(options, "valid_lens", "valid_lens", lengths.reshaped({1, kBatchSize})));
  step.arrays.push_back(lesson_array(options, "repeated_valid_lens", "valid_lens",
                                     of_all.reshaped({1, kBatchSize * kD2lHeads})));
  step.numbers = {{"flattened_difference", difference}};
}

}  // namespace

nn::MultiHeadAttention d2l_module(uint64_t seed) {
  nn::MultiHeadAttention attention({.query_width = kD2lWidth,
                                    .heads = kD2lHeads,
                                    .qkv_bias = false,
                                    .out_bias = false,
                                    .weight_dropout = 0.5F,
                                    .names = nn::names_of(nn::AttentionLayout::d2l)});
  nn::draw_xavier_uniform(attention.parameters(), seed);
  return attention;
}

std::vector<ShownStep> d2l_lesson(LessonOptions& options) {
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const nn::MultiHeadAttention attention = d2l_module(options.seed);
  const Value queries = Value::leaf(ones_of({kBatchSize, kQueryCount, kD2lWidth}));
  const Value pairs = Value::leaf(ones_of({kBatchSize, kPairCount, kD2lWidth}));
  const Tensor lengths = Tensor::of({kBatchSize}, std::vector<int64_t>{3, 2});
  const Value output = attention.forward(context, queries, pairs, pairs, {.valid_lens = lengths});

  std::vector<ShownStep> steps;
  ShownStep& model = steps.emplace_back(lesson_step(options, "d2l", 1));
  add_widths(options, attention, model);
  for (const nn::ParameterHandle& parameter : attention.parameters()) {
    model.arrays.push_back({.name = parameter->name(),
                            .title = parameter->name(),
                            .numbers = parameter->value().data()});
  }
  add_scoring(options, steps);
  ShownStep& split = steps.emplace_back(lesson_step(options, "d2l", 3));
  split.paragraphs.push_back(options.catalogue.text("lesson.d2l.3.flat"));
  split.arrays = {
      lesson_array(options, "projected_query", "projected_query", seen.seen("projected_query")),
      with_heads(lesson_array(options, "query", "query", seen.seen("query"))),
      lesson_array(options, "flattened_query", "query", flattened(seen.seen("query")))};
  split.slips = {"split"};
  ShownStep& weights = steps.emplace_back(lesson_step(options, "d2l", 4));
  add_flattened(options, seen, lengths, weights);
  weights.arrays.push_back(
      with_heads(lesson_array(options, "weights", "weights", seen.seen("weights"))));
  ShownStep& merged = steps.emplace_back(lesson_step(options, "d2l", 5));
  merged.arrays = {lesson_array(options, "concatenated", "concatenated", seen.seen("concatenated")),
                   lesson_array(options, "output", "self.output", output.data())};
  merged.arrays.back().title = "[h_1 … h_5] W_o";
  for (const char* key :
       {"lesson.d2l.summary", "lesson.d2l.summary.subspaces", "lesson.d2l.summary.parallel"}) {
    merged.afterwards.push_back(options.catalogue.text(key));
  }
  steps.push_back(d2l_drawn_heads(options, seen.seen("weights")));
  steps.push_back(d2l_head_importance(options));
  return steps;
}

}  // namespace headlight::narrate
