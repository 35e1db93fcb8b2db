// Experiments on models that have lost heads: names are the old ones, numbers those of the heads.
#include <map>

#include "headlight/heads/heads.h"
#include "tests/models/support.h"
#include "tests/nn/block_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::expect_has;
using models::Model;

class PrunedExperiments : public models::ModelTest {
 protected:
  PrunedExperiments() {
    models::fill(whole_, 3);
    smaller_ = pruned_model(
        whole_, parse_head_names("decoder.0.self.0,decoder.0.self.2,decoder.1.self.1", "x"));
    examples_ = {Batch{.ids = models::random_ids({3, 6}, 17, 1),
                       .targets = models::random_ids({3, 6}, 17, 2)}};
  }

  double loss(const Model& model) {
    autograd::Context context = inference_context();
    return static_cast<double>(model.loss(context, examples_.front()).item());
  }

  models::Gpt whole_{models::small_gpt()};
  std::unique_ptr<Model> smaller_;
  Examples examples_;
};

std::vector<std::string> names_of_heads(const Model& model) {
  std::vector<std::string> names;
  for (const HeadName& head : heads_of(model)) names.push_back(head.text());
  return names;
}

TEST_F(PrunedExperiments, ablating_a_head_costs_what_losing_it_costs) {
  const AblationResult result =
      ablate_heads(threads_, *smaller_, examples_, {.all_but_one = true, .greedy = true});
  EXPECT_NEAR(result.baseline.loss, loss(*smaller_), 1e-5);
  std::vector<std::string> names;
  for (const AblatedHead& head : result.heads) {
    names.push_back(head.head);
    const auto without = pruned_model(*smaller_, parse_head_names(head.head, "x"));
    EXPECT_NEAR(head.measured.loss, loss(*without), 1e-5) << head.head;
  }
  EXPECT_EQ(names, names_of_heads(*smaller_));
  EXPECT_EQ(names.front(), "decoder.0.self.1");
  EXPECT_EQ(result.all_but_one.size(), names.size());
  EXPECT_EQ(result.greedy.size(), names.size());
}

TEST_F(PrunedExperiments, other_outputs_stand_in_the_right_place) {
  for (const AblationKind kind : {AblationKind::mean, AblationKind::resample}) {
    AblatedModel of_smaller(threads_, *smaller_, examples_, {.by = kind});
    // The whole model with the same heads at zero has the same means and donors.
    std::unique_ptr<Model> silenced = silenced_model(
        whole_, parse_head_names("decoder.0.self.0,decoder.0.self.2,decoder.1.self.1", "x"));
    AblatedModel of_whole(threads_, *silenced, examples_, {.by = kind});
    for (const HeadName& head : heads_of(*smaller_)) {
      const heads::HeadSet one = {{head.place, {head.head}}};
      EXPECT_NEAR(of_smaller.evaluate(one)->loss, of_whole.evaluate(one)->loss, 1e-5)
          << head.text();
    }
    expect_has(models::error_of([&] {
                 of_smaller.evaluate({{"decoder.0.self", {2}}});
               }),
               "ablate (\"decoder.0.self\"): head 2 was pruned; left are 1, 3");
  }
}

TEST_F(PrunedExperiments, scores_are_of_the_heads_that_they_name) {
  const HeadScores scores = score_heads(threads_, *smaller_, examples_, {});
  const std::unique_ptr<Model> silenced = silenced_model(
      whole_, parse_head_names("decoder.0.self.0,decoder.0.self.2,decoder.1.self.1", "x"));
  std::map<std::string, HeadScore> expected;
  for (const HeadScore& one : score_heads(threads_, *silenced, examples_, {}).heads) {
    expected.emplace(one.head, one);
  }
  ASSERT_EQ(scores.heads.size(), 5U);
  for (const HeadScore& one : scores.heads) {
    const HeadScore& same = expected.at(one.head);
    EXPECT_NEAR(one.importance.gradient, same.importance.gradient, 1e-5) << one.head;
    EXPECT_NEAR(one.importance.statistics.entropy, same.importance.statistics.entropy, 1e-5);
    EXPECT_EQ(one.importance.statistics.name(), one.head);
    ASSERT_TRUE(one.copying && same.copying);
    EXPECT_NEAR(*one.copying, *same.copying, 1e-4) << one.head;
  }
}

// Key/value heads with one reader and with two, and a layer without any.
TEST_F(PrunedExperiments, matrices_of_grouped_heads_are_found) {
  nn::BlockModel whole(nn::rotary_and_grouped());
  nn::fill_in(whole.parameters(), 5);
  std::map<std::pair<std::string, std::string>, std::vector<double>> expected;
  for (const Composition& one : compositions(threads_, whole)) {
    expected[{one.from, one.to}].push_back(one.score);
  }
  const auto smaller = pruned_model(whole, {{"decoder.0.self", 1}, {"decoder.1.self", 2}});
  std::map<std::pair<std::string, std::string>, std::vector<double>> found;
  for (const Composition& one : compositions(threads_, *smaller)) {
    found[{one.from, one.to}].push_back(one.score);
  }
  EXPECT_EQ(found.size(), 9U);
  for (const auto& [pair, scores] : found) {
    const std::vector<double>& same = expected.at(pair);
    ASSERT_EQ(scores.size(), same.size());
    for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], same[i], 1e-5) << pair.first;
  }
  std::vector<HeadName> first_layer;
  for (const HeadName& head : heads_of(whole)) {
    if (head.place == "decoder.0.self") first_layer.push_back(head);
  }
  std::unique_ptr<Model> headless = pruned_model(whole, first_layer);
  EXPECT_TRUE(compositions(threads_, *headless).empty());
  const Examples examples = {Batch{.ids = nn::drawn_ids(6, 1), .targets = nn::drawn_ids(6, 2)}};
  EXPECT_EQ(score_heads(threads_, *headless, examples, {}).heads.size(), 4U);
  EXPECT_EQ(ablate_heads(threads_, *headless, examples).heads.size(), 4U);
}

}  // namespace
}  // namespace headlight::heads
