// Scores on repeated sequences, of heads whose patterns are known.
#include <set>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

class BehaviourScores : public testing::Test {
 protected:
  BehaviourResult of(const models::Model& model, BehaviourOptions options = {}) {
    return measure_behaviour(threads_, model, options);
  }
  base::ThreadPool threads_{2};
};

TEST_F(BehaviourScores, name_the_heads_of_a_circuit_that_is_built_by_hand) {
  const auto model = induction_circuit();
  const BehaviourResult result = of(*model);
  const Behaviour& previous = result.heads.at("decoder.0.self")[0];
  const Behaviour& duplicate = result.heads.at("decoder.0.self")[1];
  const Behaviour& induction = result.heads.at("decoder.1.self")[0];
  const Behaviour& uniform = result.heads.at("decoder.1.self")[1];
  EXPECT_NEAR(previous.previous->value, 1, 1e-6);
  EXPECT_NEAR(previous.induction->value, 0, 1e-6);
  EXPECT_NEAR(duplicate.duplicate->value, 1, 1e-6);
  EXPECT_NEAR(duplicate.induction->value, 0, 1e-6);
  EXPECT_NEAR(induction.induction->value, 1, 1e-6);
  EXPECT_NEAR(induction.prefix_matching->value, 1, 1e-6);
  EXPECT_NEAR(induction.duplicate->value, 0, 1e-6);
  EXPECT_LT(induction.previous->value, 0.5);
  for (const auto score : {&Behaviour::previous, &Behaviour::duplicate, &Behaviour::induction,
                           &Behaviour::prefix_matching}) {
    EXPECT_NEAR((uniform.*score)->value, (uniform.*score)->uniform, 1e-6);
    EXPECT_NEAR((uniform.*score)->uniform, (previous.*score)->uniform, 0);
  }
}

// By hand: two copies of n tokens, keys seen from row i are i + 1.
TEST_F(BehaviourScores, of_a_uniform_head_are_means_of_one_over_the_keys) {
  const auto model = induction_circuit();
  const BehaviourResult result = of(*model, {.tokens = 5, .prefix_tokens = 3, .copies = 3});
  ASSERT_EQ(result.sequences.size(), 2u);
  EXPECT_EQ(result.sequences[0].period, 5);
  EXPECT_EQ(result.sequences[1].period, 3);
  double previous = 0, second_copy = 0;
  for (int i = 1; i < 10; ++i) previous += 1.0 / (i + 1) / 9;
  for (int i = 5; i < 10; ++i) second_copy += 1.0 / (i + 1) / 5;
  double followers = 0;
  for (int i = 3; i < 9; ++i) followers += (i / 3) * 1.0 / (i + 1) / 6;
  const Behaviour& uniform = result.heads.at("decoder.1.self")[1];
  EXPECT_NEAR(uniform.previous->uniform, previous, 1e-12);
  EXPECT_NEAR(uniform.duplicate->uniform, second_copy, 1e-12);
  EXPECT_NEAR(uniform.induction->uniform, second_copy, 1e-12);
  EXPECT_NEAR(uniform.prefix_matching->uniform, followers, 1e-12);
}

TEST_F(BehaviourScores, are_of_different_tokens_by_seed_without_special_ones) {
  models::GptConfig config = models::small_gpt();
  config.special_ids.end = 3;
  config.special_ids.other_ends = {5, 6};
  models::Gpt model(config);
  models::fill(model, 1);
  const BehaviourResult result = of(model, {.made = {.avoid = {0, 1}}, .seed = 4});
  ASSERT_EQ(result.sequences.size(), 2u);
  const MadeSequences& two = result.sequences[0];
  EXPECT_EQ(two.period, 6) << "a context of 12";
  EXPECT_EQ(result.sequences[1].period, 3);
  EXPECT_EQ(two.ids.size(1), 12);
  for (int64_t b = 0; b < two.ids.size(0); ++b) {
    const int64_t* row = two.ids.data<int64_t>() + b * 12;
    const std::set<int64_t> once(row, row + 6);
    EXPECT_EQ(once.size(), 6u);
    for (const int64_t id : {0, 1, 3, 5, 6}) EXPECT_FALSE(once.contains(id)) << id;
    EXPECT_TRUE(std::equal(row, row + 6, row + 6));
  }
  EXPECT_TRUE(models::same_bits(of(model, {.made = {.avoid = {0, 1}}, .seed = 4}).sequences[0].ids,
                                two.ids));
  EXPECT_FALSE(models::same_bits(of(model, {.made = {.avoid = {0, 1}}, .seed = 5}).sequences[0].ids,
                                 two.ids));
}

TEST_F(BehaviourScores, that_a_head_cannot_have_are_absent) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.special_ids = {.padding = 0, .end = 2, .decoder_start = 1};
  models::Seq2Seq translator(config);
  models::fill(translator, 1);
  const BehaviourResult result = of(translator);
  EXPECT_EQ(result.sequences[0].first, 1) << "behind the start";
  EXPECT_EQ(*result.sequences[0].ids.data<int64_t>(), 1);
  EXPECT_EQ(result.source_sequences[0].first, 0);
  const Behaviour& cross = result.heads.at("decoder.1.cross")[2];
  EXPECT_FALSE(cross.previous || cross.duplicate || cross.induction || cross.prefix_matching);
  const Behaviour& encoder = result.heads.at("encoder.0.self")[0];
  EXPECT_TRUE(encoder.previous && encoder.duplicate);
  EXPECT_FALSE(encoder.induction || encoder.prefix_matching) << "it sees what follows anyway";
  const Behaviour& decoder = result.heads.at("decoder.0.self")[3];
  EXPECT_TRUE(decoder.previous && decoder.duplicate && decoder.induction &&
              decoder.prefix_matching);
  // Copies begin behind the start: from row i of the decoder, keys that are seen are i + 1.
  const MadeSequences& made = result.sequences[0];
  const int64_t n = made.period;
  double previous = 0, second_copy = 0;
  for (int64_t at = 1; at < 2 * n; ++at) {
    const double alike = 1.0 / static_cast<double>(made.first + at + 1);
    previous += alike / static_cast<double>(2 * n - 1);
    if (at >= n) second_copy += alike / static_cast<double>(n);
  }
  EXPECT_NEAR(decoder.previous->uniform, previous, 1e-12);
  EXPECT_NEAR(decoder.induction->uniform, second_copy, 1e-12);
  // A context of three ids has no two copies of two tokens.
  models::GptConfig tiny = models::small_gpt();
  tiny.block_size = 3;
  models::Gpt short_one(tiny);
  models::fill(short_one, 1);
  EXPECT_TRUE(of(short_one).sequences.empty());
  EXPECT_TRUE(of(short_one).heads.empty());
}

TEST_F(BehaviourScores, do_not_depend_on_threads) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 1);
  base::ThreadPool one(1);
  const BehaviourResult a = of(model);
  const BehaviourResult b = measure_behaviour(one, model, {});
  for (const auto& [place, heads] : a.heads) {
    for (size_t head = 0; head < heads.size(); ++head) {
      for (const auto score : {&Behaviour::previous, &Behaviour::duplicate, &Behaviour::induction,
                               &Behaviour::prefix_matching}) {
        EXPECT_EQ((heads[head].*score)->value, (b.heads.at(place)[head].*score)->value);
      }
    }
  }
}

}  // namespace
}  // namespace headlight::heads
