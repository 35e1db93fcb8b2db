// Each head alone, all but one, and one after the other.
#include "headlight/heads/ablation.h"

#include <algorithm>

#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using io::Json;

// A head, its name, and its place among the attentions of the model.
struct NamedHead {
  std::string name;
  std::string place;
  int64_t head = 0;
};

std::vector<NamedHead> heads_of_model(models::Model& model) {
  std::vector<NamedHead> all;
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    for (int64_t head = 0; head < head_count(*attention); ++head) {
      all.push_back(
          {head_name(*attention, head), attention->options().place, head_number(*attention, head)});
    }
  }
  return all;
}

class AblationExperiment {
 public:
  AblationExperiment(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                     const AblationOptions& options)
      : options_(options),
        heads_(heads_of_model(model)),
        ablated_(threads, model, examples,
                 {.by = options.by, .metric = options.metric, .seed = options.seed}) {
    result_.by = options.by;
    result_.examples = example_count(examples);
    if (options.metric) result_.metric = options.metric->name;
    const auto count = static_cast<int64_t>(heads_.size());
    greedy_steps_ = !options.greedy            ? 0
                    : options.greedy_steps > 0 ? std::min(options.greedy_steps, count)
                                               : count;
    planned_ = 1 + count + (options.all_but_one ? count : 0);
    // The first step of greedy removal is what each head alone has shown.
    for (int64_t step = 1; step < greedy_steps_; ++step) planned_ += count - step;
  }

  AblationResult run() {
    result_.interrupted =
        !(measure_baseline() && measure_each() && measure_all_but_one() && remove_greedily());
    return std::move(result_);
  }

 private:
  std::optional<Measurement> evaluate(const HeadSet& heads, const std::string& name) {
    std::optional<Measurement> measured = options_.known ? options_.known(name) : std::nullopt;
    const bool is_new = !measured;
    if (is_new) {
      Watch watch{.interrupted = options_.watch.interrupted};
      if (options_.watch.progress) {
        watch.progress = [this](double share) {
          options_.watch.progress((static_cast<double>(done_) + share) /
                                  static_cast<double>(planned_));
        };
      }
      measured = ablated_.evaluate(heads, watch);
    }
    if (!measured) return {};
    if (is_new && options_.measured) options_.measured(name, *measured);
    options_.watch.tell(++done_, planned_);
    return measured;
  }

  AblatedHead ablated_head(const NamedHead& head, const Measurement& measured) const {
    return {head.name, head.place, measured, measured.loss - result_.baseline.loss};
  }

  bool measure_baseline() {
    const auto measured = evaluate({}, "none");
    if (measured) result_.baseline = *measured;
    return measured.has_value();
  }

  bool measure_each() {
    for (const NamedHead& head : heads_) {
      const auto measured = evaluate({{head.place, {head.head}}}, head.name);
      if (!measured) return false;
      result_.heads.push_back(ablated_head(head, *measured));
    }
    return true;
  }

  bool measure_all_but_one() {
    if (!options_.all_but_one) return true;
    for (const NamedHead& head : heads_) {
      HeadSet others;
      for (const NamedHead& other : heads_) {
        if (other.place == head.place && other.head != head.head)
          others[other.place].push_back(other.head);
      }
      const auto measured = evaluate(others, "all but " + head.name);
      if (!measured) return false;
      result_.all_but_one.push_back(ablated_head(head, *measured));
    }
    return true;
  }

  // Whether `a` is the smaller loss of quality; the first of equals stays.
  bool is_better(const Measurement& a, const Measurement& b) const {
    if (a.metric && b.metric && *a.metric != *b.metric) {
      return (*a.metric > *b.metric) == options_.metric->higher_is_better;
    }
    return a.loss < b.loss;
  }

  bool remove_greedily() {
    std::vector<NamedHead> left = heads_;
    HeadSet removed;
    std::string names;
    for (int64_t step = 0; step < greedy_steps_; ++step) {
      std::optional<AblatedHead> best;
      for (size_t i = 0; i < left.size(); ++i) {
        AblatedHead candidate;
        if (step == 0) {
          candidate = result_.heads[i];
        } else {
          HeadSet with = removed;
          with[left[i].place].push_back(left[i].head);
          const auto measured = evaluate(with, names + left[i].name);
          if (!measured) return false;
          candidate = ablated_head(left[i], *measured);
        }
        if (!best || is_better(candidate.measured, best->measured)) best = candidate;
      }
      const auto chosen = std::ranges::find(left, best->head, &NamedHead::name);
      removed[chosen->place].push_back(chosen->head);
      names += chosen->name + ",";
      left.erase(chosen);
      result_.greedy.push_back(*std::move(best));
    }
    return true;
  }

  const AblationOptions& options_;
  std::vector<NamedHead> heads_;
  AblatedModel ablated_;
  AblationResult result_;
  int64_t greedy_steps_ = 0;
  int64_t planned_ = 0;
  int64_t done_ = 0;
};

void add_measurement(const AblationResult& result, const Measurement& measured,
                     Json::Object& facts) {
  if (measured.metric) facts.emplace_back(result.metric, *measured.metric);
}

Json ablated_heads_json(const AblationResult& result, const std::vector<AblatedHead>& heads) {
  Json::Array all;
  for (const AblatedHead& head : heads) {
    Json::Object facts{{"head", head.head}, {"loss", head.measured.loss}, {"change", head.change}};
    add_measurement(result, head.measured, facts);
    all.emplace_back(std::move(facts));
  }
  return all;
}

}  // namespace

AblationResult ablate_heads(base::ThreadPool& threads, models::Model& model,
                            const Examples& examples, const AblationOptions& options) {
  return AblationExperiment(threads, model, examples, options).run();
}

Json::Object ablation_json(const AblationResult& result) {
  Json::Object facts{{"loss", result.baseline.loss},
                     {"heads", ablated_heads_json(result, result.heads)},
                     {"by", name_of(result.by)},
                     {"examples", result.examples}};
  add_measurement(result, result.baseline, facts);
  if (!result.all_but_one.empty())
    facts.emplace_back("all_but_one", ablated_heads_json(result, result.all_but_one));
  if (!result.greedy.empty())
    facts.emplace_back("greedy", ablated_heads_json(result, result.greedy));
  return facts;
}

}  // namespace headlight::heads
