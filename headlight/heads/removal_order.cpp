// Rounds: scores of the heads that are left, the least of them gone.
#include "headlight/heads/removal_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "headlight/heads/importance.h"
#include "headlight/heads/model_gates.h"

namespace headlight::heads {
namespace {

constexpr const char* kPruningHeads = "prune";
constexpr std::array<std::string_view, 5> kPruneMethods = {"gradient", "ablation", "entropy",
                                                           "gates", "random"};

using ScoreOfHead = std::map<HeadName, double>;

// A score that is no number is null there.
io::Json scores_json(const ScoreOfHead& scores) {
  io::Json::Object facts;
  for (const auto& [head, score] : scores) facts.emplace_back(head.text(), score);
  return facts;
}

// Nothing where it is not of this form.
std::optional<ScoreOfHead> read_scores(const io::Json& json) {
  if (json.object() == nullptr) return {};
  ScoreOfHead scores;
  for (const auto& [head, score] : *json.object())
    scores[parse_head_names(head, kPruningHeads).front()] = score.number().value_or(NAN);
  return scores;
}

class RemovalRounds {
 public:
  RemovalRounds(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                const RemovalOptions& options)
      : threads_(threads), model_(model), examples_(examples), options_(options) {
    const std::vector<HeadName> all = heads_of(model);
    if (options.among.empty()) {
      left_ = all;
    } else {
      for (const HeadName& head : options.among) find_head(model, head, kPruningHeads);
      const std::set<HeadName> chosen(options.among.begin(), options.among.end());
      for (const HeadName& head : all) {
        if (chosen.contains(head)) left_.push_back(head);
      }
    }
    if (options.count < 0 || options.count > static_cast<int64_t>(left_.size())) {
      base::refuse(kPruningHeads, model.type(),
                   std::to_string(options.count) + " heads are to go, there are " +
                       std::to_string(left_.size()));
    }
    const auto tenth = static_cast<int64_t>(all.size() / 10);
    per_round_ = options.per_round > 0 ? options.per_round : std::max<int64_t>(1, tenth);
    rounds_ = (options.count + per_round_ - 1) / per_round_;
  }

  RemovalOrder run() {
    if (options_.by == PruneMethod::random) return drawn();
    check_examples(model_, examples_);
    for (int64_t round = 0; round < rounds_; ++round) {
      const std::optional<ScoreOfHead> scores = scores_of(round);
      if (!scores) return {.interrupted = true};
      remove(*scores, round + 1);
    }
    return std::move(order_);
  }

 private:
  RemovalOrder drawn() {
    const base::Random random(base::mix(options_.seed, base::name_key("order of heads")));
    for (size_t i = 0; i < static_cast<size_t>(options_.count); ++i) {
      std::swap(left_[i], left_[i + random.below(i, left_.size() - i)]);
      order_.heads.push_back({left_[i]});
    }
    return std::move(order_);
  }

  void remove(const ScoreOfHead& scores, int64_t round) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // Without a score are heads that a gate had closed before; one that is no number says nothing
    // against its head.
    const auto score_of = [&](const HeadName& head) {
      const auto found = scores.find(head);
      if (found == scores.end()) return -kInfinity;
      return std::isnan(found->second) ? kInfinity : found->second;
    };
    std::ranges::stable_sort(left_, {}, score_of);
    const auto gone = static_cast<int64_t>(order_.heads.size());
    const int64_t count = std::min(per_round_, options_.count - gone);
    for (int64_t i = 0; i < count; ++i) {
      const HeadName& head = left_[static_cast<size_t>(i)];
      order_.heads.push_back({head, round, score_of(head)});
    }
    left_.erase(left_.begin(), left_.begin() + count);
    restore_model_order();
  }

  void restore_model_order() {
    const std::set<HeadName> kept(left_.begin(), left_.end());
    left_.clear();
    for (const HeadName& head : heads_of(model_)) {
      if (kept.contains(head)) left_.push_back(head);
    }
  }

  // Known from an earlier run, or measured now.
  std::optional<ScoreOfHead> scores_of(int64_t round) {
    const std::string part = "round " + std::to_string(round + 1);
    if (const auto json = options_.known ? options_.known(part) : std::nullopt) {
      if (auto scores = read_scores(*json)) return scores;
    }
    std::optional<ScoreOfHead> scores = measured(round);
    if (scores && options_.finished) options_.finished(part, scores_json(*scores));
    return scores;
  }

  std::optional<ScoreOfHead> measured(int64_t round) {
    const auto begin = static_cast<double>(round) / static_cast<double>(rounds_);
    const auto end = static_cast<double>(round + 1) / static_cast<double>(rounds_);
    const Watch watch = options_.watch.part(begin, end);
    ModelGates gates(model_);
    const std::vector<HeadName> gone = order_.first(order_.heads.size());
    gates.close(gone, kPruningHeads);
    switch (options_.by) {
      case PruneMethod::ablation:
        return by_ablation(gates, gone, watch);
      case PruneMethod::gates:
        return by_gates(watch);
      default:
        return by_importance(watch);
    }
  }

  std::optional<ScoreOfHead> by_importance(const Watch& watch) {
    const ImportanceResult result = measure_importance(threads_, model_, examples_, watch);
    if (result.interrupted) return {};
    ScoreOfHead scores;
    for (const nn::MultiHeadAttention* attention : models::attentions_of(model_)) {
      const std::string& place = attention->options().place;
      const nn::HeadNumbers& numbers = attention->heads().numbers;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const HeadImportance& head = result.heads.at(place)[i];
        // A head whose rows never see two keys has no choice where to look.
        const double spread = head.rows > 0 ? head.statistics.relative_entropy : 1;
        scores[{place, numbers[i]}] =
            options_.by == PruneMethod::entropy ? 1 - spread : head.gradient;
      }
    }
    return scores;
  }

  std::optional<ScoreOfHead> by_ablation(ModelGates& gates, const std::vector<HeadName>& gone,
                                         const Watch& watch) {
    AblatedModel model(threads_, model_, examples_, {});
    const auto before = model.evaluate({}, watch.quiet());
    if (!before) return {};
    ScoreOfHead scores;
    const auto work = [&](int64_t index, const Watch& piece) {
      std::vector<HeadName> without = gone;
      without.push_back(left_[static_cast<size_t>(index)]);
      gates.close(without, kPruningHeads);
      return numbers_of(model.evaluate({}, piece));
    };
    const auto take = [&](int64_t index, const std::vector<double>& numbers) {
      scores[left_[static_cast<size_t>(index)]] = measurement_of(numbers).loss - before->loss;
    };
    if (!run_pieces(static_cast<int64_t>(left_.size()), watch, {work, take})) return {};
    return scores;
  }

  // One piece of work, whose numbers are places of heads in the model and their log_alphas.
  std::optional<ScoreOfHead> by_gates(const Watch& watch) {
    const std::vector<HeadName> all = heads_of(model_);
    const auto work = [&](int64_t, const Watch& piece) -> std::optional<std::vector<double>> {
      GateOptions options = options_.gates;
      options.seed = options_.seed;
      options.watch = piece;
      options.trains_weights = false;
      const GatesResult result = train_gates(threads_, model_, options);
      if (result.interrupted) return {};
      std::vector<double> numbers;
      for (const HeadGate& gate : result.heads) {
        const auto place = std::ranges::find(all, gate.head) - all.begin();
        numbers.insert(numbers.end(), {static_cast<double>(place), gate.log_alpha});
      }
      return numbers;
    };
    ScoreOfHead scores;
    const auto take = [&](int64_t, const std::vector<double>& numbers) {
      for (size_t i = 0; i < numbers.size(); i += 2)
        scores[all[static_cast<size_t>(numbers[i])]] = numbers[i + 1];
    };
    if (!run_pieces(1, watch, {work, take})) return {};
    return scores;
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const Examples& examples_;
  const RemovalOptions& options_;
  std::vector<HeadName> left_;  // that may go, in the order of the model
  int64_t per_round_ = 0;
  int64_t rounds_ = 0;
  RemovalOrder order_;
};

}  // namespace

std::string_view name_of(PruneMethod method) { return kPruneMethods[static_cast<size_t>(method)]; }

PruneMethod prune_method(std::string_view word) {
  const auto found = std::ranges::find(kPruneMethods, word);
  if (found != kPruneMethods.end()) {
    return static_cast<PruneMethod>(found - kPruneMethods.begin());
  }
  throw base::Error(base::ErrorKind::usage, "by", io::in_quotes(word),
                    "is none of gradient, ablation, entropy, gates, random" +
                        base::nearest_hint(word, kPruneMethods));
}

int64_t rounded_share(double share, int64_t count) {
  // Decimal shares are not exact: 0.145 * 100 comes out a little below a half.
  constexpr double kRounding = 1e-9;
  return static_cast<int64_t>(std::floor(share * static_cast<double>(count) + 0.5 + kRounding));
}

int64_t heads_kept(double share, int64_t heads) {
  if (!(share > 0 && share <= 1)) {
    throw base::Error(base::ErrorKind::usage, "keep", io::json_text(share),
                      "is no share of the heads: one is above 0 and at most 1");
  }
  const int64_t kept = rounded_share(share, heads);
  if (kept == 0) {
    base::refuse("keep", io::json_text(share),
                 "of " + std::to_string(heads) +
                     " heads is none; at least one must stay, as with " +
                     io::json_text(std::ceil(1000.0 / static_cast<double>(heads)) / 1000));
  }
  return kept;
}

std::vector<HeadName> RemovalOrder::first(size_t count) const {
  std::vector<HeadName> names;
  for (size_t i = 0; i < std::min(count, heads.size()); ++i) names.push_back(heads[i].head);
  return names;
}

RemovalOrder removal_order(base::ThreadPool& threads, models::Model& model,
                           const Examples& examples, const RemovalOptions& options) {
  return RemovalRounds(threads, model, examples, options).run();
}

std::optional<Measurement> measure_model(base::ThreadPool& threads, models::Model& model,
                                         const Examples& examples, const MeasureOptions& options) {
  ModelGates gates(model);
  gates.close(options.without, kPruningHeads);
  return AblatedModel(threads, model, examples, {.metric = options.metric})
      .evaluate({}, options.watch);
}

}  // namespace headlight::heads
