// The end of the lesson `transformer`: the loop of training, what the model then writes, and what
// to remember.
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/lessons/transformer.h"

namespace headlight::narrate {
namespace {

constexpr const char* kPapers[] = {
    "Hochreiter, Schmidhuber (1997): Long Short-Term Memory",
    "Cho et al. (2014): Learning Phrase Representations using RNN Encoder–Decoder for Statistical "
    "Machine Translation",
    "Bahdanau, Cho, Bengio (2014): Neural Machine Translation by Jointly Learning to Align and "
    "Translate",
    "He et al. (2015): Deep Residual Learning for Image Recognition",
    "Ba, Kiros, Hinton (2016): Layer Normalization",
    "Vaswani et al. (2017): Attention Is All You Need",
    "Devlin et al. (2018): BERT: Pre-training of Deep Bidirectional Transformers for Language "
    "Understanding",
    "Touvron et al. (2023): LLaMA: Open and Efficient Foundation Language Models"};

// <start> and the words so far, and the word that follows them.
ShownTable words_in_turn(const Catalogue& catalogue, const std::string& continuation) {
  ShownTable table{{{catalogue.text("label.has_read"), catalogue.text("label.says")}}};
  std::string read = "<start>";
  for (const std::string_view word : text::words(continuation)) {
    table.lines.push_back({read, std::string(word)});
    read += " " + std::string(word);
  }
  if (!continuation.ends_with("…")) table.lines.push_back({read, "<end>"});
  return table;
}

// The length of all gradients of one step; they are taken away again.
double gradient_norm_of(base::ThreadPool& threads, const recipes::WorkedModel& worked) {
  tensor::Arena arena;
  autograd::Tape tape;
  autograd::Context context{.threads = threads, .arena = arena, .tape = &tape, .training = true};
  tape.backward(context, worked.model->loss(context, recipes::sentence_batch(worked)));
  double squares = 0;
  for (const nn::ParameterHandle& parameter : worked.model->parameters()) {
    const tensor::Tensor gradient = parameter->grad();
    if (!gradient.defined()) continue;
    const tensor::Tensor numbers = gradient.contiguous();
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      squares += std::pow(static_cast<double>(numbers.data<float>()[i]), 2);
    }
    parameter->clear_grad();
  }
  return std::sqrt(squares);
}

// The first number of the first word of the first sentence.
double first_weight(const recipes::WorkedModel& worked) {
  const tensor::Tensor table = worked.model->state().at("shared.weight");
  const int64_t id = worked.tokenizer.encode(worked.sentences.front().source).front();
  return table.data<float>()[id * table.size(1)];
}

}  // namespace

TrainedTransformer train_transformer(base::ThreadPool& threads, recipes::WorkedModel worked) {
  TrainedTransformer trained{.worked = std::move(worked)};
  const recipes::WorkedModel& model = trained.worked;
  const auto continuation = [&] {
    return recipes::continuation_of(threads, *model.model, model.tokenizer,
                                    model.sentences.front().source);
  };
  trained.continuation_before = continuation();
  trained.gradient_norm = gradient_norm_of(threads, model);
  trained.weight_before = first_weight(model);
  trained.training = recipes::train_worked_model(threads, model);
  trained.weight_after = first_weight(model);
  trained.continuation_after = continuation();
  return trained;
}

void add_training_loop(const TransformerLesson& lesson, const TrainedTransformer& trained,
                       ShownStep& shown) {
  const Catalogue& catalogue = lesson.catalogue();
  const auto number = [&](double value) { return catalogue.number(value, 4); };
  const recipes::WorkedTraining& training = trained.training;
  const std::vector<double>& losses = training.losses;
  const std::string& target = lesson.worked.sentences.front().target;
  shown.paragraphs.push_back(lesson.text("lesson.transformer.loop"));
  shown.paragraphs.push_back(lesson.text(
      "lesson.transformer.loop.1", {{"given", "<start> " + target}, {"right", target + " <end>"}}));
  shown.paragraphs.push_back(lesson.text("lesson.transformer.loop.2"));
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.loop.3", {{"loss", number(losses.front())}}));
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.loop.4", {{"gradient", number(trained.gradient_norm)}}));
  shown.paragraphs.push_back(lesson.text("lesson.transformer.loop.5",
                                         {{"word", lesson.trace.input().source_tokens.front()},
                                          {"before", number(trained.weight_before)},
                                          {"after", number(trained.weight_after)}}));
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.loop.6", {{"steps", std::to_string(training.steps)}}));
  ShownTable course{{{catalogue.text("label.step"), catalogue.text("label.loss")}}};
  for (const int64_t step : {int64_t{0}, training.steps / 4, training.steps / 2, training.steps}) {
    course.lines.push_back({std::to_string(step), number(losses[static_cast<size_t>(step)])});
  }
  shown.tables = {course, words_in_turn(catalogue, trained.continuation_after)};
  shown.numbers.insert(shown.numbers.end(), {{"gradient_norm", trained.gradient_norm},
                                             {"weight_before", trained.weight_before},
                                             {"weight_after", trained.weight_after}});
}

ShownStep transformer_closing(const TransformerLesson& lesson) {
  ShownStep step{.number = number_of(Step::learning),
                 .title = lesson.text("lesson.transformer.closing.title")};
  for (const char* point : {"lesson.transformer.closing.1", "lesson.transformer.closing.2",
                            "lesson.transformer.closing.3", "lesson.transformer.references"}) {
    step.paragraphs.push_back(lesson.text(point));
  }
  for (const char* paper : kPapers) step.paragraphs.emplace_back(paper);
  return step;
}

}  // namespace headlight::narrate
