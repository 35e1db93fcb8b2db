// The lesson `transformer`: the whole walk on three sentences, the mask by hand, and training until
// the continuation is right; what the tutorial says besides is added from files of its own.
#include "headlight/narrate/lessons/transformer.h"

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
ShownStep identity_heads(const TransformerLesson& lesson) {
  LessonOptions& options = lesson.options;
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
  autograd::attention(context, x, x, x, {.heads = 2});
  const Tensor ordinary = seen.seen("weights");
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
  add_masked_beside_ordinary(lesson, ordinary, seen.seen("weights"), step);
  step.afterwards.push_back(lesson.text("lesson.transformer.mask.friends"));
  return step;
}

// Of the vectors of two words in a table of embeddings.
double cosine_of(const Tensor& table, int64_t first, int64_t second) {
  const float* a = table.data<float>() + first * table.size(1);
  const float* b = table.data<float>() + second * table.size(1);
  double product = 0, length_a = 0, length_b = 0;
  for (int64_t i = 0; i < table.size(1); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    length_a += static_cast<double>(a[i]) * a[i];
    length_b += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(length_a * length_b);
}

// Two words whose vectors training has brought closer together than any others.
struct ClosestWords {
  std::string first;
  std::string second;
  double before = 0;
  double after = 0;
};
ClosestWords brought_closest(const std::vector<std::string>& words, const Tensor& before,
                             const Tensor& after) {
  ClosestWords found;
  for (size_t i = 0; i < words.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (words[i].starts_with('<') || words[j].starts_with('<')) continue;  // no words
      const auto [a, b] = std::pair(static_cast<int64_t>(j), static_cast<int64_t>(i));
      const ClosestWords pair{words[j], words[i], cosine_of(before, a, b), cosine_of(after, a, b)};
      if (pair.after - pair.before > found.after - found.before) found = pair;
    }
  }
  return found;
}

}  // namespace

std::vector<ShownStep> transformer_lesson(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const recipes::WorkedModel worked =
      recipes::make_worked_model(recipes::default_sentences(), {.heads = 1, .seed = options.seed});
  const recipes::SentencePair& pair = worked.sentences.front();
  const explain::Input input = explain::make_input(*worked.model, worked.tokenizer,
                                                   {.text = pair.source, .target = pair.target});
  explain::Trace trace = explain::trace_model(options.threads, *worked.model, input);
  const TransformerLesson lesson{options, worked, trace};
  const Walk walk{.catalogue = catalogue,
                  .trace = trace,
                  .sentences = worked.sentences,
                  .vocabulary_size = worked.tokenizer.size()};
  std::vector<ShownStep> steps;
  for (const Step step : all_steps()) {
    if (step == Step::learning) break;
    add_to_walk(lesson, step, steps.emplace_back(walk_step(walk, step)));
    if (step == Step::mask) steps.push_back(identity_heads(lesson));
  }
  steps.front().afterwards.push_back(
      catalogue.text("lesson.transformer.seed", {{"seed", std::to_string(options.seed)}}));

  ShownStep& learned = steps.emplace_back(lesson_step(options, "transformer", Step::learning));
  const std::string before =
      recipes::continuation_of(options.threads, *worked.model, worked.tokenizer, pair.source);
  const auto embeddings = [&] { return worked.model->state().at("shared.weight"); };
  const auto cosine = [&](const char* first, const char* second) {
    return cosine_of(embeddings(), worked.tokenizer.encode(first).front(),
                     worked.tokenizer.encode(second).front());
  };
  const double far = cosine("win", "die");
  const Tensor table = embeddings();
  const Tensor untrained =
      Tensor::of(table.shape(),
                 std::vector<float>(table.data<float>(), table.data<float>() + table.elements()));
  const TrainingLoop loop(lesson);
  const recipes::WorkedTraining training = recipes::train_worked_model(options.threads, worked);
  const std::string after =
      recipes::continuation_of(options.threads, *worked.model, worked.tokenizer, pair.source);
  const ClosestWords closest = brought_closest(trace.input().vocabulary, untrained, embeddings());
  learned.afterwards = {catalogue.text("first.random", {{"words", before}}),
                        trained_text(catalogue, training),
                        catalogue.text("first.trained", {{"words", after}})};
  learned.numbers = {{"loss_before", training.losses.front()},
                     {"loss_after", training.losses.back()},
                     {"cosine_before", far},
                     {"cosine_after", cosine("win", "die")},
                     {"closest_before", closest.before},
                     {"closest_after", closest.after}};
  loop.add_points(training, after, learned);
  if (closest.after > closest.before) {
    learned.afterwards.push_back(catalogue.text("lesson.transformer.closer",
                                                {{"first", closest.first},
                                                 {"second", closest.second},
                                                 {"before", catalogue.number(closest.before, 4)},
                                                 {"after", catalogue.number(closest.after, 4)}}));
  }
  steps.push_back(transformer_closing(lesson));
  return steps;
}

}  // namespace headlight::narrate
