// The end of the lesson `d2l`: the least important heads go, and the clock says what that saves.
#include <algorithm>

#include "headlight/narrate/lessons/d2l.h"
#include "headlight/narrate/lessons/lesson_parts.h"

namespace headlight::narrate {
namespace {

constexpr double kKeptShare = 0.5;
constexpr int64_t kDrawnOrders = 10;

// What can be without heads, and a model that is.
struct PrunedStories {
  heads::CurveResult curves;
  heads::PruneResult pruned;
  double difference = 0;  // largest, of its logits from those of the whole model with gates at 0
};

std::vector<heads::HeadName> names_of_removed(const heads::PruneResult& pruned) {
  std::vector<heads::HeadName> names;
  for (const heads::RemovedHead& one : pruned.removed) names.push_back(one.head);
  return names;
}

double difference_from_gates(LessonOptions& options, const StoriesModel& stories,
                             const heads::PruneResult& pruned) {
  const models::Batch story = heads::example_at(stories.measured_on.front(), 0);
  tensor::Arena arena;
  const auto logits = [&](const models::Model& model, autograd::Intervention* intervention) {
    autograd::Context context{
        .threads = options.threads, .arena = arena, .intervention = intervention};
    return model.logits(context, model.forward(context, story)).data().contiguous();
  };
  heads::HeadsOff off(names_of_removed(pruned), stories.model());
  return largest_difference(logits(stories.model(), &off), logits(*pruned.model, nullptr));
}

PrunedStories prune_stories(LessonOptions& options) {
  const StoriesModel& stories = stories_model(options);
  PrunedStories result;
  result.curves =
      heads::prune_curves(options.threads, stories.model(), stories.chosen_by,
                          {.methods = {heads::PruneMethod::gradient, heads::PruneMethod::ablation,
                                       heads::PruneMethod::random},
                           .types = {"all"},
                           .shares = {0, 0.25, kKeptShare},
                           .random_orders = kDrawnOrders,
                           .removal = {.seed = options.seed},
                           .measured_on = &stories.measured_on});
  result.pruned = heads::prune_heads(options.threads, stories.model(), stories.chosen_by,
                                     {.keep = kKeptShare,
                                      .removal = {.by = heads::PruneMethod::gradient},
                                      .measured_on = &stories.measured_on});
  result.difference = difference_from_gates(options, stories, result.pruned);
  return result;
}

const PrunedStories& pruned_stories(LessonOptions& options) {
  return options.runs->once("pruned stories", [&] { return prune_stories(options); });
}

// A line for each number of heads that went, a column for each way of choosing them.
void add_loss_table(const LessonOptions& options, const heads::CurveResult& result,
                    ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  ShownTable table{
      {{catalogue.text("experiment.column.removed"), catalogue.text("label.by_gradient"),
        catalogue.text("label.by_ablation"), catalogue.text("label.by_chance")}}};
  for (size_t i = 0; i < result.curves.front().points.size(); ++i) {
    const std::string removed = std::to_string(result.curves.front().points[i].heads);
    std::vector<std::string>& line = table.lines.emplace_back(1, removed);
    for (const heads::Curve& curve : result.curves) {
      line.push_back(catalogue.number(curve.points[i].loss, 4));
      step.numbers.push_back(
          {"loss_without_" + removed + "_by_" + std::string(name_of(curve.method)),
           curve.points[i].loss});
    }
  }
  step.tables.push_back(std::move(table));
}

// A model that is large enough for the clock; its weights are drawn, which makes no difference to
// the time.
constexpr int64_t kWideWidth = 256;
constexpr int64_t kWideHeads = 8;
constexpr int64_t kWideTokens = 128;
constexpr int64_t kWideBatch = 8;

heads::SpeedRow time_wide_model(LessonOptions& options) {
  models::Gpt whole({.block_size = kWideTokens,
                     .vocab_size = 64,
                     .n_layer = 1,
                     .n_head = kWideHeads,
                     .n_embd = kWideWidth});
  whole.draw(options.seed);
  std::vector<heads::HeadName> removed = heads::heads_of(whole);
  removed.resize(removed.size() / 2);
  const std::unique_ptr<models::Model> pruned = heads::pruned_model(whole, removed);
  const heads::SpeedResult speed = heads::compare_speed(
      options.threads, whole, *pruned,
      {.batches = {kWideBatch}, .tokens = {kWideTokens}, .seconds = 0.3, .seed = options.seed});
  return speed.rows.front();
}

// A row of the table, and what it is called there and in JSON.
struct TimedModels {
  std::string label;
  std::string name;
  heads::SpeedRow row;
};

std::vector<TimedModels> time_models(LessonOptions& options) {
  constexpr int64_t kStoryTokens = 64;
  const heads::SpeedResult small = heads::compare_speed(
      options.threads, stories_model(options).model(), *pruned_stories(options).pruned.model,
      {.batches = {1, 8}, .tokens = {kStoryTokens}, .seconds = 0.1, .seed = options.seed});
  const auto named = [](const std::string& label, const std::string& name,
                        const heads::SpeedRow& row) {
    const std::string batch = std::to_string(row.batch);
    return TimedModels{label + " · " + batch + " × " + std::to_string(row.tokens),
                       name + "_batch_" + batch, row};
  };
  std::vector<TimedModels> rows;
  for (const heads::SpeedRow& row : small.rows) rows.push_back(named("stories", "stories", row));
  rows.push_back(named("C = " + std::to_string(kWideWidth), "wide", time_wide_model(options)));
  return rows;
}

void add_time_table(const LessonOptions& options, const std::vector<TimedModels>& rows,
                    ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  ShownTable table{{{catalogue.text("label.batch_and_tokens"), catalogue.text("label.whole"),
                     catalogue.text("label.pruned"), catalogue.text("label.bound"),
                     catalogue.text("label.measured"), catalogue.text("label.middle_half")}}};
  for (const TimedModels& timed : rows) {
    const heads::SpeedRow& row = timed.row;
    const auto milliseconds = [&](double seconds) {
      return catalogue.number(1000 * seconds, 3) + " ms";
    };
    table.lines.push_back({timed.label, milliseconds(row.seconds_full),
                           milliseconds(row.seconds_pruned), catalogue.number(row.bound, 3),
                           catalogue.number(row.measured, 3),
                           catalogue.number(row.low, 2) + "–" + catalogue.number(row.high, 2)});
    step.numbers.insert(step.numbers.end(),
                        {{"bound_of_" + timed.name, row.bound},
                         {"measured_ratio_of_" + timed.name, row.measured},
                         {"whole_milliseconds_of_" + timed.name, 1000 * row.seconds_full},
                         {"pruned_milliseconds_of_" + timed.name, 1000 * row.seconds_pruned}});
  }
  step.tables.push_back(std::move(table));
}

// Why the clock says another thing than arithmetic, where its own numbers bear that out.
std::string timed_reason(const Catalogue& catalogue, const TimedModels& timed) {
  const heads::SpeedRow& row = timed.row;
  const auto told = [&](const char* key, double operations, double time) {
    return catalogue.text(key, {{"row", timed.label},
                                {"operations", catalogue.number(operations, 2)},
                                {"time", catalogue.number(time, 2)}});
  };
  if (row.reason == heads::SpeedReason::reached)
    return catalogue.text("lesson.d2l.timed.reached", {{"row", timed.label}});
  if (row.reason == heads::SpeedReason::rest)
    return told("lesson.d2l.timed.rest", row.rest_of_operations(), row.rest_of_time());
  if (row.reason == heads::SpeedReason::attention) {
    return told("lesson.d2l.timed.attention", row.attention_operations_left(),
                row.attention_time_left());
  }
  return catalogue.text("lesson.d2l.timed.noise", {{"row", timed.label}});
}

ShownStep part_of_exercise(const LessonOptions& options, const std::string& key) {
  constexpr int kExercise = 7;  // the number of the step
  return {.number = kExercise, .title = options.catalogue.text(key + ".title")};
}

}  // namespace

ShownStep d2l_pruned_heads(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const auto& [curves, pruned, difference] = pruned_stories(options);
  ShownStep step = part_of_exercise(options, "lesson.d2l.pruned");
  step.paragraphs = {
      catalogue.text("lesson.d2l.pruned.text"),
      catalogue.text("lesson.d2l.pruned.stories", {{"orders", std::to_string(kDrawnOrders)}})};
  add_loss_table(options, curves, step);
  std::string removed;
  for (const heads::RemovedHead& one : pruned.removed)
    removed += (removed.empty() ? "" : ", ") + one.head.text();
  step.afterwards = {catalogue.text("lesson.d2l.pruned.removed", {{"heads", removed}}),
                     catalogue.text("lesson.d2l.pruned.smaller",
                                    {{"before", std::to_string(pruned.parameters_before)},
                                     {"after", std::to_string(pruned.parameters_after)},
                                     {"loss", catalogue.number(pruned.pruned->loss, 4)},
                                     {"difference", catalogue.number(difference, 4)}}),
                     catalogue.text("lesson.d2l.pruned.gates")};
  step.numbers.insert(step.numbers.end(),
                      {{"parameters_before", static_cast<double>(pruned.parameters_before)},
                       {"parameters_after", static_cast<double>(pruned.parameters_after)},
                       {"pruned_loss", pruned.pruned->loss},
                       {"pruned_difference", difference}});
  return step;
}

ShownStep d2l_timed_models(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const std::vector<TimedModels>& rows =
      options.runs->once("timed models", [&] { return time_models(options); });
  ShownStep step = part_of_exercise(options, "lesson.d2l.timed");
  step.paragraphs = {
      catalogue.text("lesson.d2l.timed.text"),
      catalogue.text("lesson.d2l.timed.sizes",
                     {{"small", std::to_string(stories_model(options).model().hidden_width())},
                      {"width", std::to_string(kWideWidth)},
                      {"heads", std::to_string(kWideHeads)}}),
      catalogue.text("lesson.d2l.timed.clock",
                     {{"threads", std::to_string(options.threads.size())}})};
  add_time_table(options, rows, step);
  for (const TimedModels& timed : rows) step.afterwards.push_back(timed_reason(catalogue, timed));
  const std::string command = options.program + " heads ";
  step.afterwards.push_back(catalogue.text(
      "lesson.d2l.timed.more",
      {{"commands", "`" + command + "score`, `heads ablate`, `heads prune`, `heads bench`"},
       {"help", "`" + command + "--help`"}}));
  return step;
}

}  // namespace headlight::narrate
