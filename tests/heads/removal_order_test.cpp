// Which heads go first, how many, and that scores are measured again.
#include <algorithm>
#include <cmath>
#include <set>

#include "headlight/heads/heads.h"
#include "tests/heads/repeated_tokens.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::error_of;
using models::expect_has;

std::vector<std::string> names_of(const RemovalOrder& order) {
  std::vector<std::string> names;
  for (const RemovedHead& one : order.heads) names.push_back(one.head.text());
  return names;
}

class RemovalOrderTest : public testing::Test {
 protected:
  RemovalOrderTest() {
    for (uint64_t seed = 0; seed < 3; ++seed) repeated_.push_back(repeated_batch(seed));
  }

  static GateOptions gates() {
    return {.penalty = 0.02, .steps = 60, .batch = [](int64_t step) {
              return repeated_batch(100 + static_cast<uint64_t>(step));
            }};
  }

  RemovalOrder order(models::Model& model, RemovalOptions options) {
    options.gates = gates();
    return removal_order(threads_, model, repeated_, options);
  }

  double loss_without(models::Model& model, const RemovalOrder& order) {
    return measure_model(threads_, model, repeated_, {.without = order.first(99)})->loss;
  }

  base::ThreadPool threads_{2};
  Examples repeated_;
};

TEST(Shares, of_heads_round_halves_up) {
  EXPECT_EQ(rounded_share(0.5, 72), 36);
  EXPECT_EQ(rounded_share(0.5, 5), 3);
  EXPECT_EQ(rounded_share(0.145, 100), 15) << "the product is a little below a half";
  EXPECT_EQ(rounded_share(0.144, 100), 14);
  EXPECT_EQ(rounded_share(0.35, 10), 4);
  EXPECT_EQ(rounded_share(0, 10), 0);
  EXPECT_EQ(rounded_share(1, 10), 10);
  EXPECT_EQ(heads_kept(0.5, 9), 5);
  EXPECT_EQ(heads_kept(1, 9), 9);
  EXPECT_EQ(heads_kept(0.06, 9), 1);
}

TEST(Shares, that_keep_nothing_or_are_none_are_refused) {
  for (const double share : {0.0, -0.1, 1.01, std::nan(""), HUGE_VAL}) {
    try {
      heads_kept(share, 72);
      FAIL() << share;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::usage) << share;
      expect_has(error.what(), "above 0 and at most 1");
    }
  }
  try {
    heads_kept(0.005, 72);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
    expect_has(error.what(), "of 72 heads is none");
  }
}

TEST(PruneMethods, have_names) {
  for (const std::string name : {"gradient", "ablation", "entropy", "gates", "random"})
    EXPECT_EQ(name_of(prune_method(name)), name);
  expect_has(error_of([] { prune_method("gradeint"); }, base::ErrorKind::usage),
             "nearest is gradient");
}

TEST_F(RemovalOrderTest, begins_with_heads_that_add_nothing) {
  const auto model = induction_circuit();
  for (const PruneMethod by : {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::gates}) {
    const RemovalOrder order = this->order(*model, {.by = by, .count = 2});
    EXPECT_EQ(names_of(order), (std::vector<std::string>{"decoder.0.self.1", "decoder.1.self.1"}))
        << name_of(by);
    EXPECT_EQ(order.first(1).at(0).text(), "decoder.0.self.1");
    EXPECT_LT(loss_without(*model, order), 0.02) << name_of(by);
    for (const nn::MultiHeadAttention* attention : model->attentions())
      EXPECT_FALSE(attention->gates().defined());
  }
}

TEST_F(RemovalOrderTest, by_entropy_begins_with_heads_that_look_at_all_alike) {
  const auto model = induction_circuit();
  const RemovalOrder order = this->order(*model, {.by = PruneMethod::entropy, .count = 1});
  EXPECT_EQ(names_of(order), std::vector<std::string>{"decoder.1.self.1"});
  EXPECT_NEAR(*order.heads[0].score, 0, 1e-5);
}

// Heads that carry the answer between them, each alone enough: two of the previous token.
TEST_F(RemovalOrderTest, measures_again_after_every_round) {
  const auto model = induction_circuit();
  constexpr int64_t kD = kCircuitTokens + kCircuitPositions;
  for (const char* name : {"q", "k"}) {
    nn::Parameter& weight = parameter_of(*model, std::string("decoder.0.self.") + name + ".weight");
    for (int64_t row = 0; row < kD; ++row) {
      for (int64_t column = 0; column < weight.shape()[1]; ++column) {
        const float number = weight.value().data().data<float>()[row * weight.shape()[1] + column];
        set_number(weight, kD + row, column, number);
      }
    }
  }
  nn::Parameter& value = parameter_of(*model, "decoder.0.self.v.weight");
  nn::Parameter& output = parameter_of(*model, "decoder.0.self.o.weight");
  for (int64_t id = 0; id < kCircuitTokens; ++id) {
    set_number(value, kCircuitTokens + id, id, 1);
    set_number(output, kCircuitTokens + kCircuitPositions + id, kCircuitTokens + id, 1);
  }
  const RemovalOrder in_rounds =
      this->order(*model, {.by = PruneMethod::ablation, .count = 2, .per_round = 1});
  const RemovalOrder at_once =
      this->order(*model, {.by = PruneMethod::ablation, .count = 2, .per_round = 4});
  EXPECT_LT(loss_without(*model, in_rounds), 0.02);
  EXPECT_GT(loss_without(*model, at_once), 1);
  EXPECT_EQ(in_rounds.heads[0].round, 1);
  EXPECT_EQ(in_rounds.heads[1].round, 2);
  EXPECT_EQ(at_once.heads[1].round, 1);
}

TEST_F(RemovalOrderTest, scores_are_those_that_are_measured_by_hand) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 3);
  const Examples examples = {{.ids = models::random_ids({3, 9}, model.vocab_size(), 1),
                              .targets = models::random_ids({3, 9}, model.vocab_size(), 2)}};
  const std::vector<HeadName> all = heads_of(model);
  const auto count = static_cast<int64_t>(all.size());
  const RemovalOrder gradient = removal_order(
      threads_, model, examples, {.by = PruneMethod::gradient, .count = count, .per_round = 2});
  ASSERT_EQ(static_cast<int64_t>(gradient.heads.size()), count);
  const RemovalOrder ablation =
      removal_order(threads_, model, examples, {.by = PruneMethod::ablation, .count = 1});
  double least = INFINITY;
  const double whole = measure_model(threads_, model, examples)->loss;
  for (const HeadName& head : all) {
    const double without = measure_model(threads_, model, examples, {.without = {head}})->loss;
    least = std::min(least, without - whole);
  }
  EXPECT_EQ(*ablation.heads[0].score, least);
  const ImportanceResult importance = measure_importance(threads_, model, examples);
  double smallest = INFINITY;
  for (const auto& [place, heads] : importance.heads) {
    for (const HeadImportance& head : heads) smallest = std::min(smallest, head.gradient);
  }
  EXPECT_EQ(*gradient.heads[0].score, smallest);
  // The last round, of two heads, is measured of the model that has lost all others.
  const auto last = static_cast<size_t>(count - 2);
  const auto two = pruned_model(model, gradient.first(last));
  const ImportanceResult of_two = measure_importance(threads_, *two, examples);
  for (size_t i = last; i < gradient.heads.size(); ++i) {
    const HeadName& head = gradient.heads[i].head;
    const std::vector<HeadImportance>& left = of_two.heads.at(head.place);
    const auto found = std::ranges::find(
        left, head.head, [](const HeadImportance& one) { return one.statistics.head; });
    ASSERT_NE(found, left.end()) << head.text();
    EXPECT_NEAR(*gradient.heads[i].score, found->gradient, 1e-6) << head.text();
  }
  std::set<std::string> different;
  for (const std::string& name : names_of(gradient)) different.insert(name);
  EXPECT_EQ(different.size(), all.size());
}

TEST_F(RemovalOrderTest, takes_a_tenth_of_the_heads_in_a_round) {
  models::GptConfig config = models::small_gpt();
  config.n_layer = 6;
  config.n_head = 4;
  config.n_embd = 16;
  models::Gpt model(config);
  models::fill(model, 3);
  const Examples examples = {{.ids = models::random_ids({2, 5}, model.vocab_size(), 1),
                              .targets = models::random_ids({2, 5}, model.vocab_size(), 2)}};
  const RemovalOrder order = removal_order(threads_, model, examples, {.count = 9});
  std::vector<int64_t> rounds;
  for (const RemovedHead& one : order.heads) rounds.push_back(one.round);
  EXPECT_EQ(rounds, (std::vector<int64_t>{1, 1, 2, 2, 3, 3, 4, 4, 5}));
}

// A score that is no number says nothing against its head; one that is not there is that of a head
// which was off before.
TEST_F(RemovalOrderTest, ends_with_heads_whose_scores_are_no_numbers) {
  const auto model = induction_circuit();
  RemovalOptions options{.count = 4, .per_round = 4};
  options.known = [](const std::string& part) -> std::optional<io::Json> {
    EXPECT_EQ(part, "round 1");
    return io::Json::Object{
        {"decoder.0.self.0", io::Json()}, {"decoder.0.self.1", 7}, {"decoder.1.self.1", -2}};
  };
  EXPECT_EQ(names_of(order(*model, options)),
            (std::vector<std::string>{"decoder.1.self.0", "decoder.1.self.1", "decoder.0.self.1",
                                      "decoder.0.self.0"}));
}

TEST_F(RemovalOrderTest, can_be_of_some_heads_only) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 3);
  const Examples examples = {
      {.ids = models::random_ids({2, 5}, model.vocab_size(), 1),
       .source_ids = models::random_ids({2, 6}, model.source_vocab_size(), 3),
       .targets = models::random_ids({2, 5}, model.vocab_size(), 2)}};
  const std::vector<HeadName> cross = heads_of_type(model, "cross");
  for (const PruneMethod by :
       {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::entropy, PruneMethod::random}) {
    RemovalOptions options{.by = by, .count = static_cast<int64_t>(cross.size()), .among = cross};
    const RemovalOrder order = removal_order(threads_, model, examples, options);
    std::vector<HeadName> gone = order.first(cross.size());
    std::ranges::sort(gone);
    EXPECT_EQ(gone, cross) << name_of(by);
    ++options.count;
    expect_has(error_of([&] { removal_order(threads_, model, examples, options); }),
               "heads are to go, there are");
  }
  expect_has(
      error_of([&] {
        removal_order(threads_, model, examples, {.count = 1, .among = {{"decoder.9.self", 0}}});
      }),
      "no such attention");
}

TEST_F(RemovalOrderTest, by_chance_depends_on_the_seed_alone) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 3);
  const auto count = static_cast<int64_t>(heads_of(model).size());
  const auto drawn = [&](uint64_t seed) {
    return names_of(removal_order(threads_, model, {},
                                  {.by = PruneMethod::random, .count = count, .seed = seed}));
  };
  EXPECT_EQ(drawn(1), drawn(1));
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) orders.insert(drawn(seed));
  EXPECT_GT(orders.size(), 10u);
}

TEST_F(RemovalOrderTest, is_the_same_for_any_number_of_threads) {
  models::Bert model(models::small_bert());
  models::fill(model, 3);
  const Examples examples = {{.ids = models::random_ids({3, 6}, model.vocab_size(), 1),
                              .targets = models::random_ids({3, 6}, model.vocab_size(), 2)}};
  for (const PruneMethod by :
       {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::entropy, PruneMethod::gates}) {
    std::vector<RemovalOrder> orders;
    for (const int threads : {1, 3}) {
      base::ThreadPool pool(threads);
      orders.push_back(
          removal_order(pool, model, examples,
                        {.by = by, .count = 5, .gates = {.steps = 4, .batch = [&](int64_t) {
                                                           return examples[0];
                                                         }}}));
    }
    ASSERT_EQ(names_of(orders[0]), names_of(orders[1])) << name_of(by);
    for (size_t i = 0; i < orders[0].heads.size(); ++i)
      EXPECT_EQ(*orders[0].heads[i].score, *orders[1].heads[i].score);
  }
}

TEST_F(RemovalOrderTest, stops_when_it_is_told_to) {
  const auto model = induction_circuit();
  for (const PruneMethod by : {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::gates}) {
    int asked = 0;
    const RemovalOrder order = this->order(
        *model, {.by = by, .count = 3, .watch = {.interrupted = [&] { return ++asked > 2; }}});
    EXPECT_TRUE(order.interrupted);
    EXPECT_TRUE(order.heads.empty());
    EXPECT_FALSE(model->attentions()[0]->gates().defined());
  }
}

TEST_F(RemovalOrderTest, of_a_model_that_has_lost_heads_has_those_that_are_left) {
  models::Gpt whole(models::small_gpt());
  models::fill(whole, 3);
  const std::unique_ptr<models::Model> model =
      pruned_model(whole, parse_head_names("decoder.0.self.0,decoder.1.self.1", "test"));
  const Examples examples = {{.ids = models::random_ids({3, 9}, whole.vocab_size(), 1),
                              .targets = models::random_ids({3, 9}, whole.vocab_size(), 2)}};
  std::vector<HeadName> left = heads_of(*model);
  for (const PruneMethod by : {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::entropy,
                               PruneMethod::gates, PruneMethod::random}) {
    const RemovalOrder order =
        removal_order(threads_, *model, examples,
                      {.by = by,
                       .count = static_cast<int64_t>(left.size()),
                       .gates = {.steps = 3, .batch = [&](int64_t) { return examples[0]; }}});
    std::vector<HeadName> gone = order.first(left.size());
    std::ranges::sort(gone);
    EXPECT_EQ(gone, left) << name_of(by);
  }
}

}  // namespace
}  // namespace headlight::heads
