// The lesson `transformer`: the whole walk on three sentences, the mask by hand, and training until
// the continuation is right.
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/walk.h"
#include "headlight/nn/nn.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

// Two heads of the full width on W = I: the mask alone.
ShownStep identity_heads(LessonOptions& options) {
  constexpr int64_t kWords = 3;
  constexpr int64_t kWidth = 3;
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const std::vector<float> input = {1, 0, 1, 0, 2, 0, 1, 1, 0};
  std::vector<float> twice;
  for (int64_t row = 0; row < kWords; ++row) {
    for (int64_t copy = 0; copy < 2; ++copy) {
      twice.insert(twice.end(), input.begin() + row * kWidth, input.begin() + (row + 1) * kWidth);
    }
  }
  const Value x = leaf({1, kWords, 2 * kWidth}, twice);
  const Value output = autograd::attention(context, x, x, x, {.heads = 2, .causal = true});
  ShownStep step = lesson_step(options, "transformer", Step::mask);
  const auto of_heads = [&](const std::string& name) {
    ShownArray array = lesson_array(options, "identity." + name, name, seen.seen(name));
    array.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
                  explain::Axis::column};
    return array;
  };
  step.arrays.push_back({.name = "identity.input",
                         .title = "Q = K = V",
                         .numbers = Tensor::of({kWords, kWidth}, input)});
  step.arrays.push_back(of_heads("masked_scores"));
  step.arrays.push_back(of_heads("weights"));
  step.arrays.push_back(
      lesson_array(options, "identity.concatenated", "concatenated", output.data()));
  return step;
}

double cosine_of(const recipes::WorkedModel& worked, const std::string& first,
                 const std::string& second) {
  const Tensor table = worked.model->state().at("shared.weight");
  const auto row = [&](const std::string& word) {
    return table.data<float>() + worked.tokenizer.encode(word).front() * table.size(1);
  };
  const float* a = row(first);
  const float* b = row(second);
  double product = 0, length_a = 0, length_b = 0;
  for (int64_t i = 0; i < table.size(1); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    length_a += static_cast<double>(a[i]) * a[i];
    length_b += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(length_a * length_b);
}

}  // namespace

std::vector<ShownStep> transformer_lesson(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const recipes::WorkedModel worked =
      recipes::make_worked_model(recipes::default_sentences(), {.heads = 1, .seed = options.seed});
  const recipes::SentencePair& pair = worked.sentences.front();
  const explain::Input input = explain::make_input(*worked.model, worked.tokenizer,
                                                   {.text = pair.source, .target = pair.target});
  const explain::Trace trace = explain::trace_model(options.threads, *worked.model, input);
  const Walk walk{.catalogue = catalogue,
                  .trace = trace,
                  .sentences = worked.sentences,
                  .vocabulary_size = worked.tokenizer.size()};
  std::vector<ShownStep> steps;
  for (const Step step : all_steps()) {
    if (step == Step::learning) break;
    steps.push_back(walk_step(walk, step));
    if (step == Step::mask) steps.push_back(identity_heads(options));
  }
  steps.front().afterwards.push_back(
      catalogue.text("lesson.transformer.seed", {{"seed", std::to_string(options.seed)}}));

  ShownStep& learned = steps.emplace_back(lesson_step(options, "transformer", Step::learning));
  const std::string before =
      recipes::continuation_of(options.threads, *worked.model, worked.tokenizer, pair.source);
  const double far = cosine_of(worked, "win", "die");
  const recipes::WorkedTraining training = recipes::train_worked_model(options.threads, worked);
  const std::string after =
      recipes::continuation_of(options.threads, *worked.model, worked.tokenizer, pair.source);
  const double near = cosine_of(worked, "win", "die");
  learned.afterwards = {catalogue.text("first.random", {{"words", before}}),
                        trained_text(catalogue, training),
                        catalogue.text("first.trained", {{"words", after}})};
  learned.numbers = {{"loss_before", training.losses.front()},
                     {"loss_after", training.losses.back()},
                     {"cosine_before", far},
                     {"cosine_after", near}};
  if (near > far) {
    learned.afterwards.push_back(
        catalogue.text("lesson.transformer.closer", {{"first", "win"},
                                                     {"second", "die"},
                                                     {"before", catalogue.number(far, 4)},
                                                     {"after", catalogue.number(near, 4)}}));
  }
  return steps;
}

}  // namespace headlight::narrate
