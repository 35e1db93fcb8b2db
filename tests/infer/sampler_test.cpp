// The kept ids and their probabilities against the definitions written out; statistics of draws.
#include "headlight/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

using Probabilities = std::map<int64_t, double>;

Probabilities kept(const std::vector<float>& logits, const SamplingOptions& options,
                   const Ids& history = {}) {
  Probabilities result;
  for (const auto& [id, probability] : Sampler(options).candidates(logits, history)) {
    EXPECT_TRUE(result.emplace(id, probability).second) << "twice: " << id;
  }
  return result;
}

std::set<int64_t> ids_of(const Probabilities& probabilities) {
  std::set<int64_t> ids;
  for (const auto& entry : probabilities) ids.insert(entry.first);
  return ids;
}

// Step by step over all ids, each step as its definition reads.
class Reference {
 public:
  Reference(const std::vector<float>& logits, const Ids& history, const SamplingOptions& options)
      : scores_(logits.begin(), logits.end()) {
    for (const int64_t id : std::set<int64_t>(history.begin(), history.end())) {
      double& score = scores_[static_cast<size_t>(id)];
      score = score < 0 ? score * options.repetition_penalty : score / options.repetition_penalty;
    }
    for (double& score : scores_) score /= options.temperature;
    if (options.top_k > 0) keep_top_k(static_cast<size_t>(options.top_k));
    if (options.top_p < 1) keep_top_p(options.top_p);
    if (options.min_p > 0) keep_min_p(options.min_p);
  }

  Probabilities result() const {
    Probabilities kept;
    const std::vector<double> all = softmax();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] > 0) kept[static_cast<int64_t>(i)] = all[i];
    }
    return kept;
  }

 private:
  std::vector<double> softmax() const {
    const double most = *std::ranges::max_element(scores_);
    std::vector<double> result;
    double sum = 0;
    for (const double score : scores_) sum += result.emplace_back(std::exp(score - most));
    for (double& number : result) number /= sum;
    return result;
  }
  void keep_top_k(size_t count) {
    std::vector<double> sorted = scores_;
    std::ranges::sort(sorted, std::greater<>());
    const double last = sorted[std::min(count, sorted.size()) - 1];
    for (double& score : scores_) score = score < last ? -INFINITY : score;
  }
  // From the least likely up: those whose running sum stays within 1 - p go, but never the last.
  void keep_top_p(double top_p) {
    const std::vector<double> all = softmax();
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores_[a] < scores_[b]; });
    double sum = 0;
    for (size_t rank = 0; rank + 1 < order.size(); ++rank) {
      sum += all[order[rank]];
      if (sum <= 1 - top_p) scores_[order[rank]] = -INFINITY;
    }
  }
  void keep_min_p(double min_p) {
    const std::vector<double> all = softmax();
    const double most = *std::ranges::max_element(all);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] < min_p * most) scores_[i] = -INFINITY;
    }
  }

  std::vector<double> scores_;
};

const std::vector<float> kLogits = {1, 3, 2, 3, -1, 0};

TEST(Sampler, without_a_temperature_takes_the_highest_and_the_lowest_id_of_equals) {
  EXPECT_EQ(Sampler({}).choose(kLogits, {}, {}), 1);
  EXPECT_EQ(kept(kLogits, {}), (Probabilities{{1, 1.0}}));
}

TEST(Sampler, keeps_equals_of_the_kth) {
  EXPECT_EQ(ids_of(kept(kLogits, {.temperature = 1, .top_k = 1})), (std::set<int64_t>{1, 3}));
  EXPECT_EQ(ids_of(kept(kLogits, {.temperature = 1, .top_k = 3})), (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(kept(kLogits, {.temperature = 1, .top_k = 100}).size(), 6U);
}

TEST(Sampler, keeps_the_k_highest_of_many_with_their_equals) {
  const base::Random random(4);
  std::vector<float> logits(2000);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(random.below(i, 500)) / 100;  // many equals
  }
  std::vector<float> sorted = logits;
  std::ranges::sort(sorted, std::greater<>());
  for (const int64_t top_k : {1, 2, 50, 777, 1999, 2000}) {
    const float lowest = sorted[static_cast<size_t>(top_k) - 1];
    std::set<int64_t> expected;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] >= lowest) expected.insert(static_cast<int64_t>(i));
    }
    EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .top_k = top_k})), expected) << top_k;
  }
}

TEST(Sampler, keeps_the_fewest_ids_that_make_top_p) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .top_p = 0.01F})), (std::set<int64_t>{0}));
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .top_p = 0.49F})), (std::set<int64_t>{0}));
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .top_p = 0.51F})), (std::set<int64_t>{0, 1}));
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .top_p = 0.9F})), (std::set<int64_t>{0, 1, 2}));
  const Probabilities two = kept(logits, {.temperature = 1, .top_p = 0.6F});
  EXPECT_NEAR(two.at(0), 0.625, 1e-6);
  EXPECT_NEAR(two.at(1), 0.375, 1e-6);
}

TEST(Sampler, keeps_ids_that_are_likely_enough_beside_the_likeliest) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .min_p = 0.29F})), (std::set<int64_t>{0, 1, 2}));
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .min_p = 0.31F})), (std::set<int64_t>{0, 1}));
  EXPECT_EQ(ids_of(kept(logits, {.temperature = 1, .min_p = 1})), (std::set<int64_t>{0}));
}

TEST(Sampler, penalizes_what_is_there_already_once) {
  const SamplingOptions options{.repetition_penalty = 2, .temperature = 1};
  const Probabilities all = kept({2, 1, -1, 0}, options, {0, 0, 0, 2});
  // The logits become 1, 1, -2, 0.
  EXPECT_NEAR(all.at(0) / all.at(1), 1, 1e-9);
  EXPECT_NEAR(std::log(all.at(2) / all.at(3)), -2, 1e-6);
  EXPECT_EQ(Sampler({.repetition_penalty = 3}).choose(std::vector<float>{2, 1, -1}, Ids{0}, {}), 1);
}

TEST(Sampler, keeps_what_the_definitions_keep) {
  const base::Random random(11);
  uint64_t next = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<float> logits(1 + random.below(next++, 60));
    // Coarse steps make ties frequent.
    for (float& logit : logits) logit = std::round(random.normal(next++) * 6) / 3;
    Ids history(random.below(next++, 5));
    for (int64_t& id : history) id = static_cast<int64_t>(random.below(next++, logits.size()));
    const SamplingOptions options{
        .repetition_penalty = random.below(next++, 2) == 0 ? 1 : 0.7F + random.uniform(next++),
        .temperature = 0.2F + 2 * random.uniform(next++),
        .top_k = static_cast<int64_t>(random.below(next++, 12)),
        .top_p = random.below(next++, 2) == 0 ? 1 : 0.02F + 0.96F * random.uniform(next++),
        .min_p = random.below(next++, 2) == 0 ? 0 : 0.5F * random.uniform(next++)};
    const Probabilities expected = Reference(logits, history, options).result();
    const Probabilities found = kept(logits, options, history);
    // Of equals at top-p's border the lower ids stay; the definition leaves that open.
    ASSERT_EQ(found.size(), expected.size()) << "round " << round;
    const auto sorted = [](const Probabilities& probabilities) {
      std::vector<double> result;
      for (const auto& entry : probabilities) result.push_back(entry.second);
      std::ranges::sort(result);
      return result;
    };
    const std::vector<double> a = sorted(found);
    const std::vector<double> b = sorted(expected);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << "round " << round;
    ASSERT_TRUE(options.top_p < 1 || ids_of(found) == ids_of(expected)) << "round " << round;
  }
}

TEST(Sampler, draws_as_often_as_the_probabilities_say) {
  const SamplingOptions options{.temperature = 0.8F, .top_k = 5, .seed = 7};
  const Probabilities expected = kept(kLogits, options);
  const Sampler sampler(options);
  constexpr int kDraws = 20000;
  std::map<int64_t, int> counts;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    ++counts[sampler.choose(kLogits, {}, {.sequence = draw % 10, .position = draw / 10})];
  }
  double chi_squared = 0;
  for (const auto& [id, probability] : expected) {
    const double difference = counts[id] - kDraws * probability;
    chi_squared += difference * difference / (kDraws * probability);
  }
  EXPECT_EQ(counts.size(), expected.size());
  EXPECT_LT(chi_squared, 18.5);  // 4 degrees of freedom: passed by chance once in a thousand
}

TEST(Sampler, draws_by_seed_sequence_and_position_alone) {
  const std::vector<float> logits(50, 1.0F);
  const Sampler sampler({.temperature = 1, .seed = 3});
  const Sampler other({.temperature = 1, .seed = 4});
  const int64_t drawn = sampler.choose(logits, {}, {5, 6});
  EXPECT_EQ(drawn, sampler.choose(logits, {}, {5, 6}));
  std::set<int64_t> draws;
  for (uint64_t i = 0; i < 20; ++i) {
    draws.insert(sampler.choose(logits, {}, {5, i}));
    draws.insert(sampler.choose(logits, {}, {i, 6}));
    draws.insert(other.choose(logits, {}, {5, i}));
  }
  EXPECT_GT(draws.size(), 20U);
}

TEST(Sampler, never_draws_what_cannot_be) {
  std::vector<float> logits(9, -INFINITY);
  logits[4] = 0;
  logits[7] = 1;
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 5}, SamplingOptions{.temperature = 5, .top_k = 6},
        SamplingOptions{.temperature = 5, .top_p = 0.999F}, SamplingOptions{}}) {
    for (uint64_t i = 0; i < 100; ++i) {
      const int64_t id = Sampler(options).choose(logits, {}, {0, i});
      EXPECT_TRUE(id == 4 || id == 7) << id;
    }
  }
}

TEST(Sampler, at_a_tiny_temperature_is_greedy) {
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(Sampler({.temperature = 1e-40F}).choose(std::vector<float>{1, 3, 2}, {}, {0, i}), 1);
  }
}

TEST(Sampler, of_a_large_vocabulary_sorts_only_what_it_keeps) {
  std::vector<float> logits(200000);
  const base::Random random(2);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = 4 * random.normal(i);
  const Probabilities found = kept(logits, {.temperature = 1, .top_p = 0.5F});
  const Probabilities expected = Reference(logits, {}, {.temperature = 1, .top_p = 0.5F}).result();
  EXPECT_EQ(ids_of(found), ids_of(expected));
}

TEST(Sampler, refuses_options_that_cannot_be) {
  const std::pair<SamplingOptions, const char*> wrong[] = {
      {{.temperature = -1}, "temperature"},
      {{.temperature = NAN}, "temperature"},
      {{.temperature = INFINITY}, "temperature"},
      {{.top_k = -1}, "top_k"},
      {{.top_p = -1}, "top_p"},
      {{.top_p = 1.5F}, "top_p"},
      {{.min_p = -0.1F}, "min_p"},
      {{.min_p = 2}, "min_p"},
      {{.repetition_penalty = 0}, "repetition"},
      {{.repetition_penalty = NAN}, "repetition"},
  };
  for (const auto& [options, part] : wrong) {
    expect_has(error_of([&] { Sampler sampler(options); }), part);
  }
}

TEST(Sampler, refuses_logits_that_are_not_numbers) {
  for (const SamplingOptions& options : {SamplingOptions{}, SamplingOptions{.temperature = 1}}) {
    for (const std::vector<float>& logits :
         {std::vector<float>{1, NAN}, {NAN, 1}, {1, INFINITY}, {-INFINITY, -INFINITY}}) {
      try {
        Sampler(options).choose(logits, {}, {});
        ADD_FAILURE() << "chosen";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.kind(), base::ErrorKind::failed);
        expect_has(error.what(), "not finite");
      }
    }
  }
}

}  // namespace
}  // namespace headlight::infer
