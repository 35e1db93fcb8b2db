// Heads ranked by the weight that they put on given pairs.
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using models::Batch;

class Find : public testing::Test {
 protected:
  // Repeated sequences, and for each token of the second copy the place behind its first one.
  void make_induction(int64_t examples) {
    for (int64_t i = 0; i < examples; ++i) {
      const BehaviourResult made = measure_behaviour(
          threads_, *circuit_, {.sequences = 1, .tokens = 6, .seed = static_cast<uint64_t>(i)});
      const int64_t* ids = made.sequences[0].ids.data<int64_t>();
      std::vector<int64_t> targets(12, -1);
      for (size_t t = 6; t < 11; ++t) targets[t] = ids[t + 1];
      rows_.push_back({.ids = models::integers({1, 12}, {ids, ids + 12}),
                       .targets = models::integers({1, 12}, targets)});
      for (int64_t t = 6; t < 12; ++t) relation_.decoder.push_back({i, t, t - 5});
    }
  }

  base::ThreadPool threads_{2};
  std::unique_ptr<LayersModel> circuit_ = induction_circuit();
  std::vector<Batch> rows_;
  Relation relation_;
};

TEST_F(Find, names_the_head_that_looks_from_one_to_the_other_and_breaks_the_answer_without_it) {
  make_induction(5);
  const FoundHeads found = find_heads(threads_, *circuit_, batched(rows_), relation_,
                                      {.ablated = 2, .metric = exact_match_metric()});
  EXPECT_EQ(found.pairs, 30);
  EXPECT_EQ(found.turned, 0);
  ASSERT_EQ(found.heads.size(), 4u);
  const FoundHead& best = found.heads[0];
  EXPECT_EQ(best.head, "decoder.1.self.0");
  EXPECT_NEAR(*best.weight, 1, 1e-6);
  EXPECT_LT(best.high, 0.6);
  EXPECT_LT(best.low, best.chance);
  EXPECT_LT(best.chance, best.high);
  EXPECT_GT(*best.ablated_change, 1);
  EXPECT_EQ(found.baseline.metric, 1);
  EXPECT_EQ(best.ablated->metric, 0);
  EXPECT_TRUE(found.heads[1].ablated_change);
  EXPECT_FALSE(found.heads[2].ablated_change);
  EXPECT_EQ(found.together, std::vector<std::string>{"decoder.1.self.0"});
  EXPECT_EQ(found.together_measured.loss, best.ablated->loss);
}

// A head that looks at all alike: from row t each of its t + 1 keys gets 1 / (t + 1); random pairs
// are of rows 1 to 11 and get the mean of that.
TEST_F(Find, chance_is_the_mean_of_random_pairs_of_the_same_examples) {
  make_induction(6);
  const FoundHeads found =
      find_heads(threads_, *circuit_, batched(rows_), relation_, {.rounds = 2000});
  const auto uniform = std::ranges::find(found.heads, "decoder.1.self.1", &FoundHead::head);
  const auto previous = std::ranges::find(found.heads, "decoder.0.self.0", &FoundHead::head);
  double to_previous = 0;
  for (int t = 1; t < 12; ++t) to_previous += 1.0 / t / 11;  // one of t keys that are not itself
  EXPECT_NEAR(previous->chance, to_previous, 5e-3);
  double weight = 0, chance = 0, square = 0;
  for (int t = 6; t < 12; ++t) weight += 1.0 / (t + 1) / 6;
  for (int t = 1; t < 12; ++t) {
    chance += 1.0 / (t + 1) / 11;
    square += 1.0 / (t + 1) / (t + 1) / 11;
  }
  EXPECT_NEAR(*uniform->weight, weight, 1e-6);
  EXPECT_NEAR(uniform->chance, chance, 2e-3);
  const double deviation = std::sqrt((square - chance * chance) / 36);
  EXPECT_NEAR(uniform->high - uniform->low, 2 * 1.96 * deviation, 0.15 * deviation * 4);
  EXPECT_GT(uniform->low, chance - 3 * deviation);
}

TEST_F(Find, turns_pairs_round_where_the_later_one_cannot_be_seen) {
  make_induction(3);
  const FoundHeads forwards = find_heads(threads_, *circuit_, batched(rows_), relation_);
  for (PositionPair& pair : relation_.decoder) std::swap(pair.query, pair.key);
  const FoundHeads turned = find_heads(threads_, *circuit_, batched(rows_, 1), relation_);
  EXPECT_EQ(turned.turned, 18);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(turned.heads[i].head, forwards.heads[i].head);
    EXPECT_EQ(turned.heads[i].weight, forwards.heads[i].weight);
    EXPECT_EQ(turned.heads[i].high, forwards.heads[i].high);
  }
}

TEST_F(Find, depends_on_the_seed_and_not_on_batches_or_threads) {
  make_induction(4);
  base::ThreadPool one(1);
  const FoundHeads a = find_heads(threads_, *circuit_, batched(rows_), relation_, {.seed = 3});
  const FoundHeads b = find_heads(one, *circuit_, batched(rows_, 1), relation_, {.seed = 3});
  EXPECT_EQ(io::json_text(found_heads_json(a)), io::json_text(found_heads_json(b)));
  const FoundHeads c = find_heads(threads_, *circuit_, batched(rows_), relation_, {.seed = 4});
  EXPECT_NE(a.heads[0].chance, c.heads[0].chance);
  EXPECT_EQ(a.heads[0].weight, c.heads[0].weight);
}

TEST_F(Find, ranks_heads_of_cross_attention_by_their_own_pairs) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 3);
  std::vector<Batch> rows;
  for (uint64_t i = 0; i < 3; ++i) {
    rows.push_back({.ids = models::random_ids({1, 4}, 17, i),
                    .source_ids = models::random_ids({1, 6}, 17, 10 + i),
                    .targets = models::random_ids({1, 4}, 17, 20 + i)});
  }
  const Relation relation{.encoder = {{0, 1, 5}}, .cross = {{1, 3, 5}, {2, 0, 0}}};
  const FoundHeads found = find_heads(threads_, model, batched(rows), relation);
  ASSERT_EQ(found.heads.size(), 24u);
  EXPECT_EQ(found.pairs, 3);
  for (const FoundHead& head : found.heads)
    EXPECT_EQ(head.weight.has_value(),
              head.place != "decoder.0.self" && head.place != "decoder.1.self");
  EXPECT_FALSE(found.heads[20].weight) << "those without pairs are last";
  EXPECT_TRUE(found.heads[15].weight);
  // One weight by hand.
  models::Keeper keeper({"decoder.0.cross.head.2.weights"});
  tensor::Arena arena;
  autograd::Context context{.threads = threads_, .arena = arena, .observer = &keeper};
  model.forward(context, joined(rows));
  const float* weights = keeper.seen.at("decoder.0.cross.head.2.weights").data<float>();
  const auto head = std::ranges::find(found.heads, "decoder.0.cross.2", &FoundHead::head);
  EXPECT_NEAR(*head->weight, (weights[(1 * 4 + 3) * 6 + 5] + weights[(2 * 4 + 0) * 6 + 0]) / 2,
              1e-7);
  const io::Json json = found_heads_json(found);
  EXPECT_EQ((*json.object())[0].first, "pairs");
  const io::Json& first = (*json.find("heads")->array())[0];
  EXPECT_EQ(first.find("interval")->array()->size(), 2u);
  EXPECT_TRUE(first.find("ablated_change")->number());
  EXPECT_TRUE((*json.find("heads")->array())[23].find("weight")->is_null());
}

// All that get at least half of the best one's weight, and more than chance.
TEST_F(Find, puts_together_what_is_not_much_less_than_the_best) {
  constexpr int64_t kRows = 24;
  make_induction(kRows);
  // From each token of the second copy to the one before it.
  relation_.decoder.clear();
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t t = 6; t < 12; ++t) relation_.decoder.push_back({i, t, t - 1});
  }
  const auto found_with = [&](int64_t others) {
    Relation relation = relation_;
    for (int64_t i = 0; i < others; ++i)
      relation.decoder.push_back({i % kRows, 6 + i / kRows, 1 + i / kRows});
    return find_heads(threads_, *circuit_, batched(rows_), relation);
  };
  // Of 144 and 96 pairs, weights of 0.6 and 0.4; of 144 and 48 pairs, of 0.75 and 0.25.
  const FoundHeads near = found_with(4 * kRows);
  EXPECT_EQ(near.together, (std::vector<std::string>{"decoder.0.self.0", "decoder.1.self.0"}));
  const FoundHeads far = found_with(2 * kRows);
  EXPECT_GT(*far.heads[1].weight, far.heads[1].high) << "more than chance";
  EXPECT_EQ(far.together, std::vector<std::string>{"decoder.0.self.0"});
}

TEST_F(Find, measures_losses_on_other_examples_where_they_are_given) {
  make_induction(3);
  for (int64_t t = 6; t < 11; ++t) {  // which the circuit gets wrong
    int64_t& target = rows_[2].targets.mutable_data<int64_t>()[t];
    target = (target + 1) % kCircuitTokens;
  }
  const Examples others = batched({rows_[2]});
  const FoundHeads found =
      find_heads(threads_, *circuit_, batched({rows_[0], rows_[1]}),
                 {.decoder = {{0, 6, 1}, {1, 7, 2}}}, {.measured_on = &others});
  EXPECT_GT(found.baseline.loss, 1);
  EXPECT_EQ(found.baseline.loss, measure_model(threads_, *circuit_, others)->loss);
  EXPECT_EQ(found.examples, 2);
}

// Where all rows see all keys, the mean over random pairs is known from the weights of a run.
TEST_F(Find, chance_without_a_mask_is_the_mean_over_all_keys_but_oneself) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 3);
  // Larger queries: heads that are far from looking at all alike.
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name().find("q_proj.weight") == std::string::npos) continue;
    tensor::Tensor numbers = parameter->change();
    for (int64_t i = 0; i < numbers.elements(); ++i) numbers.mutable_data<float>()[i] *= 12;
  }
  const Batch row{.ids = models::random_ids({1, 3}, 17, 1),
                  .source_ids = models::random_ids({1, 4}, 17, 2),
                  .targets = models::random_ids({1, 3}, 17, 3)};
  const FoundHeads found = find_heads(
      threads_, model, {row}, {.encoder = {{0, 1, 2}}, .cross = {{0, 1, 2}}}, {.rounds = 20000});
  models::Keeper keeper;
  tensor::Arena arena;
  autograd::Context context{.threads = threads_, .arena = arena, .observer = &keeper};
  model.forward(context, row);
  for (int64_t head = 0; head < 4; ++head) {
    const tensor::Tensor& self =
        keeper.seen.at("encoder.0.self.head." + std::to_string(head) + ".weights");
    const auto named = [&](const std::string& place) {
      return *std::ranges::find(found.heads, place + "." + std::to_string(head), &FoundHead::head);
    };
    double others = 0;
    for (int64_t i = 0; i < 4; ++i) others += (1 - self.data<float>()[i * 4 + i]) / 3 / 4;
    EXPECT_NEAR(named("encoder.0.self").chance, others, 0.01) << head;
    EXPECT_NEAR(named("decoder.0.cross").chance, 0.25, 0.01) << head;
  }
}

TEST_F(Find, is_written_with_what_is_left_without_the_heads) {
  FoundHeads found{.pairs = 5, .turned = 2, .examples = 3, .metric = "exact_match"};
  found.baseline = {.loss = 0.5, .metric = 1};
  FoundHead best{.head = "decoder.1.self.0", .place = "decoder.1.self", .weight = 0.75};
  best.chance = 0.25;
  best.low = 0.125;
  best.high = 0.375;
  best.ablated = Measurement{.loss = 2, .metric = 0.5};
  best.ablated_change = 1.5;
  found.heads = {best, {.head = "decoder.1.self.1", .place = "decoder.1.self"}};
  found.together = {"decoder.1.self.0"};
  found.together_measured = {.loss = 3, .metric = 0.25};
  EXPECT_EQ(io::json_text(found_heads_json(found)),
            R"({"pairs":5,"heads":[{"head":"decoder.1.self.0","weight":0.75,"chance":0.25,)"
            R"("interval":[0.125,0.375],"ablated_change":1.5,"ablated_exact_match":0.5},)"
            R"({"head":"decoder.1.self.1","weight":null,"chance":null,"interval":null,)"
            R"("ablated_change":null}],"turned":2,"examples":3,"by":"zero","loss":0.5,)"
            R"("exact_match":1.0,"together":{"heads":["decoder.1.self.0"],"loss":3.0,)"
            R"("change":2.5,"exact_match":0.25}})");
}

TEST_F(Find, refuses_pairs_outside_of_their_examples) {
  make_induction(2);
  const auto said = [&](const Relation& relation) {
    return tests::error_of([&] { find_heads(threads_, *circuit_, batched(rows_), relation); });
  };
  models::expect_has(said({}), "there are none");
  models::expect_has(said({.decoder = {{2, 0, 0}}}), "no example 2 among 2");
  models::expect_has(said({.decoder = {{1, 3, 12}}}), "key 12 is outside of example 1");
  models::expect_has(said({.decoder = {{1, -1, 0}}}), "query -1");
}

TEST_F(Find, stops_when_it_is_told) {
  make_induction(2);
  double last = 0;
  Watch watch{.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  }};
  find_heads(threads_, *circuit_, batched(rows_), relation_, {.watch = watch});
  EXPECT_EQ(last, 1);
  watch = {.interrupted = [] { return true; }};
  EXPECT_TRUE(
      find_heads(threads_, *circuit_, batched(rows_), relation_, {.watch = watch}).interrupted);
}

}  // namespace
}  // namespace headlight::heads
