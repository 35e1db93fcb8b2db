// The lesson `from-scratch`: the divisibility check, the mask of length 4, and why scores are
// divided by the root of the width.
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

nn::MultiHeadAttentionOptions options_with(int64_t heads) {
  return {.query_width = kScratchWidth,
          .heads = heads,
          .qkv_bias = false,
          .names = nn::names_of(nn::AttentionLayout::named)};
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
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const Value x = Value::leaf(drawn_numbers({1, kSmall, kSmall}, options.seed, "x"));
  autograd::attention(context, x, x, x, {.causal = true});
  Tensor forbidden = Tensor::zeros(tensor::DType::i64, {kSmall, kSmall});
  for (int64_t i = 0; i < kSmall; ++i) {
    for (int64_t j = i + 1; j < kSmall; ++j) forbidden.mutable_data<int64_t>()[i * kSmall + j] = 1;
  }
  ShownStep step = lesson_step(options, "from-scratch", 4);
  step.arrays = {
      lesson_array(options, "mask", "mask", forbidden),
      lesson_array(options, "scaled_scores", "scaled_scores", seen.seen("scaled_scores")),
      lesson_array(options, "masked_scores", "masked_scores", seen.seen("masked_scores")),
      lesson_array(options, "weights", "weights", seen.seen("weights"))};
  step.slips = {"masking"};
  return step;
}

// One query and eight keys of width 512: the same scores with and without the scale.
ShownStep saturation(LessonOptions& options) {
  constexpr int64_t kKeys = 8;
  tensor::Arena arena;
  const Value query = Value::leaf(drawn_numbers({1, 1, kScratchWidth}, options.seed, "query"));
  const Value keys = Value::leaf(drawn_numbers({1, kKeys, kScratchWidth}, options.seed, "keys"));
  ShownStep step = lesson_step(options, "from-scratch", 5);
  const Catalogue& catalogue = options.catalogue;
  ShownTable table{{{"", catalogue.text("label.largest")}}};
  const auto attend = [&](bool scaled) {
    autograd::Recording seen = record_all();
    autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
    const float scale = scaled ? 1 / std::sqrt(static_cast<float>(kScratchWidth)) : 1.0F;
    autograd::attention(context, query, keys, keys, {.scale = scale});
    const Tensor weights = seen.seen("weights").reshaped({1, kKeys});
    const std::string name = scaled ? "scaled" : "unscaled";
    const std::string title = catalogue.text("label." + name);
    const float largest = *std::max_element(weights.data<float>(), weights.data<float>() + kKeys);
    step.arrays.push_back({.name = name + ".scores",
                           .title = title,
                           .numbers = seen.seen("scaled_scores").reshaped({1, kKeys}),
                           .digits = 2});
    ShownArray shares = lesson_array(options, name + ".weights", "weights", weights);
    step.arrays.push_back(shares);
    table.lines.push_back({title, catalogue.number(largest, 4)});
    step.numbers.push_back({name + "_largest_weight", largest});
  };
  attend(false);
  attend(true);
  step.tables = {table};
  step.slips = {"scaling"};
  return step;
}

}  // namespace

std::vector<ShownStep> from_scratch_lesson(LessonOptions& options) {
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const nn::MultiHeadAttention attention(options_with(kScratchHeads));
  nn::draw_xavier_uniform(attention.parameters(), options.seed);
  const Value x = Value::leaf(drawn_numbers({kBatch, kLength, kScratchWidth}, options.seed, "x"));
  const Value output = attention.forward(context, x, {.causal = true});
  const auto array = [&](const char* name) {
    ShownArray shown = lesson_array(options, name, name, seen.seen(name));
    if (shown.numbers.rank() == 4) {
      shown.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
                    explain::Axis::column};
    }
    return shown;
  };
  std::vector<ShownStep> steps = {divisibility(options)};
  ShownStep& split = steps.emplace_back(lesson_step(options, "from-scratch", 2));
  split.arrays = {array("projected_query"), array("query")};
  split.slips = {"split"};
  steps.emplace_back(lesson_step(options, "from-scratch", 3)).arrays = {array("scores")};
  steps.push_back(small_mask(options));
  steps.push_back(saturation(options));
  steps.emplace_back(lesson_step(options, "from-scratch", 6)).arrays = {array("weights")};
  ShownStep& merged = steps.emplace_back(lesson_step(options, "from-scratch", 7));
  merged.arrays = {array("concatenated"),
                   lesson_array(options, "output", "self.output", output.data())};
  return steps;
}

}  // namespace headlight::narrate
