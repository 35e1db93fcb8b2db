// Steps of the walk: the catalogue's words, the trace's numbers.
#include "headlight/narrate/walk.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

using explain::TracedTensor;
using tensor::Tensor;

constexpr size_t kMostWords = 24;

bool is_encoder(const explain::Trace& trace) { return trace.find("decoder.output") == nullptr; }

bool classifies(const explain::Trace& trace) { return trace.find("classifier.logits") != nullptr; }

// An encoder alone predicts and learns otherwise than a decoder: "step.prediction.encoder.text".
// What classifies predicts no words: "step.prediction.classes.text".
ShownStep titled(const Walk& walk, Step step) {
  const std::string key = "step." + std::string(name_of(step));
  std::string words = key;
  if (is_encoder(walk.trace) && walk.catalogue.has(key + ".encoder.text")) words = key + ".encoder";
  if (classifies(walk.trace) && walk.catalogue.has(key + ".classes.text")) words = key + ".classes";
  return {.number = number_of(step),
          .title = walk.catalogue.text(key + ".title"),
          .paragraphs = {walk.catalogue.text(words + ".text"),
                         walk.catalogue.text(words + ".note", step_numbers())},
          .slips = {slips_of(step).begin(), slips_of(step).end()}};
}

// Of a step that the model does not have: what it is, and that there is nothing to show.
void make_absent(const Walk& walk, ShownStep& step) {
  step.paragraphs = {step.paragraphs.front(), walk.catalogue.text("message.absent")};
  step.slips.clear();
}

void add_sentences(const Walk& walk, ShownStep& step) {
  ShownTable table{
      {{walk.catalogue.text("label.sentence"), walk.catalogue.text("label.continuation")}}};
  for (const recipes::SentencePair& pair : walk.sentences) {
    table.lines.push_back({pair.source, pair.target});
  }
  if (walk.sentences.empty()) return make_absent(walk, step);
  step.tables.push_back(std::move(table));
}

std::string joined(const std::vector<std::string>& words, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), most); ++i) {
    text += (i > 0 ? " · " : "") + visible(words[i]);
  }
  return words.size() > most ? text + " · …" : text;
}

void add_vocabulary(const Walk& walk, ShownStep& step) {
  step.paragraphs.push_back(walk.catalogue.text("message.vocabulary_size",
                                                {{"count", std::to_string(walk.vocabulary_size)}}));
  step.paragraphs.push_back(joined(walk.trace.input().vocabulary, kMostWords));
  step.numbers = {{"vocabulary_size", static_cast<double>(walk.vocabulary_size)}};
}

void add_ids(const Walk& walk, ShownStep& step) {
  const explain::Input& input = walk.trace.input();
  const auto add = [&](const std::vector<std::string>& tokens, const Tensor& ids) {
    if (!ids.defined()) return;
    ShownTable table{{{walk.catalogue.text("label.token"), walk.catalogue.text("label.id")}}};
    for (size_t i = 0; i < std::min(tokens.size(), kMostWords); ++i) {
      table.lines.push_back({tokens[i], std::to_string(ids.data<int64_t>()[i])});
    }
    if (tokens.size() > kMostWords) table.lines.push_back({"…", "…"});
    step.tables.push_back(std::move(table));
  };
  add(input.source_tokens, input.batch.source_ids);
  add(input.tokens, input.batch.ids);
}

// In quotes, unless it has marks of its own, as <start> has.
std::string marked_token(const std::string& token) {
  const bool is_marked = token.size() > 2 && ((token.front() == '<' && token.back() == '>') ||
                                              (token.front() == '[' && token.back() == ']'));
  return is_marked ? token : "\"" + visible(token) + "\"";
}

// The likeliest words after the last token; with an encoder after the first one, where its
// continuation begins; of an encoder alone the likeliest one at each place.
void add_prediction(const Walk& walk, ShownStep& step) {
  constexpr size_t kMost = 5;
  const std::vector<std::string>& words = walk.trace.input().vocabulary;
  if (walk.trace.find("probabilities") == nullptr || words.empty()) return;
  const Tensor values = walk.trace.values("probabilities");
  const int64_t rows = values.size(1);
  const int64_t width = std::min<int64_t>(values.size(2), static_cast<int64_t>(words.size()));
  const bool encodes = is_encoder(walk.trace);
  ShownTable table{{{walk.catalogue.text("label.word"), walk.catalogue.text("label.probability")}}};
  if (encodes) table.lines[0].insert(table.lines[0].begin(), walk.catalogue.text("label.token"));
  const int64_t asked = walk.trace.input().source_tokens.empty() ? rows - 1 : 0;
  const int64_t end = encodes ? std::min<int64_t>(rows, kMostWords) : asked + 1;
  for (int64_t row = encodes ? 0 : asked; row < end; ++row) {
    const float* probabilities = values.data<float>() + row * values.size(2);
    for (const int64_t id : likeliest(probabilities, width, encodes ? 1 : kMost)) {
      auto& line = table.lines.emplace_back();
      if (encodes) line.push_back(walk.trace.input().tokens[static_cast<size_t>(row)]);
      line.push_back(words[static_cast<size_t>(id)]);
      line.push_back(walk.catalogue.number(probabilities[id], 4));
    }
  }
  if (!encodes) {
    step.paragraphs.push_back(walk.catalogue.text(
        "message.after_token",
        {{"token", marked_token(walk.trace.input().tokens[static_cast<size_t>(asked)])}}));
  }
  step.tables.push_back(std::move(table));
  if (walk.continuation) {
    step.afterwards.push_back(walk.catalogue.text("message.says", {{"words", *walk.continuation}}));
  }
}

// What the model says of the text, the likeliest label first.
void add_classes(const Walk& walk, ShownStep& step) {
  const std::optional<models::Classes>& classes = walk.trace.input().classes;
  if (!classes) return;
  const bool is_number = classes->problem == models::ClassProblem::regression;
  ShownTable table{{{walk.catalogue.text("label.label"),
                     walk.catalogue.text(is_number ? "label.value" : "label.probability")}}};
  const Tensor logits = walk.trace.values("classifier.logits");
  for (const models::LabelScore& one :
       models::label_scores(*classes, logits.data<float>(), kMostWords)) {
    table.lines.push_back({one.label, walk.catalogue.number(one.score, 4)});
  }
  step.tables.push_back(std::move(table));
}

void add_loss(const Walk& walk, ShownStep& step) {
  if (is_encoder(walk.trace) || classifies(walk.trace)) return make_absent(walk, step);
  if (!walk.loss) {
    step.afterwards.push_back(walk.catalogue.text("message.no_target"));
    return;
  }
  step.afterwards = {
      walk.catalogue.text("backward.loss", {{"loss", walk.catalogue.number(*walk.loss, 4)}}),
      walk.catalogue.text("message.no_backward")};
  step.numbers = {{"loss", *walk.loss}};
}

// What is said once for a part of the model: "place.decoder.cross.text".
void add_places(const Walk& walk, const std::vector<const TracedTensor*>& tensors,
                ShownStep& step) {
  std::set<std::string> said;
  for (const TracedTensor* tensor : tensors) {
    const std::string key = "place." + tensor->text.substr(0, tensor->text.rfind('.')) + ".text";
    if (walk.catalogue.has(key) && said.insert(key).second) {
      step.paragraphs.push_back(walk.catalogue.text(key));
    }
  }
}

void add_array(const Walk& walk, const TracedTensor& tensor, ShownStep& step) {
  if (!walk.with_numbers) {
    step.arrays.push_back(named_tensor(walk.catalogue, tensor));
  } else if (explain::is_left_out(tensor)) {
    step.afterwards.push_back(walk.catalogue.text(
        "message.too_many", {{"title", walk.catalogue.title(tensor)},
                             {"name", tensor.name},
                             {"count", std::to_string(tensor.shape.elements())}}));
  } else {
    step.arrays.push_back(shown_tensor(walk.trace, walk.catalogue, tensor));
  }
}

}  // namespace

std::vector<int64_t> likeliest(const float* probabilities, int64_t words, size_t most) {
  std::vector<int64_t> order(static_cast<size_t>(words));
  for (int64_t i = 0; i < words; ++i) order[static_cast<size_t>(i)] = i;
  most = std::min(most, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
      [&](int64_t a, int64_t b) {
        return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
      });
  order.resize(most);
  return order;
}

ShownStep walk_step(const Walk& walk, Step step) {
  ShownStep shown = titled(walk, step);
  const std::vector<const TracedTensor*> tensors = tensors_of(walk.trace, step);
  add_places(walk, tensors, shown);
  switch (step) {
    case Step::data_set:
      add_sentences(walk, shown);
      return shown;
    case Step::vocabulary:
      add_vocabulary(walk, shown);
      return shown;
    case Step::encoding:
      add_ids(walk, shown);
      return shown;
    case Step::prediction:
      classifies(walk.trace) ? add_classes(walk, shown) : add_prediction(walk, shown);
      break;
    case Step::learning:
      add_loss(walk, shown);
      return shown;
    default:
      break;
  }
  for (const TracedTensor* tensor : tensors) add_array(walk, *tensor, shown);
  if (tensors.empty()) make_absent(walk, shown);
  return shown;
}

std::string trained_text(const Catalogue& catalogue, const recipes::WorkedTraining& training) {
  return catalogue.text("message.trained",
                        {{"steps", std::to_string(training.steps)},
                         {"seconds", catalogue.number(training.seconds, 2)},
                         {"before", catalogue.number(training.losses.front(), 4)},
                         {"after", catalogue.number(training.losses.back(), 4)}});
}

}  // namespace headlight::narrate
