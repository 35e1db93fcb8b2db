// Models that classify, beside what Hugging Face transformers computes: one tiny model of each
// family from tests/golden, and many random ones where a Python that has transformers is named by
// the variable HEADLIGHT_PYTHON; HEADLIGHT_FAMILIES limits those to some.
#include <cmath>
#include <cstdlib>

#include "tests/models/families_support.h"

namespace headlight::models {
namespace {

class ClassifierTest : public FamilyTest {
 protected:
  static Batch read_batch(const nn::StateDict& expected) {
    Batch batch{.ids = expected.at("ids"), .lens = expected.at("lens")};
    if (expected.contains("segments")) batch.segments = expected.at("segments");
    return batch;
  }

  float class_distance(const Model& model, const nn::StateDict& expected) {
    Context context = inference_context();
    const Batch batch = read_batch(expected);
    const Tensor logits = model.class_logits(context, model.forward(context, batch), batch).data();
    const Tensor& right = expected.at("logits");
    return distance(logits, right) / std::max(1.0F, largest(right));
  }

  // Runs backwards from the logits; gradients are left in the parameters.
  void run_backward(const Model& model, const nn::StateDict& expected) {
    Context context = recording_context();
    const Batch batch = read_batch(expected);
    const Value logits = model.class_logits(context, model.forward(context, batch), batch);
    tape_.backward(context, logits, expected.at("d_logits"));
  }

  // Where one label is right.
  void expect_loss(const Model& model, const nn::StateDict& expected) {
    if (!expected.contains("loss")) return;
    Context context = recording_context();
    const Batch batch = read_batch(expected);
    const Value loss =
        model.class_loss(context, model.forward(context, batch), batch, expected.at("labels"));
    EXPECT_NEAR(loss.item(), *expected.at("loss").data<float>(), kFamilyTolerance);
  }

  static Tensor gradient_of(const nn::Parameter& parameter) {
    return parameter.grad().defined() ? parameter.grad()
                                      : Tensor::zeros(DType::f32, parameter.shape());
  }
};

class GoldenClassifier : public ClassifierTest, public testing::WithParamInterface<std::string> {
 protected:
  static std::string folder() { return classifier_folder(GetParam()); }
  void SetUp() override {
    expected_ = read_tensors(folder() + "/expected.safetensors");
    model_ = load_model(base::real_files(), folder());
  }

  nn::StateDict expected_;
  std::unique_ptr<Model> model_;
};

TEST_P(GoldenClassifier, has_the_logits_the_loss_and_the_gradients_of_transformers) {
  EXPECT_EQ(model_->type(), GetParam());
  EXPECT_LE(class_distance(*model_, expected_), kFamilyTolerance);
  expect_loss(*model_, expected_);
  run_backward(*model_, expected_);
  for (const nn::ParameterHandle& parameter : model_->parameters()) {
    const auto found = expected_.find("length." + parameter->name());
    ASSERT_NE(found, expected_.end()) << parameter->name();
    double square = 0;
    for (const float number : floats(gradient_of(*parameter))) square += number * number;
    const float length = *found->second.data<float>();
    EXPECT_NEAR(std::sqrt(square), length, kFamilyTolerance * std::max(1.0F, length))
        << parameter->name();
  }
}

TEST_P(GoldenClassifier, names_its_labels_and_predicts_no_words) {
  const Capabilities can = model_->capabilities();
  EXPECT_TRUE(can.classifies);
  EXPECT_FALSE(can.continues_prompt || can.translates || can.fills_masks);
  EXPECT_FALSE(model_->has_logits());
  EXPECT_EQ(model_->parts().output, nullptr);
  EXPECT_EQ(model_->classifier()->classes().labels,
            (std::vector<std::string>{"negative", "neutral", "positive"}));
  Context context = inference_context();
  const Value output = model_->forward(context, read_batch(expected_));
  EXPECT_NE(error_of([&] { model_->logits(context, output); }), "");
  EXPECT_NE(error_of([&] { model_->start(context); }), "");
}

TEST_P(GoldenClassifier, is_the_same_from_a_folder_written_here) {
  const TemporaryFolder written;
  save_model(base::real_files(), written.path(), *model_);
  const std::unique_ptr<Model> again = load_model(base::real_files(), written.path());
  EXPECT_EQ(again->config(), model_->config());
  const io::Json origin = io::read_json(base::real_files(), folder() + "/config.json");
  for (const char* key : {"architectures", "id2label", "label2id"}) {
    ASSERT_NE(again->config().find(key), nullptr) << key;
    EXPECT_EQ(*again->config().find(key), *origin.find(key)) << key;
  }
  const Batch batch = read_batch(expected_);
  Context context = inference_context();
  const auto run = [&](const Model& model) {
    return model.class_logits(context, model.forward(context, batch), batch).data();
  };
  EXPECT_TRUE(same_bits(run(*again), run(*model_)));
}

TEST_P(GoldenClassifier, has_as_many_parameters_as_its_plan_says) {
  const io::Json config = io::read_json(base::real_files(), folder() + "/config.json");
  const io::Safetensors tensors =
      io::open_safetensors(base::real_files(), folder() + "/model.safetensors");
  const ModelPlan plan =
      known_architectures().find(GetParam())->read(config, "config.json", tensors);
  int64_t numbers = 0;
  for (const nn::ParameterHandle& one : model_->parameters()) numbers += one->shape().elements();
  EXPECT_EQ(plan.parameters, numbers);
}

TEST_P(GoldenClassifier, gives_a_text_the_same_bits_alone_and_in_a_batch) {
  const Batch batch = read_batch(expected_);
  Context context = inference_context();
  const Tensor all = model_->class_logits(context, model_->forward(context, batch), batch).data();
  for (int64_t b = 0; b < all.size(0); ++b) {
    const int64_t count = batch.lens.data<int64_t>()[b];
    const auto alone = [&](const Tensor& ids) {
      return ids.defined() ? ids.slice(0, b, 1).slice(1, 0, count).contiguous() : Tensor();
    };
    const Batch one{.ids = alone(batch.ids), .segments = alone(batch.segments)};
    const Tensor logits = model_->class_logits(context, model_->forward(context, one), one).data();
    EXPECT_TRUE(same_bits(logits, all.slice(0, b, 1).contiguous())) << b;
  }
}

TEST_P(GoldenClassifier, with_fewer_heads_still_classifies) {
  if (GetParam() == "albert") GTEST_SKIP() << "its layers share their weights";
  const std::string place = model_->attentions().front()->options().place;
  const std::unique_ptr<Model> pruned = model_->with_heads({{place, {0}}});
  fill(*pruned, 3);
  EXPECT_TRUE(pruned->capabilities().classifies);
  Context context = inference_context();
  const Batch batch = read_batch(expected_);
  const Value logits = pruned->class_logits(context, pruned->forward(context, batch), batch);
  EXPECT_EQ(logits.shape(), (Shape{batch.ids.size(0), 3}));
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenClassifier, testing::ValuesIn(golden_classifiers()),
                         [](const auto& info) { return info.param; });

class RandomClassifier : public ClassifierTest, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr int kModels = 20;

  void SetUp() override {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformers";
    }
    const char* chosen = std::getenv("HEADLIGHT_FAMILIES");
    if (chosen != nullptr &&
        ("," + std::string(chosen) + ",").find("," + GetParam() + ",") == std::string::npos) {
      GTEST_SKIP() << "HEADLIGHT_FAMILIES leaves it out";
    }
    python_ = python;
  }

  void script(const std::string& arguments) {
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/models/classifiers_check.py' " + arguments + " > '" +
                                folder_ / "said" + "' 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << folder_.get("said");
  }

  void compare(const std::string& name) {
    SCOPED_TRACE(name);
    const nn::StateDict expected =
        read_tensors(folder_ / "models/" + name + "/expected.safetensors");
    const std::unique_ptr<Model> model = load_model(base::real_files(), folder_ / "models/" + name);
    EXPECT_LE(class_distance(*model, expected), kFamilyTolerance);
    expect_loss(*model, expected);
    expect_gradients(*model, expected);
    const std::string written = folder_ / "written/" + name;
    base::make_directories(base::real_files(), written);
    save_model(base::real_files(), written, *model);
  }

  void expect_gradients(const Model& model, const nn::StateDict& expected) {
    run_backward(model, expected);
    const nn::StateDict right = under(expected, "grad.");
    float most = 1;
    for (const auto& [name, gradient] : right) most = std::max(most, largest(gradient));
    for (const nn::ParameterHandle& parameter : model.parameters()) {
      const auto found = right.find(parameter->name());
      ASSERT_NE(found, right.end()) << parameter->name();
      EXPECT_LE(distance(gradient_of(*parameter), found->second), kFamilyTolerance * most)
          << parameter->name();
    }
  }

  std::string python_;
  TemporaryFolder folder_;
};

TEST_P(RandomClassifier, twenty_random_models_compute_what_transformers_computes_and_open_there) {
  script("make '" + folder_ / "models" + "' " + std::to_string(kModels) + " " + GetParam());
  if (HasFatalFailure()) return;
  for (int i = 0; i < kModels; ++i) compare(GetParam() + "-" + std::to_string(i));
  script("check '" + folder_ / "models" + "' '" + folder_ / "written" + "'");
}

INSTANTIATE_TEST_SUITE_P(Families, RandomClassifier, testing::ValuesIn(golden_classifiers()),
                         [](const auto& info) { return info.param; });

// A copy of a golden folder with another configuration.
class ChangedClassifier : public ModelTest {
 protected:
  std::string refusal(const std::string& family, const std::string& key, const io::Json& value) {
    const std::string origin = classifier_folder(family);
    io::Json config = io::read_json(base::real_files(), origin + "/config.json");
    std::erase_if(*config.object(), [&](const io::Json::Member& one) { return one.first == key; });
    config.object()->emplace_back(key, value);
    folder_.put("config.json", io::json_text(config));
    std::filesystem::copy_file(origin + "/model.safetensors", folder_ / "model.safetensors",
                               std::filesystem::copy_options::overwrite_existing);
    return error_of([&] { load_model(base::real_files(), folder_.path()); });
  }

  TemporaryFolder folder_;
};

TEST_F(ChangedClassifier, labels_with_holes_and_counts_that_disagree_are_one_error) {
  using Labels = io::Json::Object;
  const auto with = [&](const Labels& labels) { return refusal("bert", "id2label", labels); };
  expect_has(with({{"0", "a"}, {"2", "b"}, {"3", "c"}}),
             "config.json (id2label): has the key \"3\" among 3, labels are numbered from 0 to 2");
  expect_has(with({{"0", "a"}, {"1", "b"}, {"01", "c"}}), "has number 1 twice");
  expect_has(with({{"0", "a"}, {"1", "b"}, {"two", "c"}}), "has the key \"two\" among 3");
  expect_has(with({{"0", "a"}, {"1", "b"}, {"-1", "c"}}), "has the key \"-1\" among 3");
  expect_has(with({{"0", "a"}, {"1", true}, {"2", "c"}}), "the label of number 1 is not a text");
  expect_has(with({}), "an object of numbers and labels is needed");
  expect_has(refusal("bert", "id2label", io::Json::Array{"a"}), "an object of numbers and labels");
  expect_has(refusal("bert", "id2label", io::Json()), "classifier.weight is float32 [3, 8]");
  expect_has(with({{"0", "a"}, {"1", "b"}}), "classifier.weight is float32 [3, 8]");
  expect_has(refusal("bert", "num_labels", 4), "(num_labels): is 4, id2label has 3");
  expect_has(refusal("bert", "num_labels", 0), "(num_labels): is 0, it must be from 1");
  expect_has(refusal("bert", "label2id", Labels{{"neutral", 0}}),
             "(label2id): gives \"neutral\" another number than id2label");
  EXPECT_EQ(refusal("bert", "label2id", Labels{{"LABEL_0", 0}}), "");
  EXPECT_EQ(refusal("bert", "num_labels", 3), "");
}

// As earlier versions of transformers wrote them.
TEST_F(ChangedClassifier, labels_that_only_count_give_way_to_their_number) {
  io::Json config = io::read_json(base::real_files(), classifier_folder("bert") + "/config.json");
  std::erase_if(*config.object(), [](const io::Json::Member& one) {
    return one.first == "id2label" || one.first == "label2id";
  });
  const auto labels_with = [&](const io::Json::Object& names) {
    io::Json changed = config;
    changed.object()->emplace_back("id2label", names);
    changed.object()->emplace_back("label2id", io::Json::Object{{"LABEL_0", 0}, {"LABEL_1", 1}});
    changed.object()->emplace_back("num_labels", 3);
    return Bert::read_config(changed, "config.json").classes->labels;
  };
  EXPECT_EQ(labels_with({{"0", "LABEL_0"}, {"1", "LABEL_1"}}),
            (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  expect_has(error_of([&] {
               labels_with({{"0", "LABEL_0"}, {"1", "good"}});
             }),
             "config.json (num_labels): is 3, id2label has 2");
}

TEST_F(ChangedClassifier, unknown_problems_and_poolings_are_named) {
  expect_has(refusal("bert", "problem_type", "guessing"),
             "(problem_type): is \"guessing\", supported: single_label_classification");
  expect_has(refusal("modernbert", "classifier_pooling", "max"),
             "(classifier_pooling): is \"max\", supported: cls, mean");
}

TEST_F(ChangedClassifier, one_label_that_is_always_right_is_an_error) {
  const std::string said = [&] {
    io::Json config = io::read_json(base::real_files(), classifier_folder("bert") + "/config.json");
    std::erase_if(*config.object(),
                  [](const io::Json::Member& one) { return one.first == "id2label"; });
    config.object()->emplace_back("num_labels", 1);
    config.object()->emplace_back("problem_type", "single_label_classification");
    return error_of([&] { Bert::read_config(config, "config.json"); });
  }();
  expect_has(said, "(problem_type): one label alone is always right");
}

TEST_F(ChangedClassifier, a_head_that_is_missing_or_not_asked_for_is_named) {
  expect_has(refusal("bert", "architectures", io::Json::Array{"BertForTokenClassification"}),
             "classifier.");
  expect_has(refusal("llama", "architectures", io::Json::Array{"LlamaForCausalLM"}),
             "score.weight");
  for (const std::string& family : golden_classifiers()) {
    SCOPED_TRACE(family);
    const auto model = load_model(base::real_files(), classifier_folder(family));
    const std::string head = model->classifier()->parameters().back()->name();
    nn::StateDict state = model->state();
    state.erase(head);
    expect_has(error_of([&] { model->load_state(state, "here"); }), head);
  }
}

TEST_F(ChangedClassifier, of_t5_is_refused_by_name) {
  const TemporaryFolder folder;
  for (const char* file : {"/config.json", "/model.safetensors"}) {
    std::filesystem::copy_file(golden_folder("t5") + file, folder.path() + file);
  }
  io::Json config = io::read_json(base::real_files(), folder / "config.json");
  for (auto& [key, value] : *config.object()) {
    if (key == "architectures") value = io::Json::Array{"T5ForSequenceClassification"};
  }
  base::write_file(base::real_files(), folder / "config.json", io::json_text(config));
  expect_has(error_of([&] { load_model(base::real_files(), folder.path()); }),
             "(architectures): names a model that classifies");
}

TEST(LabelScores, are_probabilities_or_the_numbers_themselves) {
  const std::vector<float> logits = {0, std::log(3.0F), std::log(2.0F)};
  Classes classes{.labels = {"a", "b", "c"}};
  std::vector<LabelScore> scores = label_scores(classes, logits.data(), 2);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].label, "b");
  EXPECT_NEAR(scores[0].score, 0.5, 1e-6);
  EXPECT_NEAR(scores[1].score, 1.0 / 3, 1e-6);
  classes.problem = ClassProblem::multi_label;
  scores = label_scores(classes, logits.data(), 9);
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_NEAR(scores[0].score, 0.75, 1e-6);
  EXPECT_NEAR(scores[2].score, 0.5, 1e-6);
  classes.problem = ClassProblem::regression;
  scores = label_scores(classes, logits.data(), 9);
  EXPECT_EQ(scores[0].label, "a");
  EXPECT_EQ(scores[1].score, static_cast<double>(logits[1]));
}

TEST(LabelScores, come_in_some_order_even_of_what_is_no_number) {
  const std::vector<float> logits = {std::nanf("1"), 1, std::nanf("1"), 2};
  for (const ClassProblem problem :
       {ClassProblem::single_label, ClassProblem::multi_label, ClassProblem::regression}) {
    const Classes classes{.labels = {"a", "b", "c", "d"}, .problem = problem};
    EXPECT_EQ(label_scores(classes, logits.data(), 4).size(), 4u);
  }
}

TEST_F(ModelTest, only_a_model_that_classifies_gives_class_logits) {
  Gpt model(small_gpt());
  fill(model, 1);
  Context context = inference_context();
  const Batch batch{.ids = random_ids({1, 3}, 17, 2)};
  expect_has(error_of([&] { model.class_logits(context, model.forward(context, batch), batch); }),
             "gpt2 (classes): the model has no head that classifies");
}

}  // namespace
}  // namespace headlight::models
