// The lesson `d2l`: heads with free widths, valid lengths, every weight 1/3 or 1/2, and the
// flattened view that the code attends with. Its exercises are in d2l_exercises.cpp and
// d2l_pruning.cpp.
#include "headlight/narrate/lessons/d2l.h"

#include <functional>

#include "headlight/narrate/lessons/lesson_parts.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kBatchSize = 2;
constexpr int64_t kQueryCount = 4;
constexpr int64_t kPairCount = 6;

constexpr int64_t kSmallWidth = 4;

// The same queries and keys, compared by `attend`.
explain::Trace trace_scoring(
    const LessonOptions& options, const nn::Parameters& parameters,
    const std::function<void(autograd::Context&, const Value& query, const Value& key)>& attend) {
  return explain::trace_run(options.threads, parameters, [&](autograd::Context& context) {
    const Value query = Value::leaf(drawn_numbers({1, 2, kSmallWidth}, options.seed, "query"));
    const Value key = Value::leaf(drawn_numbers({1, 3, kSmallWidth}, options.seed, "key"));
    autograd::name_value(context, "", "queries", query);
    autograd::name_value(context, "", "keys", key);
    attend(context, query, key);
  });
}

void add_scoring(LessonOptions& options, std::vector<ShownStep>& steps) {
  const explain::Trace& dot = options.runs->traced("dot", [&] {
    return trace_scoring(options, {}, [](auto& context, const Value& query, const Value& key) {
      autograd::attention(context, query, key, key, {.place = "self"});
    });
  });
  const explain::Trace& additive = options.runs->traced("additive", [&] {
    const nn::AdditiveAttention scoring(
        {.query_width = kSmallWidth, .key_width = kSmallWidth, .hidden = 8, .place = "self"});
    nn::draw_xavier_uniform(scoring.parameters(), options.seed);
    return trace_scoring(options, scoring.parameters(),
                         [&](auto& context, const Value& query, const Value& key) {
                           scoring.forward(context, query, key, key);
                         });
  });
  ShownStep& step = steps.emplace_back(lesson_step(options, "d2l", 2));
  const auto weights = [&](const std::string& run, const char* title, const Tensor& numbers) {
    return of_run(options, {.name = run + ".weights", .title = title, .numbers = numbers}, run,
                  "self.weights");
  };
  step.arrays = {weights("dot", "q · k / √D", dot.values("self.weights")),
                 weights("additive", "w_vᵀ tanh(W_q q + W_k k)", additive.values("self.weights"))};
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
void add_flattened(LessonOptions& options, const explain::Trace& module, const Tensor& lengths,
                   ShownStep& step) {
  std::vector<int64_t> repeated;
  for (int64_t sequence = 0; sequence < kBatchSize; ++sequence) {
    repeated.insert(repeated.end(), kD2lHeads, lengths.data<int64_t>()[sequence]);
  }
  const Tensor of_all = Tensor::of({kBatchSize * kD2lHeads}, repeated);
  tensor::Arena arena;
  autograd::Recording flat = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &flat};
  const auto input = [&](const char* name) { return Value::leaf(flattened(module.values(name))); };
  autograd::attention(context, input("self.query"), input("self.key"), input("self.value"),
                      {.valid_lens = of_all});
  const double difference = largest_difference(flat.seen("weights"), module.values("self.weights"));
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
                                    .names = nn::names_of(nn::AttentionLayout::d2l),
                                    .place = "self"});
  nn::draw_xavier_uniform(attention.parameters(), seed);
  return attention;
}

std::vector<ShownStep> d2l_lesson(LessonOptions& options) {
  const nn::MultiHeadAttention attention = d2l_module(options.seed);
  const Value queries = Value::leaf(ones_of({kBatchSize, kQueryCount, kD2lWidth}));
  const Value pairs = Value::leaf(ones_of({kBatchSize, kPairCount, kD2lWidth}));
  const Tensor lengths = Tensor::of({kBatchSize}, std::vector<int64_t>{3, 2});
  const explain::Trace& run = options.runs->traced("module", [&] {
    return trace_attention(options, attention, queries, pairs, {.valid_lens = lengths});
  });
  const auto array = [&](const std::string& name) {
    return run_array(options, "module", "self." + name, name, name);
  };

  std::vector<ShownStep> steps;
  ShownStep& model = steps.emplace_back(lesson_step(options, "d2l", 1));
  add_widths(options, attention, model);
  for (const nn::ParameterHandle& parameter : attention.parameters()) {
    model.arrays.push_back(of_run(options,
                                  {.name = parameter->name(),
                                   .title = parameter->name(),
                                   .numbers = parameter->value().data()},
                                  "module", parameter->name()));
  }
  add_scoring(options, steps);
  ShownStep& split = steps.emplace_back(lesson_step(options, "d2l", 3));
  split.paragraphs.push_back(options.catalogue.text("lesson.d2l.3.flat"));
  split.arrays = {
      array("projected_query"), array("query"),
      of_run(options,
             lesson_array(options, "flattened_query", "query", flattened(run.values("self.query"))),
             "module", "self.query")};
  split.slips = {"split"};
  ShownStep& weights = steps.emplace_back(lesson_step(options, "d2l", 4));
  add_flattened(options, run, lengths, weights);
  weights.arrays.push_back(array("weights"));
  ShownStep& merged = steps.emplace_back(lesson_step(options, "d2l", 5));
  merged.arrays = {array("concatenated"),
                   run_array(options, "module", "self.output", "output", "self.output")};
  merged.arrays.back().title = "[h_1 … h_5] W_o";
  for (const char* key :
       {"lesson.d2l.summary", "lesson.d2l.summary.subspaces", "lesson.d2l.summary.parallel"}) {
    merged.afterwards.push_back(options.catalogue.text(key));
  }
  steps.push_back(d2l_drawn_heads(options));
  steps.push_back(d2l_head_importance(options));
  steps.push_back(d2l_pruned_heads(options));
  steps.push_back(d2l_timed_models(options));
  return steps;
}

}  // namespace headlight::narrate
