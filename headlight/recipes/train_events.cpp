// Events as lines of a log.
#include "headlight/recipes/train_events.h"

#include <cmath>

namespace headlight::recipes {
namespace {

io::Json event_object(std::string_view event, int64_t step, io::Json::Object facts) {
  io::Json::Object object{{"event", event}, {"step", step}};
  for (auto& fact : facts) object.push_back(std::move(fact));
  return object;
}

}  // namespace

io::Json event_json(const TrainStart& event) {
  io::Json::Object facts{
      {"task", event.task},     {"parameters", event.parameters},
      {"data", event.data},     {"steps", event.steps},
      {"memory", event.memory}, {"estimated_seconds", std::round(event.estimated_seconds)},
      {"shards", event.shards}, {"ranks", event.ranks}};
  if (!event.memory_saved.empty()) facts.emplace_back("memory_saved", event.memory_saved);
  return event_object("start", event.step, std::move(facts));
}

io::Json event_json(const TrainStep& event) {
  return event_object("step", event.step,
                      {{"train_loss", event.train_loss},
                       {"learning_rate", event.learning_rate},
                       {"gradient_norm", event.gradient_norm},
                       {"tokens_per_second", std::round(event.tokens_per_second)}});
}

io::Json event_json(const TrainEvaluation& event) {
  return event_object("eval", event.step,
                      {{"valid_loss", event.valid_loss},
                       {"tokens_per_second", std::round(event.tokens_per_second)}});
}

io::Json event_json(const TrainCheckpoint& event) {
  return event_object("checkpoint", event.step, {});
}

io::Json event_json(const TrainDone& event) {
  io::Json::Object facts{{"valid_loss", event.valid_loss},
                         {"best_valid_loss", event.best_valid_loss},
                         {"best_step", event.best_step}};
  if (event.exact_match) {
    for (auto& fact : exact_match_json(*event.exact_match)) facts.push_back(std::move(fact));
  }
  return event_object("done", event.step, std::move(facts));
}

}  // namespace headlight::recipes
