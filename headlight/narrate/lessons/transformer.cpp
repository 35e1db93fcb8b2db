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
  const std::vector<float> input = {1, 0, 1, 0, 2, 0, 1, 1, 0};
  std::vector<float> twice;
  for (int64_t row = 0; row < kWords; ++row) {
    for (int64_t copy = 0; copy < 2; ++copy) {
      twice.insert(twice.end(), input.begin() + row * kWidth, input.begin() + (row + 1) * kWidth);
    }
  }
  const Value x = leaf({1, kWords, 2 * kWidth}, twice);
  const auto traced = [&](const char* name, bool causal) -> const explain::Trace& {
    return options.runs->traced(name, [&] {
      return explain::trace_run(options.threads, {}, [&](autograd::Context& context) {
        autograd::name_value(context, "", "x", x);
        autograd::attention(context, x, x, x, {.heads = 2, .causal = causal, .place = "self"});
      });
    });
  };
  const Tensor ordinary = traced("ordinary", false).values("self.weights");
  const Tensor masked = traced("identity", true).values("self.weights");
  ShownStep step = lesson_step(options, "transformer", Step::mask);
  step.arrays.push_back({.name = "identity.input",
                         .title = "Q = K = V",
                         .numbers = Tensor::of({kWords, kWidth}, input)});
  for (const std::string name : {"masked_scores", "weights", "concatenated"}) {
    step.arrays.push_back(run_array(options, "identity", "self." + name, "identity." + name, name));
  }
  add_masked_beside_ordinary(lesson, ordinary, masked, step);
  step.afterwards.push_back(lesson.text("lesson.transformer.mask.friends"));
  return step;
}

// Of the vectors of two words in a table of embeddings.
double cosine_of_rows(const Tensor& table, int64_t first, int64_t second) {
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
      const ClosestWords pair{words[j], words[i], cosine_of_rows(before, a, b),
                              cosine_of_rows(after, a, b)};
      if (pair.after - pair.before > found.after - found.before) found = pair;
    }
  }
  return found;
}

}  // namespace

std::vector<ShownStep> transformer_lesson(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const auto make_model = [&] {
    return recipes::make_worked_model(recipes::default_sentences(),
                                      {.heads = 1, .seed = options.seed});
  };
  const recipes::WorkedModel worked = make_model();
  const recipes::SentencePair& pair = worked.sentences.front();
  const explain::Input input = explain::make_input(*worked.model, worked.tokenizer,
                                                   {.text = pair.source, .target = pair.target});
  explain::Trace& trace = options.runs->traced(
      "", [&] { return explain::trace_model(options.threads, *worked.model, input); });
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
    if (step == Step::prediction) steps.push_back(transformer_flattened(lesson));
  }
  steps.front().afterwards.push_back(
      catalogue.text("lesson.transformer.seed", {{"seed", std::to_string(options.seed)}}));

  ShownStep& learned = steps.emplace_back(lesson_step(options, "transformer", Step::learning));
  const TrainedTransformer& trained = options.runs->once(
      "training", [&] { return train_transformer(options.threads, make_model()); });
  const recipes::WorkedTraining& training = trained.training;
  const Tensor before = worked.model->state().at("shared.weight");
  const Tensor after = trained.worked.model->state().at("shared.weight");
  const auto cosine = [&](const Tensor& table) {
    return cosine_of_rows(table, worked.tokenizer.encode("win").front(),
                          worked.tokenizer.encode("die").front());
  };
  const ClosestWords closest = brought_closest(trace.input().vocabulary, before, after);
  learned.afterwards = {catalogue.text("first.random", {{"words", trained.continuation_before}}),
                        trained_text(catalogue, training),
                        catalogue.text("first.trained", {{"words", trained.continuation_after}})};
  learned.numbers = {
      {"loss_before", training.losses.front()}, {"loss_after", training.losses.back()},
      {"cosine_before", cosine(before)},        {"cosine_after", cosine(after)},
      {"closest_before", closest.before},       {"closest_after", closest.after}};
  add_training_loop(lesson, trained, learned);
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
