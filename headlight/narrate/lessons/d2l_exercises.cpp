// The exercises of the lesson `d2l`: heads drawn, and what each of them is worth. What becomes of
// the least important ones is in d2l_pruning.cpp.
#include <algorithm>
#include <cmath>
#include <set>

#include "headlight/narrate/lessons/d2l.h"
#include "headlight/narrate/lessons/lesson_parts.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

// Short enough for its heads to stand side by side.
constexpr const char* kDrawnSentence = "Tom shows Anna a red fox.";
constexpr size_t kDrawnHeads = 4;

std::vector<std::string> numbered(const char* letter, int64_t count) {
  std::vector<std::string> labels;
  for (int64_t i = 1; i <= count; ++i) labels.push_back(letter + std::to_string(i));
  return labels;
}

// The heads of the first sequence of a run.
void draw(const LessonOptions& options, const std::string& run, const std::string& label,
          ShownStep& step) {
  const tensor::Shape shape = options.runs->at(run).trace.at("self.weights").shape;
  for (int64_t head = 0; head < shape[1]; ++head) {
    step.heads.push_back(
        run_head(options, run, "self.weights", head,
                 options.catalogue.text("place.head", {{"head", std::to_string(head)}}) + label,
                 {numbered("q", shape[2]), numbered("k", shape[3])}));
  }
}

// Those heads of the trained model in which different tokens look most clearly at different ones.
void draw_trained_heads(LessonOptions& options, ShownStep& step) {
  const explain::Trace& trace = options.runs->traced("stories", [&] {
    const StoriesModel& stories = stories_model(options);
    const explain::Input input =
        explain::make_input(stories.model(), *stories.tokenizer, {.text = kDrawnSentence});
    return explain::trace_model(options.threads, stories.model(), input);
  });
  const std::vector<heads::HeadStatistics> all =
      heads::head_statistics(options.threads, trace.recording(), trace.input().batch);
  std::vector<std::string> words;
  for (const std::string& token : trace.input().tokens)
    words.push_back(token.starts_with(' ') ? token.substr(1) : token);
  std::vector<size_t> drawn(all.size());
  for (size_t i = 0; i < drawn.size(); ++i) drawn[i] = i;
  std::ranges::stable_sort(drawn, std::greater(), [&](size_t i) { return all[i].selectivity; });
  drawn.resize(std::min(drawn.size(), kDrawnHeads));
  std::ranges::sort(drawn);
  for (const size_t i : drawn) {
    const heads::HeadStatistics& head = all[i];
    step.heads.push_back(run_head(options, "stories", head.place + ".weights", head.head,
                                  head.name(), {words, words}));
  }
  step.paragraphs.push_back(
      options.catalogue.text("lesson.d2l.6.trained", {{"sentence", kDrawnSentence},
                                                      {"heads", std::to_string(all.size())},
                                                      {"drawn", std::to_string(drawn.size())}}));
}

// How far the output of a random module moves when one head is silent, as a share of its length.
void add_silent_heads(LessonOptions& options, ShownStep& step) {
  tensor::Arena arena;
  autograd::Context context{.threads = options.threads, .arena = arena};
  nn::MultiHeadAttention attention = d2l_module(options.seed);
  const Value x = Value::leaf(drawn_numbers({1, 4, kD2lWidth}, options.seed, "x"));
  const Tensor whole = attention.forward(context, x).data().contiguous();
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
  step.tables.push_back(table);
}

// What was measured of a head of the trained model.
struct MeasuredHead {
  std::string name;
  double distance = 0;
  double gradient = 0;
  double loss = 0;    // without it
  double change = 0;  // of the loss
};
struct MeasuredHeads {
  double loss = 0;  // of the whole model
  std::vector<MeasuredHead> heads = {};

  // The names of the half that is worth least.
  std::set<std::string> least(double MeasuredHead::*worth) const {
    std::vector<MeasuredHead> sorted = heads;
    std::ranges::stable_sort(sorted, {}, worth);
    std::set<std::string> names;
    for (size_t i = 0; i < sorted.size() / 2; ++i) names.insert(sorted[i].name);
    return names;
  }
};

MeasuredHeads measure_heads(LessonOptions& options) {
  const StoriesModel& stories = stories_model(options);
  const heads::AblationResult ablation =
      heads::ablate_heads(options.threads, stories.model(), stories.chosen_by);
  const heads::ImportanceResult importance =
      heads::measure_importance(options.threads, stories.model(), stories.chosen_by);
  MeasuredHeads measured{.loss = ablation.baseline.loss};
  for (const heads::AblatedHead& ablated : ablation.heads) {
    for (const heads::HeadImportance& head : importance.heads.at(ablated.place)) {
      if (head.statistics.name() != ablated.head) continue;
      measured.heads.push_back({.name = ablated.head,
                                .distance = head.statistics.mean_distance,
                                .gradient = head.gradient,
                                .loss = ablated.measured.loss,
                                .change = ablated.change});
    }
  }
  return measured;
}

// Each head of the trained model: how far it looks, and what it is worth by two measures.
void add_trained_heads(LessonOptions& options, ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  const MeasuredHeads& measured =
      options.runs->once("measured heads", [&] { return measure_heads(options); });
  ShownTable table{{{catalogue.text("label.head"), catalogue.text("label.distance"),
                     catalogue.text("label.gradient"), catalogue.text("label.loss"),
                     catalogue.text("label.change")},
                    {"–", "", "", catalogue.number(measured.loss, 4), ""}}};
  step.numbers.push_back({"loss", measured.loss});
  const auto shown = [&](double value) {
    return catalogue.number(std::fabs(value) < 5e-5 ? 0 : value, 4);
  };
  for (const MeasuredHead& head : measured.heads) {
    table.lines.push_back({head.name, catalogue.number(head.distance, 2), shown(head.gradient),
                           shown(head.loss), shown(head.change)});
    step.numbers.push_back({"distance_of_" + head.name, head.distance});
    step.numbers.push_back({"gradient_of_" + head.name, head.gradient});
    step.numbers.push_back({"loss_without_" + head.name, head.loss});
  }
  step.tables.push_back(table);
  const std::set<std::string> by_gradient = measured.least(&MeasuredHead::gradient);
  const std::set<std::string> by_ablation = measured.least(&MeasuredHead::change);
  const auto both = std::ranges::count_if(
      by_gradient, [&](const std::string& name) { return by_ablation.contains(name); });
  step.afterwards.push_back(catalogue.text(
      "lesson.d2l.7.both",
      {{"count", std::to_string(by_gradient.size())}, {"both", std::to_string(both)}}));
  step.numbers.push_back({"least_important_by_both", static_cast<double>(both)});
}

}  // namespace

ShownStep d2l_drawn_heads(LessonOptions& options) {
  const tensor::Shape shape = options.runs->at("module").trace.at("self.weights").shape;
  options.runs->traced("random", [&] {
    const auto drawn = [&](int64_t rows, const char* name) {
      return Value::leaf(drawn_numbers({1, rows, kD2lWidth}, options.seed, name));
    };
    return trace_attention(options, d2l_module(options.seed), drawn(shape[2], "queries"),
                           drawn(shape[3], "pairs"),
                           {.valid_lens = Tensor::of({1}, std::vector<int64_t>{3})});
  });
  ShownStep step = lesson_step(options, "d2l", 6);
  draw(options, "module", ": " + options.catalogue.text("label.ones"), step);
  draw(options, "random", ": " + options.catalogue.text("label.random"), step);
  draw_trained_heads(options, step);
  return step;
}

ShownStep d2l_head_importance(LessonOptions& options) {
  const StoriesModel& stories = stories_model(options);
  ShownStep step = lesson_step(options, "d2l", 7);
  step.paragraphs.push_back(
      options.catalogue.text("lesson.d2l.7.trained",
                             {{"count", std::to_string(stories.count)}, {"story", stories.first}}));
  step.paragraphs.push_back(options.catalogue.text("lesson.d2l.7.gradient"));
  add_silent_heads(options, step);
  add_trained_heads(options, step);
  return step;
}

}  // namespace headlight::narrate
