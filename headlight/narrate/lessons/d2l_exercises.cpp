// The exercises of the lesson `d2l`: heads drawn, and what is lost when one is switched off.
#include <algorithm>
#include <cmath>

#include "headlight/heads/heads.h"
#include "headlight/narrate/lessons/d2l.h"
#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

// A story of the kind that the embedded model `stories` was trained on; its end can only be known
// from its beginning.
constexpr const char* kStory =
    "Anna and Tom meet in the garden. Tom shows Anna a red fox. What does Anna see? She sees the "
    "red fox of Tom.";

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

double loss_without(LessonOptions& options, models::Model& model, const models::Batch& batch,
                    const std::vector<heads::HeadName>& heads) {
  tensor::Arena arena;
  heads::HeadsOff off(heads, model);
  autograd::Context context{.threads = options.threads, .arena = arena, .intervention = &off};
  return model.loss(context, batch).data().data<float>()[0];
}

// Each head of the embedded model `stories`: how far it looks, and the loss without it.
void add_trained_heads(LessonOptions& options, ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  recipes::FilesWithEmbedded files;
  const recipes::LoadedModel loaded = recipes::load_named_model(files, "embedded:stories");
  models::Model& model = *loaded.model;
  const explain::Input input =
      explain::make_input(model, recipes::need_tokenizer(files, loaded), {.text = kStory});
  const explain::Trace trace = explain::trace_model(options.threads, model, input);
  const double whole = loss_without(options, model, input.batch, {});
  ShownTable table{{{catalogue.text("label.head"), catalogue.text("label.distance"),
                     catalogue.text("label.loss"), catalogue.text("label.change")},
                    {"–", "", catalogue.number(whole, 4), ""}}};
  step.numbers.push_back({"loss", whole});
  for (const heads::HeadStatistics& head :
       heads::head_statistics(options.threads, trace.recording(), input.batch)) {
    const double loss = loss_without(options, model, input.batch, {{head.place, head.head}});
    table.lines.push_back({head.name(), catalogue.number(head.mean_distance, 2),
                           catalogue.number(loss, 4), catalogue.number(loss - whole, 4)});
    step.numbers.push_back({"distance_of_" + head.name(), head.mean_distance});
    step.numbers.push_back({"loss_without_" + head.name(), loss});
  }
  step.tables.push_back(table);
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
  return step;
}

ShownStep d2l_head_importance(LessonOptions& options) {
  ShownStep step = lesson_step(options, "d2l", 7);
  step.paragraphs.push_back(options.catalogue.text("lesson.d2l.7.trained", {{"story", kStory}}));
  add_silent_heads(options, step);
  add_trained_heads(options, step);
  return step;
}

}  // namespace headlight::narrate
