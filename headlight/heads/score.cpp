// Importance, behaviour and circuits of each head side by side.
#include "headlight/heads/score.h"

#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using io::Json;

constexpr double kShareOfImportance = 0.9;  // of the time

HeadRole role_of(const HeadScore& head) {
  return clear_role(head.behaviour).value_or(head.importance.statistics.role);
}

template <class T>
Json number_or_null(const std::optional<T>& number) {
  return number ? Json(*number) : Json();
}

Json value_json(const std::optional<BehaviourScore>& score) {
  return score ? Json(score->value) : Json();
}
Json uniform_json(const std::optional<BehaviourScore>& score) {
  return score ? Json(score->uniform) : Json();
}

Json head_score_json(const HeadScore& head) {
  const HeadImportance& importance = head.importance;
  const Behaviour& behaviour = head.behaviour;
  const auto of_rows = [&](double number) { return importance.rows > 0 ? Json(number) : Json(); };
  return Json::Object{
      {"head", head.head},
      {"gradient", importance.gradient},
      {"gradient_signed", importance.gradient_signed},
      {"entropy", of_rows(importance.statistics.entropy)},
      {"confidence", of_rows(importance.confidence)},
      {"mean_distance", of_rows(importance.statistics.mean_distance)},
      {"previous", value_json(behaviour.previous)},
      {"duplicate", value_json(behaviour.duplicate)},
      {"induction", value_json(behaviour.induction)},
      {"prefix_matching", value_json(behaviour.prefix_matching)},
      {"copying", number_or_null(head.copying)},
      {"role", name_of(head.role)},
      {"gradient_normalized", importance.gradient_normalized},
      {"relative_entropy", of_rows(importance.statistics.relative_entropy)},
      {"uniform", Json::Object{{"previous", uniform_json(behaviour.previous)},
                               {"duplicate", uniform_json(behaviour.duplicate)},
                               {"induction", uniform_json(behaviour.induction)},
                               {"prefix_matching", uniform_json(behaviour.prefix_matching)}}}};
}

Json rows_json(const tensor::Tensor& ids) {
  Json::Array rows;
  for (int64_t b = 0; b < ids.size(0); ++b) {
    const int64_t* row = ids.data<int64_t>() + b * ids.size(1);
    rows.emplace_back(Json::Array(row, row + ids.size(1)));
  }
  return rows;
}

Json sequences_json(const BehaviourResult& behaviour) {
  Json::Array all;
  for (size_t i = 0; i < behaviour.sequences.size(); ++i) {
    const MadeSequences& made = behaviour.sequences[i];
    Json::Object facts{{"period", made.period},
                       {"copies", made.copies},
                       {"first", made.first},
                       {"ids", rows_json(made.ids)}};
    if (i < behaviour.source_sequences.size())
      facts.emplace_back("source_ids", rows_json(behaviour.source_sequences[i].ids));
    all.emplace_back(std::move(facts));
  }
  return all;
}

}  // namespace

HeadScores score_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                       const ScoreOptions& options) {
  const ImportanceResult importance =
      measure_importance(threads, model, examples, options.watch.part(0, kShareOfImportance));
  if (importance.interrupted) return {.interrupted = true};
  HeadScores scores{.examples = importance.examples,
                    .loss = importance.loss,
                    .behaviour = measure_behaviour(threads, model, options.behaviour)};
  if (options.watch.stops()) return {.interrupted = true};
  std::vector<CopyingScore> copying = copying_scores(threads, model);
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    const std::string& place = attention->options().place;
    const auto behaviour = scores.behaviour.heads.find(place);
    for (int64_t head = 0; head < head_count(*attention); ++head) {
      const auto at = static_cast<size_t>(head);
      HeadScore score{.head = head_name(*attention, head),
                      .place = place,
                      .importance = importance.heads.at(place)[at],
                      .copying = copying[scores.heads.size()].score};
      if (behaviour != scores.behaviour.heads.end()) score.behaviour = behaviour->second[at];
      score.role = role_of(score);
      scores.heads.push_back(std::move(score));
    }
  }
  if (options.compositions) scores.compositions = compositions(threads, model);
  options.watch.tell(1, 1);
  return scores;
}

Json::Object head_scores_json(const HeadScores& scores) {
  Json::Array heads;
  for (const HeadScore& head : scores.heads) heads.push_back(head_score_json(head));
  Json::Array pairs;
  for (const Composition& one : scores.compositions) {
    pairs.emplace_back(Json::Object{
        {"from", one.from}, {"to", one.to}, {"kind", name_of(one.kind)}, {"score", one.score}});
  }
  return {{"heads", std::move(heads)},
          {"examples", scores.examples},
          {"loss", scores.loss},
          {"sequences", sequences_json(scores.behaviour)},
          {"compositions", std::move(pairs)}};
}

}  // namespace headlight::heads
