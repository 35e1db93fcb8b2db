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

// An attention's run on a batch.
struct AttentionShape {
  std::string place;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  bool causal = false;
};

// The part of a relation that is in one batch, at one attention.
struct BatchPair {
  int64_t row = 0;  // of the batch
  int64_t query = 0;
  int64_t key = 0;
  uint64_t number = 0;  // among all pairs of its kind
};

// The weights of a batch that are asked for at one attention: places in (B, T, S).
struct AskedWeights {
  std::vector<int64_t> places = {};              // all of them once, ascending
  std::vector<size_t> pairs = {};                // which of these, for each pair
  std::vector<std::vector<size_t>> rounds = {};  // and for those of each round
  size_t turned = 0;                             // pairs
};

class PairSearch {
 public:
  PairSearch(base::ThreadPool& threads, models::Model& model, const Relation& relation,
             const FindOptions& options)
      : threads_(threads), model_(model), relation_(relation), options_(options) {}

  // What is asked for of a batch, whose examples are counted from `first`: of each attention with
  // pairs its shape and, of each head, its weights at the places.
  std::vector<double> look(const Batch& batch, int64_t first) {
    std::vector<double> numbers;
    AttentionObserver observer([&](const SeenAttention& seen) {
      const AttentionShape shape{seen.place,   seen.batch, seen.heads,
                                 seen.queries, seen.keys,  seen.causal};
      AskedWeights asked = asked_of(shape, batch, first);
      if (asked.pairs.empty()) return;
      for (const int64_t number : {place_number(shape.place), shape.batch, shape.heads,
                                   shape.queries, shape.keys, int64_t{shape.causal}})
        numbers.push_back(static_cast<double>(number));
      const size_t begin = numbers.size();
      const size_t each = asked.places.size();
      numbers.resize(begin + each * static_cast<size_t>(shape.heads));
      threads_.parallel_for(shape.heads, [&](int64_t head, int /*worker*/) {
        const Tensor weights = seen.stage(threads_, kernels::ScoreStage::weights, head);
        double* to = numbers.data() + begin + each * static_cast<size_t>(head);
        for (const int64_t place : asked.places) *to++ = weights.data<float>()[place];
      });
      asked_[{first, shape.place}] = std::move(asked);
    });
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &observer};
    model_.forward(context, batch);
    return numbers;
  }

  // What look() has given for the batch, here or elsewhere.
  void add(const std::vector<double>& numbers, const Batch& batch, int64_t first) {
    for (size_t at = 0; at < numbers.size();) {
      const auto next = [&] { return static_cast<int64_t>(numbers[at++]); };
      AttentionShape shape{.place =
                               model_.attentions()[static_cast<size_t>(next())]->options().place};
      shape.batch = next();
      shape.heads = next();
      shape.queries = next();
      shape.keys = next();
      shape.causal = next() != 0;
      const auto known = asked_.extract({first, shape.place});
      const AskedWeights asked = known ? known.mapped() : asked_of(shape, batch, first);
      add_attention(shape, asked, numbers.data() + at);
      at += asked.places.size() * static_cast<size_t>(shape.heads);
    }
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
  int64_t place_number(const std::string& place) const {
    const auto attentions = model_.attentions();
    const auto is_there = [&](const nn::MultiHeadAttention* attention) {
      return attention->options().place == place;
    };
    return std::ranges::find_if(attentions, is_there) - attentions.begin();
  }

  // `turned`: counts those that were turned round.
  std::vector<BatchPair> pairs_in(const AttentionShape& attention, const Batch& batch,
                                  int64_t first, size_t& turned) const {
    std::vector<BatchPair> result;
    const std::vector<PositionPair>& all = pairs_for(relation_, attention.place);
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
    return result;
  }

  // Of round `round`; nothing where no row of the example sees another token.
  std::optional<BatchPair> random_pair(const AttentionShape& attention, const Batch& batch,
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

  AskedWeights asked_of(const AttentionShape& attention, const Batch& batch, int64_t first) const {
    AskedWeights asked;
    const std::vector<BatchPair> pairs = pairs_in(attention, batch, first, asked.turned);
    if (pairs.empty()) return asked;
    std::vector<size_t> numbers(
        static_cast<size_t>(attention.batch * attention.queries * attention.keys));
    // As places first, which are numbered when all are known.
    const auto ask = [&](const BatchPair& pair, std::vector<size_t>& of) {
      of.push_back(static_cast<size_t>(
          (pair.row * attention.queries + pair.query) * attention.keys + pair.key));
      numbers[of.back()] = 1;
    };
    asked.rounds.resize(static_cast<size_t>(options_.rounds));
    for (const BatchPair& pair : pairs) ask(pair, asked.pairs);
    for (size_t round = 0; round < asked.rounds.size(); ++round) {
      for (const BatchPair& pair : pairs) {
        if (const auto drawn = random_pair(attention, batch, pair, round))
          ask(*drawn, asked.rounds[round]);
      }
    }
    for (size_t place = 0; place < numbers.size(); ++place) {
      if (numbers[place] == 0) continue;
      numbers[place] = asked.places.size();
      asked.places.push_back(static_cast<int64_t>(place));
    }
    for (size_t& place : asked.pairs) place = numbers[place];
    for (std::vector<size_t>& round : asked.rounds) {
      for (size_t& place : round) place = numbers[place];
    }
    return asked;
  }

  // `weights`: of each head at the places that are asked for.
  void add_attention(const AttentionShape& attention, const AskedWeights& asked,
                     const double* weights) {
    // All attentions of a kind turn the same pairs: the first one counts them.
    if (counted_place_.empty() && asked.turned > 0) counted_place_ = attention.place;
    if (counted_place_ == attention.place) turned_ += asked.turned;
    std::vector<PairSums>& sums = sums_[attention.place];
    sums.resize(static_cast<size_t>(attention.heads));
    threads_.parallel_for(attention.heads, [&](int64_t head, int /*worker*/) {
      const double* numbers = weights + static_cast<size_t>(head) * asked.places.size();
      PairSums& sum = sums[static_cast<size_t>(head)];
      sum.rounds.resize(asked.rounds.size());
      sum.pairs += static_cast<int64_t>(asked.pairs.size());
      for (const size_t at : asked.pairs) sum.weight += numbers[at];
      for (size_t round = 0; round < asked.rounds.size(); ++round) {
        for (const size_t at : asked.rounds[round]) sum.rounds[round] += numbers[at];
      }
    });
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const Relation& relation_;
  const FindOptions& options_;
  std::map<std::string, std::vector<PairSums>, std::less<>> sums_;
  // Of batches that were looked at here, by their first example and place, until they are added.
  std::map<std::pair<int64_t, std::string>, AskedWeights> asked_;
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

// False when it was told to stop.
bool search_examples(PairSearch& search, const Examples& examples, const Watch& watch) {
  std::vector<int64_t> first = {0};  // examples of the batches
  for (const Batch& batch : examples) first.push_back(first.back() + batch.ids.size(0));
  const auto work = [&](int64_t index, const Watch&) {
    const auto at = static_cast<size_t>(index);
    return search.look(examples[at], first[at]);
  };
  const auto take = [&](int64_t index, const std::vector<double>& numbers) {
    const auto at = static_cast<size_t>(index);
    search.add(numbers, examples[at], first[at]);
  };
  return run_pieces(static_cast<int64_t>(examples.size()), watch, {work, take});
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
    const auto measured = ablated_.evaluate(heads, watch_.quiet());
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
  if (!search_examples(search, examples, options.watch.part(0, kShareOfSearch)))
    return {.interrupted = true};
  FoundHeads found{.pairs = relation.size(),
                   .turned = search.turned(),
                   .examples = example_count(examples),
                   .by = options.by};
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
