// Weights on given pairs and on random ones, in the same runs.
#include "headlight/heads/find.h"

#include <algorithm>
#include <cmath>

#include "headlight/heads/attention_observer.h"
#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using io::Json;
using models::Batch;
using tensor::Tensor;

constexpr double kShareOfSearch = 0.6;  // of the time
constexpr double kInterval = 0.95;

const std::vector<PositionPair>& pairs_for(const Relation& relation, std::string_view place) {
  if (is_cross(place)) return relation.cross;
  return place.starts_with("encoder.") ? relation.encoder : relation.decoder;
}

// What a head puts on the pairs of the relation, and on those of each round.
struct PairSums {
  double weight = 0;
  int64_t pairs = 0;
  std::vector<double> rounds;
};

// The part of a relation that is in one batch, at one attention.
struct BatchPair {
  int64_t row = 0;  // of the batch
  int64_t query = 0;
  int64_t key = 0;
  uint64_t number = 0;  // among all pairs of its kind
};

class PairSearch {
 public:
  PairSearch(base::ThreadPool& threads, models::Model& model, const Relation& relation,
             const FindOptions& options)
      : threads_(threads), model_(model), relation_(relation), options_(options) {}

  void add(const Batch& batch, int64_t first) {
    AttentionObserver observer(
        [&](const SeenAttention& attention) { add_attention(attention, batch, first); });
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &observer};
    model_.forward(context, batch);
  }

  FoundHead found(const nn::MultiHeadAttention& attention, int64_t head) const {
    FoundHead one{.head = head_name(attention, head), .place = attention.options().place};
    const auto sums = sums_.find(one.place);
    if (sums == sums_.end()) return one;
    const PairSums& sum = sums->second[static_cast<size_t>(head)];
    if (sum.pairs == 0) return one;
    const auto pairs = static_cast<double>(sum.pairs);
    one.weight = sum.weight / pairs;
    std::vector<double> rounds = sum.rounds;
    std::ranges::sort(rounds);
    for (const double round : rounds)
      one.chance += round / pairs / static_cast<double>(rounds.size());
    const auto rank = [&](double share) {
      const double at = share * static_cast<double>(rounds.size() - 1);
      return rounds[static_cast<size_t>(std::lround(at))] / pairs;
    };
    one.low = rank((1 - kInterval) / 2);
    one.high = rank((1 + kInterval) / 2);
    return one;
  }

  // Of the pairs of self-attention that was causal.
  int64_t turned() const { return static_cast<int64_t>(turned_); }

 private:
  std::vector<BatchPair> pairs_in(const SeenAttention& attention, const Batch& batch,
                                  int64_t first) {
    std::vector<BatchPair> result;
    const std::vector<PositionPair>& all = pairs_for(relation_, attention.place);
    size_t turned = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      PositionPair pair = all[i];
      const int64_t row = pair.example - first;
      if (row < 0 || row >= attention.batch) continue;
      const CountedPositions counted = counted_positions(attention.place, batch, row);
      if (pair.query < 0 || pair.query >= counted.queries || pair.key < 0 ||
          pair.key >= counted.keys) {
        base::refuse("find heads", attention.place,
                     "a pair of query " + std::to_string(pair.query) + " and key " +
                         std::to_string(pair.key) + " is outside of example " +
                         std::to_string(pair.example) + ", which has " +
                         std::to_string(counted.queries) + " queries and " +
                         std::to_string(counted.keys) + " keys");
      }
      if (attention.causal && pair.key > pair.query) {
        std::swap(pair.query, pair.key);
        ++turned;
      }
      result.push_back({row, pair.query, pair.key, i});
    }
    // All attentions of a kind turn the same pairs: the first one counts them.
    if (counted_place_.empty() && turned > 0) counted_place_ = attention.place;
    if (counted_place_ == attention.place) turned_ += turned;
    return result;
  }

  // Of round `round`; nothing where no row of the example sees another token.
  std::optional<BatchPair> random_pair(const SeenAttention& attention, const Batch& batch,
                                       const BatchPair& pair, uint64_t round) const {
    const CountedPositions counted = counted_positions(attention.place, batch, pair.row);
    const bool cross = is_cross(attention.place);
    const uint64_t key = base::mix(base::mix(options_.seed, base::name_key("random pairs")), round);
    const base::Random random(base::mix(key, base::name_key(cross ? "cross" : "self")));
    const uint64_t index = 2 * pair.number;
    if (cross) {
      return BatchPair{pair.row, below(random, index, counted.queries),
                       below(random, index + 1, counted.keys)};
    }
    if (counted.queries < 2) return {};
    if (attention.causal) {
      const int64_t query = 1 + below(random, index, counted.queries - 1);
      return BatchPair{pair.row, query, below(random, index + 1, query)};
    }
    const int64_t query = below(random, index, counted.queries);
    const int64_t other = below(random, index + 1, counted.keys - 1);
    return BatchPair{pair.row, query, other < query ? other : other + 1};
  }

  static int64_t below(const base::Random& random, uint64_t index, int64_t bound) {
    return static_cast<int64_t>(random.below(index, static_cast<uint64_t>(bound)));
  }

  void add_attention(const SeenAttention& attention, const Batch& batch, int64_t first) {
    const std::vector<BatchPair> pairs = pairs_in(attention, batch, first);
    if (pairs.empty()) return;
    std::vector<PairSums>& sums = sums_[attention.place];
    sums.resize(static_cast<size_t>(attention.heads));
    const int64_t keys = attention.keys;
    const auto place_of = [&](const BatchPair& pair) {
      return (pair.row * attention.queries + pair.query) * keys + pair.key;
    };
    std::vector<std::vector<int64_t>> rounds(static_cast<size_t>(options_.rounds));
    for (size_t round = 0; round < rounds.size(); ++round) {
      for (const BatchPair& pair : pairs) {
        if (const auto drawn = random_pair(attention, batch, pair, round))
          rounds[round].push_back(place_of(*drawn));
      }
    }
    threads_.parallel_for(attention.heads, [&](int64_t head, int /*worker*/) {
      const Tensor weights = attention.stage(threads_, kernels::ScoreStage::weights, head);
      const float* numbers = weights.data<float>();
      PairSums& sum = sums[static_cast<size_t>(head)];
      sum.rounds.resize(rounds.size());
      sum.pairs += static_cast<int64_t>(pairs.size());
      for (const BatchPair& pair : pairs) sum.weight += numbers[place_of(pair)];
      for (size_t round = 0; round < rounds.size(); ++round) {
        for (const int64_t at : rounds[round]) sum.rounds[round] += numbers[at];
      }
    });
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const Relation& relation_;
  const FindOptions& options_;
  std::map<std::string, std::vector<PairSums>, std::less<>> sums_;
  std::string counted_place_;
  size_t turned_ = 0;
};

void check_relation(const Relation& relation, const Examples& examples) {
  if (relation.size() == 0) base::refuse("find heads", "pairs", "there are none");
  const int64_t count = example_count(examples);
  for (const auto* pairs : {&relation.encoder, &relation.decoder, &relation.cross}) {
    for (const PositionPair& pair : *pairs) {
      if (pair.example >= 0 && pair.example < count) continue;
      base::refuse("find heads", "pairs",
                   "there is no example " + std::to_string(pair.example) + " among " +
                       std::to_string(count));
    }
  }
}

// The heads that stand out, by the largest weight first.
std::vector<std::string> outstanding(const std::vector<FoundHead>& heads) {
  std::vector<std::string> names;
  for (const FoundHead& head : heads) {
    if (head.weight && *head.weight > head.high && 2 * *head.weight >= *heads.front().weight)
      names.push_back(head.head);
  }
  return names;
}

// The best ones alone and all that stand out together; false when it was interrupted.
class FoundAblation {
 public:
  FoundAblation(models::Model& model, AblatedModel& ablated, FoundHeads& found, const Watch& watch)
      : ablated_(ablated), found_(found), watch_(watch) {
    for (const nn::MultiHeadAttention* attention : model.attentions()) {
      for (int64_t head = 0; head < head_count(*attention); ++head)
        numbers_[head_name(*attention, head)] = {attention->options().place,
                                                 head_number(*attention, head)};
    }
  }

  bool run(int64_t best) {
    const int64_t count = std::min(best, static_cast<int64_t>(found_.heads.size()));
    planned_ = 2 + count;
    if (!evaluate({}, found_.baseline)) return false;
    for (int64_t i = 0; i < count; ++i) {
      FoundHead& head = found_.heads[static_cast<size_t>(i)];
      if (!head.weight) break;
      Measurement measured;
      if (!evaluate({head.head}, measured)) return false;
      head.ablated = measured;
      head.ablated_change = measured.loss - found_.baseline.loss;
    }
    return found_.together.empty() || evaluate(found_.together, found_.together_measured);
  }

 private:
  bool evaluate(const std::vector<std::string>& names, Measurement& to) {
    HeadSet heads;
    for (const std::string& name : names) {
      const auto& [place, number] = numbers_.at(name);
      heads[place].push_back(number);
    }
    const auto measured = ablated_.evaluate(heads, {.interrupted = watch_.interrupted});
    if (!measured) return false;
    to = *measured;
    watch_.tell(++done_, planned_);
    return true;
  }

  AblatedModel& ablated_;
  FoundHeads& found_;
  const Watch& watch_;
  std::map<std::string, std::pair<std::string, int64_t>> numbers_;
  int64_t planned_ = 0;
  int64_t done_ = 0;
};

Json found_head_json(const FoundHead& head, const std::string& metric) {
  const bool has = head.weight.has_value();
  Json::Object facts{{"head", head.head},
                     {"weight", has ? Json(*head.weight) : Json()},
                     {"chance", has ? Json(head.chance) : Json()},
                     {"interval", has ? Json(Json::Array{head.low, head.high}) : Json()},
                     {"ablated_change", head.ablated_change ? Json(*head.ablated_change) : Json()}};
  if (head.ablated && head.ablated->metric)
    facts.emplace_back("ablated_" + metric, *head.ablated->metric);
  return facts;
}

}  // namespace

FoundHeads find_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                      const Relation& relation, const FindOptions& options) {
  check_relation(relation, examples);
  PairSearch search(threads, model, relation, options);
  const Watch searching = options.watch.part(0, kShareOfSearch);
  int64_t first = 0;
  for (const Batch& batch : examples) {
    if (options.watch.stops()) return {.interrupted = true};
    search.add(batch, first);
    first += batch.ids.size(0);
    searching.tell(first, example_count(examples));
  }
  FoundHeads found{
      .pairs = relation.size(), .turned = search.turned(), .examples = first, .by = options.by};
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    for (int64_t head = 0; head < head_count(*attention); ++head)
      found.heads.push_back(search.found(*attention, head));
  }
  std::ranges::stable_sort(found.heads, [](const FoundHead& a, const FoundHead& b) {
    return a.weight.value_or(-1) > b.weight.value_or(-1);
  });
  found.together = outstanding(found.heads);
  if (options.metric) found.metric = options.metric->name;
  AblatedModel ablated(threads, model, options.measured_on ? *options.measured_on : examples,
                       {.by = options.by, .metric = options.metric, .seed = options.seed});
  const Watch ablating = options.watch.part(kShareOfSearch, 1);
  if (!FoundAblation(model, ablated, found, ablating).run(options.ablated))
    return {.interrupted = true};
  options.watch.tell(1, 1);
  return found;
}

Json::Object found_heads_json(const FoundHeads& found) {
  Json::Array heads;
  for (const FoundHead& head : found.heads) heads.push_back(found_head_json(head, found.metric));
  Json::Object facts{{"pairs", found.pairs},    {"heads", std::move(heads)},
                     {"turned", found.turned},  {"examples", found.examples},
                     {"by", name_of(found.by)}, {"loss", found.baseline.loss}};
  if (found.baseline.metric) facts.emplace_back(found.metric, *found.baseline.metric);
  if (found.together.empty()) {
    facts.emplace_back("together", Json());
    return facts;
  }
  Json::Object together{{"heads", Json::Array(found.together.begin(), found.together.end())},
                        {"loss", found.together_measured.loss},
                        {"change", found.together_measured.loss - found.baseline.loss}};
  if (found.together_measured.metric)
    together.emplace_back(found.metric, *found.together_measured.metric);
  facts.emplace_back("together", std::move(together));
  return facts;
}

}  // namespace headlight::heads
