// Examples and relations given as ids, for models without a tokenizer.
#include <filesystem>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class IdExamples : public testing::Test {
 protected:
  // A folder with nothing but a model.
  template <class Model>
  LoadedModel without_tokenizer(const std::string& name, Model&& model) {
    std::filesystem::create_directory(folder_ / name);
    models::fill(model, 5);
    models::save_model(files_, folder_ / name, model);
    return load_named_model(files_, folder_ / name);
  }
  LoadedModel gpt() { return without_tokenizer("gpt", models::Gpt(models::small_gpt())); }

  void expect_no_examples(const LoadedModel& loaded, const ExamplesRequest& request,
                          const std::string& text) {
    expect_refused(
        ErrorKind::bad_input, [&] { make_head_examples(files_, loaded, request); }, text);
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  std::string ids_ = folder_.put("ids.csv", "1,2,3,4\n4,3,2,1\n2,2,5,1\n");
};

std::vector<int64_t> numbers_of(const tensor::Tensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.elements()};
}

TEST_F(IdExamples, predict_the_next_id_unless_targets_are_given) {
  const LoadedModel loaded = gpt();
  const HeadExamples next = make_head_examples(files_, loaded, {.ids = ids_});
  ASSERT_EQ(heads::example_count(next.batches), 3);
  const models::Batch second = heads::example_at(next.batches[0], 1);
  EXPECT_EQ(numbers_of(second.ids), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(numbers_of(second.targets), (std::vector<int64_t>{3, 2, 1, -1}));
  EXPECT_FALSE(next.metric);
  const std::string right = folder_.put("right.csv", "-1,-1,7,1\n-1,-1,3,2\n-1,-1,2,2\n");
  const HeadExamples given =
      make_head_examples(files_, loaded, {.ids = ids_, .targets = right, .examples = 2});
  EXPECT_EQ(heads::example_count(given.batches), 2);
  EXPECT_EQ(given.metric.value().name, "exact_match");
  for (const models::Batch& batch : given.batches) {
    EXPECT_EQ(batch.ids.size(1), 4);
    EXPECT_EQ(batch.targets.data<int64_t>()[1], -1);
  }
}

// The loss of all heads, and without one, is that of the model on the same arrays.
TEST_F(IdExamples, are_measured_as_the_model_runs_them) {
  const LoadedModel loaded = gpt();
  const std::string right = folder_.put("right.csv", "-1,-1,7,1\n-1,-1,3,2\n-1,6,2,2\n");
  const heads::AblationResult result =
      ablate_model_heads(threads_, files_, loaded, {.ids = ids_, .targets = right});
  EXPECT_EQ(result.metric, "exact_match");
  const models::Batch batch{.ids = read_ids(files_, "ids", ids_).ids,
                            .targets = read_ids(files_, "targets", right).ids};
  const auto loss_without = [&](const std::string& head) {
    heads::HeadsOff off(
        head.empty() ? std::vector<heads::HeadName>() : heads::parse_head_names(head, "test"),
        *loaded.model);
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .intervention = &off};
    const autograd::Value output = loaded.model->forward(context, batch);
    return double{loaded.model->loss(context, output, batch.targets, 0).item()};
  };
  EXPECT_NEAR(result.baseline.loss, loss_without(""), 1e-5);
  for (const heads::AblatedHead& head : result.heads)
    EXPECT_NEAR(head.measured.loss, loss_without(head.head), 1e-5) << head.head;
}

TEST_F(IdExamples, find_heads_by_pairs_of_positions) {
  const LoadedModel loaded = gpt();
  const std::string pairs = folder_.put("pairs.csv", "0,3,1\n2,2,0\n");
  const RelationExamples made =
      make_relation(threads_, files_, loaded, {.pairs = pairs, .data = {.ids = ids_}});
  ASSERT_EQ(made.relation.decoder.size(), 2u);
  EXPECT_EQ(made.relation.decoder[1].example, 2);
  EXPECT_EQ(made.relation.decoder[1].query, 2);
  EXPECT_EQ(made.relation.decoder[1].key, 0);
  const FoundRelation found =
      find_model_heads(threads_, files_, loaded, {.pairs = pairs, .data = {.ids = ids_}});
  EXPECT_EQ(found.found.pairs, 2);
  EXPECT_TRUE(found.found.heads[0].ablated_change);
  const auto refused = [&](const std::string& text, const std::string& why) {
    const std::string path = folder_.put("wrong.csv", text);
    expect_refused(
        ErrorKind::bad_input,
        [&] { find_model_heads(threads_, files_, loaded, {.pairs = path, .data = {.ids = ids_}}); },
        why);
  };
  refused("0,3\n", "(P,3) is needed");
  refused("3,1,0\n", "3");
  refused("0,4,0\n", "4");
}

TEST_F(IdExamples, that_do_not_do_are_refused) {
  const LoadedModel loaded = gpt();
  expect_no_examples(loaded, {.ids = folder_ / "none.csv"}, "none.csv");
  expect_no_examples(loaded, {.ids = folder_.put("one.csv", "1\n2\n")}, "two ids or more");
  expect_no_examples(loaded, {.ids = ids_, .targets = folder_.put("short.csv", "1,2\n")},
                     "the ids are [3, 4]");
  expect_no_examples(
      loaded,
      {.ids = ids_, .targets = folder_.put("no.csv", "-1,-1,-1,-1\n-1,-1,-1,-1\n-1,-1,-1,-1\n")},
      "none counts");
  const LoadedModel bert = without_tokenizer("bert", models::Bert(models::small_bert()));
  expect_no_examples(bert, {.ids = ids_}, "predicts the next");
  EXPECT_EQ(heads::example_count(
                make_head_examples(files_, bert, {.ids = ids_, .targets = ids_}).batches),
            3);
  expect_no_examples(load_named_model(files_, "thrones"), {.ids = ids_}, "encoder-decoder");
}

// Another array is another experiment.
TEST_F(IdExamples, are_part_of_what_an_experiment_was_begun_with) {
  const std::string other = folder_.put("other.csv", "1,2,3,4\n4,3,2,1\n2,2,5,2\n");
  const auto text = [&](const ExamplesRequest& request) {
    return io::json_text(examples_json(files_, request));
  };
  EXPECT_NE(text({.ids = ids_}), text({.ids = other}));
  EXPECT_NE(text({.ids = ids_, .targets = ids_}), text({.ids = ids_, .targets = other}));
  EXPECT_EQ(text({.ids = ids_}), text({.ids = folder_.put("same.csv", folder_.get("ids.csv"))}));
  EXPECT_EQ(text({.data = ids_}).find("\"ids\""), std::string::npos) << "what begun before goes on";
}

}  // namespace
}  // namespace headlight::recipes
