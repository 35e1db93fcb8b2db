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
  // A set of heads that is taken out, and the name of that.
  struct Removal {
    std::string name;
    HeadSet heads;
  };

  // Of each removal, in order; fewer than there are removals when it was told to stop.
  std::vector<Measurement> measure(const std::vector<Removal>& removals) {
    std::vector<std::optional<Measurement>> found;
    std::vector<size_t> open;
    for (const Removal& removal : removals) {
      found.push_back(options_.known ? options_.known(removal.name) : std::nullopt);
      if (!found.back()) open.push_back(found.size() - 1);
    }
    done_ += static_cast<int64_t>(found.size() - open.size());
    options_.watch.tell(done_, planned_);
    const auto take = [&](int64_t index, const std::vector<double>& numbers) {
      const size_t at = open[static_cast<size_t>(index)];
      found[at] = measurement_of(numbers);
      if (options_.measured) options_.measured(removals[at].name, *found[at]);
    };
    const auto work = [&](int64_t index, const Watch& watch) {
      return numbers_of(ablated_.evaluate(removals[open[static_cast<size_t>(index)]].heads, watch));
    };
    const auto count = static_cast<int64_t>(open.size());
    const Watch watch = options_.watch.part(share(done_), share(done_ + count));
    if (count != 1) {
      run_pieces(count, watch, {work, take});
    } else if (const auto numbers = work(0, watch)) {  // whose own pieces can be spread
      take(0, *numbers);
    }
    done_ += count;
    std::vector<Measurement> measured;
    for (size_t i = 0; i < found.size() && found[i]; ++i) measured.push_back(*found[i]);
    if (measured.size() == removals.size()) options_.watch.tell(done_, planned_);
    return measured;
  }

  double share(int64_t done) const {
    return static_cast<double>(done) / static_cast<double>(planned_);
  }

  AblatedHead ablated_head(const NamedHead& head, const Measurement& measured) const {
    return {head.name, head.place, measured, measured.loss - result_.baseline.loss};
  }

  bool measure_baseline() {
    const std::vector<Measurement> measured = measure({{"none", {}}});
    if (!measured.empty()) result_.baseline = measured.front();
    return !measured.empty();
  }

  // False when it was told to stop: then there are results of the first ones.
  bool measure_heads(const std::vector<Removal>& removals, std::vector<AblatedHead>& to) {
    const std::vector<Measurement> measured = measure(removals);
    for (size_t i = 0; i < measured.size(); ++i) to.push_back(ablated_head(heads_[i], measured[i]));
    return measured.size() == removals.size();
  }

  bool measure_each() {
    std::vector<Removal> removals;
    for (const NamedHead& head : heads_)
      removals.push_back({head.name, {{head.place, {head.head}}}});
    return measure_heads(removals, result_.heads);
  }

  bool measure_all_but_one() {
    if (!options_.all_but_one) return true;
    std::vector<Removal> removals;
    for (const NamedHead& head : heads_) {
      HeadSet others;
      for (const NamedHead& other : heads_) {
        if (other.place == head.place && other.head != head.head)
          others[other.place].push_back(other.head);
      }
      removals.push_back({"all but " + head.name, std::move(others)});
    }
    return measure_heads(removals, result_.all_but_one);
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
      const std::vector<AblatedHead> candidates =
          step == 0 ? result_.heads : without_one_more(left, removed, names);
      if (candidates.size() < left.size()) return false;
      size_t best = 0;
      for (size_t i = 1; i < candidates.size(); ++i) {
        if (is_better(candidates[i].measured, candidates[best].measured)) best = i;
      }
      removed[left[best].place].push_back(left[best].head);
      names += left[best].name + ",";
      left.erase(left.begin() + static_cast<int64_t>(best));
      result_.greedy.push_back(candidates[best]);
    }
    return true;
  }

  // Each of those that are left gone besides those that are; fewer when it was told to stop.
  std::vector<AblatedHead> without_one_more(const std::vector<NamedHead>& left,
                                            const HeadSet& removed, const std::string& names) {
    std::vector<Removal> removals;
    for (const NamedHead& head : left) {
      HeadSet with = removed;
      with[head.place].push_back(head.head);
      removals.push_back({names + head.name, std::move(with)});
    }
    std::vector<AblatedHead> candidates;
    for (const Measurement& measured : measure(removals))
      candidates.push_back(ablated_head(left[candidates.size()], measured));
    return candidates;
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

std::optional<std::vector<double>> numbers_of(const std::optional<Measurement>& measured) {
  if (!measured) return {};
  std::vector<double> numbers = {measured->loss};
  if (measured->metric) numbers.push_back(*measured->metric);
  return numbers;
}

Measurement measurement_of(const std::vector<double>& numbers) {
  Measurement measured{.loss = numbers.front()};
  if (numbers.size() > 1) measured.metric = numbers[1];
  return measured;
}

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
