// The lesson `from-scratch`: what a module is, the divisibility check, the mask of length 4, why
// scores are divided by the root of the width, and the tutorial's open questions.
#include "headlight/narrate/lessons/from_scratch.h"

#include <algorithm>
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kBatch = 16;
constexpr int64_t kLength = 128;
constexpr int64_t kScratchWidth = 512;
constexpr int64_t kScratchHeads = 8;

nn::MultiHeadAttentionOptions options_with(int64_t heads, int64_t width = kScratchWidth) {
  return {.query_width = width,
          .heads = heads,
          .qkv_bias = false,
          .names = nn::names_of(nn::AttentionLayout::named),
          .place = "self"};
}

int64_t count_of(const nn::Parameters& parameters) {
  int64_t count = 0;
  for (const nn::ParameterHandle& parameter : parameters) count += parameter->shape().elements();
  return count;
}

// "(512, 512)".
std::string shape_in_words(const tensor::Shape& shape) {
  const std::string text = shape.text();
  return "(" + text.substr(1, text.size() - 2) + ")";
}

// What the module keeps: its parameters by name.
void add_parameters(const LessonOptions& options, const nn::MultiHeadAttention& attention,
                    ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  step.paragraphs.push_back(catalogue.text("lesson.from-scratch.2.module"));
  ShownTable table{{{catalogue.text("label.parameter"), catalogue.text("label.shape"),
                     catalogue.text("label.count")}}};
  for (const nn::ParameterHandle& parameter : attention.parameters()) {
    table.lines.push_back({parameter->name(), shape_in_words(parameter->shape()),
                           std::to_string(parameter->shape().elements())});
  }
  const int64_t count = count_of(attention.parameters());
  table.lines.push_back({catalogue.text("label.total"), "", std::to_string(count)});
  step.tables.push_back(table);
  step.numbers.push_back({"parameters", static_cast<double>(count)});
}

// What the engine says of a width that cannot be divided.
ShownStep divisibility(LessonOptions& options) {
  ShownStep step = lesson_step(options, "from-scratch", 1);
  try {
    const nn::MultiHeadAttention impossible(options_with(5));
  } catch (const base::Error& error) {
    step.afterwards = {error.what()};
  }
  return step;
}

// A length-4 example: what is forbidden, the scores, and what is left of them.
ShownStep small_mask(LessonOptions& options) {
  constexpr int64_t kSmall = 4;
  options.runs->traced("length_4", [&] {
    return explain::trace_run(options.threads, {}, [&](autograd::Context& context) {
      const Value x = Value::leaf(drawn_numbers({1, kSmall, kSmall}, options.seed, "x"));
      autograd::name_value(context, "", "x", x);
      autograd::attention(context, x, x, x, {.causal = true, .place = "self"});
    });
  });
  Tensor forbidden = Tensor::zeros(tensor::DType::i64, {kSmall, kSmall});
  for (int64_t i = 0; i < kSmall; ++i) {
    for (int64_t j = i + 1; j < kSmall; ++j) forbidden.mutable_data<int64_t>()[i * kSmall + j] = 1;
  }
  ShownStep step = lesson_step(options, "from-scratch", 4);
  step.arrays = {lesson_array(options, "mask", "mask", forbidden)};
  for (const char* name : {"scaled_scores", "masked_scores", "weights"}) {
    step.arrays.push_back(run_array(options, "length_4", std::string("self.") + name, name, name));
  }
  step.slips = {"masking"};
  return step;
}

constexpr int64_t kKeys = 8;

// One query and eight keys of width 512.
explain::Trace trace_saturation(LessonOptions& options, bool scaled) {
  return explain::trace_run(options.threads, {}, [&](autograd::Context& context) {
    const Value query = Value::leaf(drawn_numbers({1, 1, kScratchWidth}, options.seed, "query"));
    const Value keys = Value::leaf(drawn_numbers({1, kKeys, kScratchWidth}, options.seed, "keys"));
    autograd::name_value(context, "", "query", query);
    autograd::name_value(context, "", "keys", keys);
    const float scale = scaled ? 1 / std::sqrt(static_cast<float>(kScratchWidth)) : 1.0F;
    autograd::attention(context, query, keys, keys, {.scale = scale, .place = "self"});
  });
}

// The same scores with and without the scale.
ShownStep saturation(LessonOptions& options) {
  ShownStep step = lesson_step(options, "from-scratch", 5);
  const Catalogue& catalogue = options.catalogue;
  ShownTable table{{{"", catalogue.text("label.largest")}}};
  const auto attend = [&](bool scaled) {
    const std::string name = scaled ? "scaled" : "unscaled";
    const explain::Trace& run =
        options.runs->traced(name, [&] { return trace_saturation(options, scaled); });
    const Tensor weights = run.values("self.weights").reshaped({1, kKeys});
    const std::string title = catalogue.text("label." + name);
    const float largest = *std::max_element(weights.data<float>(), weights.data<float>() + kKeys);
    step.arrays.push_back(of_run(options,
                                 {.name = name + ".scores",
                                  .title = title,
                                  .numbers = run.values("self.scaled_scores").reshaped({1, kKeys}),
                                  .digits = 2},
                                 name, "self.scaled_scores"));
    step.arrays.push_back(of_run(options,
                                 lesson_array(options, name + ".weights", "weights", weights), name,
                                 "self.weights"));
    table.lines.push_back({title, catalogue.number(largest, 4)});
    step.numbers.push_back({name + "_largest_weight", largest});
  };
  attend(false);
  attend(true);
  step.tables = {table};
  step.slips = {"scaling"};
  return step;
}

// What b, num_tokens and the rest of the code's names stand for, with this run's numbers.
void add_symbols(const LessonOptions& options, const nn::MultiHeadAttention& attention,
                 const Value& x, ShownStep& step) {
  const nn::MultiHeadAttentionOptions& sizes = attention.options();
  step.paragraphs.push_back(options.catalogue.text("lesson.from-scratch.2.symbols"));
  ShownTable table{{{"", options.catalogue.text("label.value"), ""}}};
  const auto line = [&](const char* symbol, const char* key, int64_t size) {
    table.lines.push_back({symbol, std::to_string(size), options.catalogue.text(key)});
    step.numbers.push_back({symbol, static_cast<double>(size)});
  };
  line("b", "lesson.from-scratch.symbol.b", x.shape()[0]);
  line("num_tokens", "lesson.from-scratch.symbol.num_tokens", x.shape()[1]);
  line("d_in", "lesson.from-scratch.symbol.d_in", x.shape()[2]);
  line("d_out", "lesson.from-scratch.symbol.d_out", sizes.out_dim);
  line("num_heads", "lesson.from-scratch.symbol.num_heads", sizes.heads);
  line("head_dim", "lesson.from-scratch.symbol.head_dim", sizes.head_dim);
  step.tables = {table};
}

// d_model: one number under many names, and what it costs.
ShownStep model_width(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  ShownStep step = lesson_step(options, "from-scratch", 9);
  step.paragraphs.push_back(catalogue.text("lesson.from-scratch.9.names"));
  ShownTable table{{{"d_model", "head_dim", catalogue.text("label.parameters")}}};
  for (const int64_t width : {64, 128, 256, 512}) {
    const nn::MultiHeadAttention module(options_with(kScratchHeads, width));
    const int64_t count = count_of(module.parameters());
    table.lines.push_back(
        {std::to_string(width), std::to_string(module.options().head_dim), std::to_string(count)});
    step.numbers.push_back(
        {"parameters_of_width_" + std::to_string(width), static_cast<double>(count)});
  }
  step.tables = {table};
  step.afterwards = {catalogue.text("lesson.from-scratch.9.cost")};
  return step;
}

// The same module cut into more and more heads: what stays, what grows, and how long it takes.
ShownStep more_heads(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  ShownStep step = lesson_step(options, "from-scratch", 10);
  ShownTable table{{{catalogue.text("label.heads"), "head_dim", catalogue.text("label.parameters"),
                     catalogue.text("label.weights_of_all"), catalogue.text("label.time")}}};
  tensor::Arena arena;
  autograd::Context context{.threads = options.threads, .arena = arena};
  const Value x = Value::leaf(drawn_numbers({1, kLength, kScratchWidth}, options.seed, "x"));
  for (const int64_t heads : {1, 2, 4, 8, 16, 32, 64}) {
    const nn::MultiHeadAttention module(options_with(heads));
    nn::draw_xavier_uniform(module.parameters(), options.seed);
    const double time = options.runs->once("time_of_" + std::to_string(heads), [&] {
      return fastest_milliseconds(50, [&] { module.forward(context, x, {.causal = true}); });
    });
    const int64_t weights = heads * kLength * kLength;
    table.lines.push_back({std::to_string(heads), std::to_string(module.options().head_dim),
                           std::to_string(count_of(module.parameters())), std::to_string(weights),
                           catalogue.number(time, 3) + " ms"});
    const std::string end = "_of_" + std::to_string(heads) + "_heads";
    step.numbers.push_back({"weights" + end, static_cast<double>(weights)});
    step.numbers.push_back({"milliseconds" + end, time});
  }
  step.tables = {table};
  return step;
}

}  // namespace

std::vector<ShownStep> from_scratch_lesson(LessonOptions& options) {
  const nn::MultiHeadAttention attention(options_with(kScratchHeads));
  nn::draw_xavier_uniform(attention.parameters(), options.seed);
  const Value x = Value::leaf(drawn_numbers({kBatch, kLength, kScratchWidth}, options.seed, "x"));
  options.runs->traced("module",
                       [&] { return trace_attention(options, attention, x, x, {.causal = true}); });
  const auto array = [&](const std::string& name) {
    return run_array(options, "module", "self." + name, name, name);
  };
  std::vector<ShownStep> steps = {divisibility(options)};
  ShownStep& split = steps.emplace_back(lesson_step(options, "from-scratch", 2));
  add_symbols(options, attention, x, split);
  add_parameters(options, attention, split);
  split.arrays = {array("projected_query"), array("query")};
  split.slips = {"split"};
  steps.emplace_back(lesson_step(options, "from-scratch", 3)).arrays = {array("scores")};
  steps.push_back(small_mask(options));
  steps.push_back(saturation(options));
  steps.emplace_back(lesson_step(options, "from-scratch", 6)).arrays = {array("weights")};
  ShownStep& merged = steps.emplace_back(lesson_step(options, "from-scratch", 7));
  merged.arrays = {array("concatenated"),
                   run_array(options, "module", "self.output", "output", "self.output")};
  steps.push_back(scratch_regularization(options));
  steps.push_back(model_width(options));
  steps.push_back(more_heads(options));
  return steps;
}

}  // namespace headlight::narrate
