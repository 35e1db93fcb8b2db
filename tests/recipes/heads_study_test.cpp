// The study of heads in miniature: all its parts, going on after a stop, and models of a shape.
#include <algorithm>
#include <map>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using heads::PruneMethod;
using io::Json;

class HeadsStudies : public testing::Test {
 protected:
  HeadsStudies() : numbers_(load_named_model(files_, "numbers")) {}

  static HeadsStudyOptions miniature() {
    HeadsStudyOptions options;
    options.chosen_examples = 4;
    options.attributed_examples = 2;
    options.measured_examples = 6;
    options.shares = {0, 0.5, 1};
    options.random_orders = 2;
    options.gate_steps = 1;
    options.finetune = 1;
    options.coarse_shares = {0.5};
    options.finetune_compared = 1;
    return options;
  }

  HeadsStudy study(const HeadsStudyOptions& options) {
    return study_heads(threads_, files_, numbers_, options);
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  LoadedModel numbers_;
};

TEST_F(HeadsStudies, answer_all_questions) {
  HeadsStudyOptions options = miniature();
  std::vector<int64_t> shapes;
  options.from_scratch = [&](const models::Model& shape) {
    shapes.push_back(static_cast<int64_t>(heads::heads_of(shape).size()));
    auto fresh = shape.with_heads(models::heads_left_of(shape));
    fresh->draw(1);
    return fresh;
  };
  const HeadsStudy result = study(options);
  EXPECT_EQ(result.metric, "exact_match");
  EXPECT_EQ(result.examples, 6);
  EXPECT_EQ(*result.whole.metric, 1) << "the model knows its numbers";
  ASSERT_EQ(result.heads.size(), 72u);
  int64_t attributed = 0;
  for (const StudiedHead& head : result.heads) {
    EXPECT_GT(head.gradient, 0) << head.head.text();
    EXPECT_TRUE(head.without.metric && head.alone.metric);
    EXPECT_EQ(head.attribution.has_value(), !head.head.place.starts_with("encoder"));
    attributed += head.attribution ? 1 : 0;
  }
  EXPECT_EQ(attributed, 48);
  ASSERT_EQ(result.agreements.size(), 10u) << "pairs of five scores";
  for (const ScoreAgreement& one : result.agreements) {
    const bool has_attribution = one.first == "attribution" || one.second == "attribution";
    EXPECT_EQ(one.heads, has_attribution ? 48 : 72) << one.first << one.second;
    EXPECT_LE(std::abs(one.correlation), 1) << one.first << one.second;
  }
  for (const char* type : {"all", "encoder", "decoder", "cross"}) {
    for (const auto method :
         {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::gates, PruneMethod::random}) {
      const heads::Curve* curve = result.find(method, type, false);
      const bool is_all = std::string(type) == "all";
      if (!is_all && (method == PruneMethod::gates || method == PruneMethod::ablation)) {
        EXPECT_EQ(curve, nullptr);
        continue;
      }
      ASSERT_NE(curve, nullptr) << type;
      EXPECT_EQ(curve->points.size(), 3u);
      EXPECT_EQ(curve->orders, method == PruneMethod::random ? 2 : 1);
      EXPECT_EQ(curve->points[0].quality, 1);
      const bool has_finetuned = is_all || method == PruneMethod::gradient;
      EXPECT_EQ(result.find(method, type, true) != nullptr, has_finetuned) << type;
    }
  }
  EXPECT_EQ(shapes, std::vector<int64_t>{18});
  ASSERT_EQ(result.equal_shapes.size(), 1u);
  EXPECT_EQ(result.equal_shapes[0].heads, 18);
  int64_t left = 0;
  for (const auto& [place, count] : result.equal_shapes[0].left) left += count;
  EXPECT_EQ(left, 18);
  EXPECT_EQ(result.equal_shapes[0].left.size(), 9u) << "attentions, also those that lost all";
  EXPECT_EQ(*result.equal_shapes[0].from_scratch.metric, 0) << "its weights were only drawn";
  EXPECT_NE(result.equal_shapes[0].pruned.loss, result.equal_shapes[0].finetuned.loss);
}

TEST_F(HeadsStudies, measure_heads_as_the_single_experiments_do) {
  const HeadsStudyOptions options = miniature();
  const HeadsStudy result = study(options);
  const PruningData data = make_pruning_data(files_, numbers_, {.examples = 6});
  const StudiedHead& head = result.heads[30];
  const auto without = heads::measure_model(threads_, *numbers_.model, data.measured_on,
                                            {.metric = data.metric, .without = {head.head}});
  EXPECT_NEAR(head.without.loss, without->loss, 1e-6);
  EXPECT_EQ(*head.without.metric, *without->metric);
  const PruningData chosen = make_pruning_data(files_, numbers_, {.examples = 4});
  const auto importance =
      heads::measure_importance(threads_, *numbers_.model, chosen.chosen_by).heads;
  const auto number = static_cast<size_t>(head.head.head);
  EXPECT_EQ(head.gradient, importance.at(head.head.place)[number].gradient);
  // Missing and worse are the same thing whichever way quality goes.
  HeadsStudy turned = result;
  turned.higher_is_better = false;
  EXPECT_EQ(turned.missed(head.without), -result.missed(head.without));
}

TEST_F(HeadsStudies, go_on_with_what_is_known) {
  HeadsStudyOptions options = miniature();
  std::map<std::string, Json> parts;
  options.finished = [&](const std::string& part, const Json& result) { parts[part] = result; };
  options.known = [&](const std::string& part) -> std::optional<Json> {
    const auto found = parts.find(part);
    return found == parts.end() ? std::nullopt : std::optional(found->second);
  };
  options.interrupted = [&] { return parts.size() >= 160; };  // in the middle of the curves
  EXPECT_TRUE(study(options).interrupted);
  const size_t before = parts.size();
  EXPECT_EQ(before, 160u);
  options.interrupted = {};
  size_t repeated = 0;
  options.finished = [&](const std::string& part, const Json& result) {
    repeated += parts.contains(part) ? 1 : 0;
    parts[part] = result;
  };
  const HeadsStudy resumed = study(options);
  EXPECT_EQ(repeated, 0u);
  EXPECT_GT(parts.size(), before);
  EXPECT_EQ(io::json_text(heads_study_json(resumed)),
            io::json_text(heads_study_json(study(miniature()))));
}

TEST_F(HeadsStudies, are_told_as_json) {
  HeadsStudyOptions options = miniature();
  options.random_orders = 0;
  options.gate_steps = 0;
  options.finetune = 0;
  const HeadsStudy result = study(options);
  const Json json = heads_study_json(result);
  EXPECT_EQ(json.find("heads")->array()->size(), 72u);
  EXPECT_TRUE(json.find("heads")->array()->front().find("attribution")->is_null())
      << "an encoder's";
  EXPECT_EQ(*json.find("whole")->find("exact_match")->number(), 1);
  EXPECT_EQ(json.find("curves")->array()->size(), 5u) << "two methods of all, one of types";
  const Json& removable = json.find("removable")->array()->front();
  EXPECT_EQ(*removable.find("share")->number(),
            heads::removable_share(result.curves.front(), true, 0.005));
  EXPECT_TRUE(json.find("equal_shapes")->array()->empty());
}

TEST_F(HeadsStudies, train_from_weights_that_a_new_training_would_have) {
  const TrainSettings settings =
      read_train_settings(train_values({{"task", "numbers"}, {"seed", "5"}}), files_, nullptr);
  const TrainSetup setup = make_train_setup(files_, settings);
  write_fresh_model(files_, *numbers_.model, numbers_.folder, 5, folder_ / "whole");
  const LoadedModel whole = load_named_model(files_, folder_ / "whole");
  const nn::StateDict expected = setup.model->state();
  const nn::StateDict written = whole.model->state();
  ASSERT_EQ(written.size(), expected.size());
  for (const auto& [name, numbers] : expected)
    EXPECT_TRUE(same_bits(written.at(name), numbers)) << name;
}

TEST_F(HeadsStudies, train_models_of_a_pruned_shape) {
  const std::vector<heads::HeadName> removed = {{"encoder.0.self", 1}, {"decoder.2.cross", 7}};
  const auto pruned = heads::pruned_model(*numbers_.model, removed);
  write_fresh_model(files_, *pruned, numbers_.folder, 1, folder_ / "fresh");
  const LoadedModel fresh = load_named_model(files_, folder_ / "fresh");
  EXPECT_EQ(heads::heads_of(*fresh.model), heads::heads_of(*pruned));
  const TrainSettings settings = read_train_settings(
      train_values({{"task", "numbers"}, {"seed", "1"}, {"init", fresh.folder}}), files_, nullptr);
  const TrainSetup setup = make_train_setup(files_, settings);
  EXPECT_EQ(heads::heads_of(*setup.model), heads::heads_of(*pruned));
  train::Trainer trainer(threads_, *setup.model, *setup.task,
                         trainer_options(settings, *setup.model));
  const double first = trainer.step().loss;
  for (int i = 0; i < 8; ++i) trainer.step();
  EXPECT_LT(trainer.step().loss, first) << "it learns";
}

}  // namespace
}  // namespace headlight::recipes
