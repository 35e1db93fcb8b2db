// Heads chosen and removed, and what that does.
#include "headlight/heads/prune.h"

#include <set>

#include "headlight/heads/model_gates.h"

namespace headlight::heads {
namespace {

using io::Json;

constexpr const char* kPruned = "prune";

class Pruning {
 public:
  Pruning(base::ThreadPool& threads, models::Model& model, const Examples& examples,
          const PruneOptions& options)
      : threads_(threads), model_(model), examples_(examples), options_(options) {
    result_.heads = static_cast<int64_t>(heads_of(model).size());
    result_.same_shape = options.same_shape;
    result_.parameters_before = number_count(model);
    if (options.metric) result_.metric = options.metric->name;
  }

  PruneResult run() {
    if (!choose() || !measure(model_, kChosen, result_.before)) return interrupted();
    std::vector<HeadName> removed;
    for (const RemovedHead& one : result_.removed) removed.push_back(one.head);
    result_.model =
        options_.same_shape ? silenced_model(model_, removed) : pruned_model(model_, removed);
    result_.parameters_after = number_count(*result_.model);
    if (!measure(*result_.model, kChosen + kMeasured, result_.pruned)) return interrupted();
    if (options_.finetune && !finetune(removed)) return interrupted();
    options_.watch.tell(1, 1);
    return std::move(result_);
  }

 private:
  // Shares of the time.
  static constexpr double kChosen = 0.5;
  static constexpr double kMeasured = 0.03;

  static PruneResult interrupted() {
    PruneResult result;
    result.interrupted = true;
    return result;
  }

  bool choose() {
    if (!options_.heads_off.empty()) {
      std::set<HeadName> named;
      for (const HeadName& head : options_.heads_off) {
        find_head(model_, head, kPruned);
        if (named.insert(head).second) result_.removed.push_back({head});
      }
      return true;
    }
    result_.by = options_.removal.by;
    RemovalOptions removal = options_.removal;
    removal.count = result_.heads - heads_kept(options_.keep, result_.heads);
    removal.watch = options_.watch.part(0, options_.finetune ? kChosen : 1 - 2 * kMeasured);
    RemovalOrder order = removal_order(threads_, model_, examples_, removal);
    result_.removed = std::move(order.heads);
    return !order.interrupted;
  }

  // False: it was told to stop.
  bool measure(models::Model& model, double begin, std::optional<Measurement>& to) {
    if (options_.measured_on == nullptr) return true;
    to = measure_model(threads_, model, *options_.measured_on,
                       {.metric = options_.metric,
                        .watch = options_.finetune ? options_.watch.part(begin, begin + kMeasured)
                                                   : options_.watch.quiet()});
    return to.has_value();
  }

  bool finetune(const std::vector<HeadName>& removed) {
    // What was silenced must not be trained back: behind a closed gate it gets no gradient.
    ModelGates gates(*result_.model);
    if (options_.same_shape) gates.close(removed, kPruned);
    const auto work = [&](int64_t, const Watch& watch) -> std::optional<std::vector<double>> {
      if (!options_.finetune(*result_.model, watch)) return {};
      if (options_.measured_on == nullptr) return std::vector<double>();
      return numbers_of(measure_model(threads_, *result_.model, *options_.measured_on,
                                      {.metric = options_.metric, .watch = watch.quiet()}));
    };
    const auto take = [&](int64_t, const std::vector<double>& numbers) {
      if (!numbers.empty()) result_.finetuned = measurement_of(numbers);
    };
    return run_pieces(1, options_.watch.part(kChosen + 2 * kMeasured, 1), {work, take});
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const Examples& examples_;
  const PruneOptions& options_;
  PruneResult result_;
};

}  // namespace

PruneResult prune_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                        const PruneOptions& options) {
  return Pruning(threads, model, examples, options).run();
}

int64_t number_count(const models::Model& model) {
  int64_t count = 0;
  for (const nn::ParameterHandle& parameter : model.parameters())
    count += parameter->shape().elements();
  return count;
}

Json::Object measurement_json(const Measurement& measured, const std::string& metric) {
  Json::Object facts{{"loss", measured.loss}};
  if (measured.metric) facts.emplace_back(metric, *measured.metric);
  return facts;
}

Json::Object prune_json(const PruneResult& result) {
  Json::Array removed;
  for (const RemovedHead& one : result.removed) {
    removed.emplace_back(Json::Object{{"head", one.head.text()},
                                      {"round", one.round},
                                      {"score", one.score ? Json(*one.score) : Json()}});
  }
  Json::Object facts{{"by", result.by ? Json(name_of(*result.by)) : Json()},
                     {"heads", result.heads},
                     {"kept", result.kept()},
                     {"removed", std::move(removed)},
                     {"same_shape", result.same_shape},
                     {"parameters", Json::Object{{"before", result.parameters_before},
                                                 {"after", result.parameters_after}}}};
  const auto add = [&](const char* name, const std::optional<Measurement>& measured) {
    if (measured) facts.emplace_back(name, measurement_json(*measured, result.metric));
  };
  add("before", result.before);
  add("pruned", result.pruned);
  add("finetuned", result.finetuned);
  return facts;
}

}  // namespace headlight::heads
