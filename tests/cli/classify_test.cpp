// headlight classify, and what other commands say of a model that classifies.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "headlight/io/io.h"
#include "tests/cli/program.h"
#include "tests/models/support.h"

namespace headlight::test {
namespace {

std::string classified(const std::vector<std::string>& words, const Surroundings& around = {}) {
  const ProgramRun run = run_program(words, around);
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  return run.output;
}

// The tiny BERT of tests/golden with a vocabulary of its own.
class ClassifyCommand : public testing::Test {
 protected:
  ClassifyCommand() {
    std::filesystem::copy(models::classifier_folder("bert"), model_);
    folder_.put("model/vocab.txt",
                "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nsmall\nhouse\n.\nis\nbig\ngood\nbad\n");
  }

  static std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
    return all;
  }
  // Of one text, by label.
  static std::map<std::string, double> numbers(const io::Json& document, const char* key) {
    std::map<std::string, double> all;
    for (const io::Json& one : *document.find("labels")->array()) {
      all[*one.find("label")->text()] = *one.find(key)->number();
    }
    return all;
  }
  io::Json answer(std::vector<std::string> words) const {
    words.insert(words.begin(), {"classify", model_});
    words.emplace_back("--json");
    return io::parse_json(classified(words), "answer");
  }
  // Another setting in config.json.
  void set(const std::string& key, const io::Json& value) {
    io::Json config = io::parse_json(folder_.get("model/config.json"), "config.json");
    std::erase_if(*config.object(), [&](const io::Json::Member& one) { return one.first == key; });
    config.object()->emplace_back(key, value);
    folder_.put("model/config.json", io::json_text(config));
  }

  TemporaryFolder folder_;
  std::string model_ = folder_ / "model";
};

TEST_F(ClassifyCommand, prints_the_labels_by_name_the_likeliest_first) {
  const std::string line = classified({"classify", model_, "--text", "a small house is good ."});
  ASSERT_TRUE(line.ends_with('\n'));
  const std::vector<std::string> parts = fields(line.substr(0, line.size() - 1));
  ASSERT_EQ(parts.size(), 6u);
  double sum = 0;
  double before = 1;
  for (size_t i = 0; i < parts.size(); i += 2) {
    EXPECT_TRUE(parts[i] == "negative" || parts[i] == "neutral" || parts[i] == "positive");
    const double probability = std::stod(parts[i + 1]);
    EXPECT_LE(probability, before);
    before = probability;
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  const std::string best =
      classified({"classify", model_, "--top", "1", "--text", "a small house is good ."});
  EXPECT_EQ(best, parts[0] + "\t" + parts[1] + "\n");
}

TEST_F(ClassifyCommand, answers_each_line_as_it_would_alone) {
  const std::string input = folder_.put("in.txt", "a house\nbig\nthe house is bad . a a a\n");
  std::string alone;
  for (const char* text : {"a house", "big", "the house is bad . a a a"}) {
    alone += classified({"classify", model_, "--text", text});
  }
  EXPECT_EQ(classified({"classify", model_}, {.input_path = input}), alone);
}

TEST_F(ClassifyCommand, reads_two_texts_with_a_tab_between_them_or_as_an_option) {
  const io::Json pair = answer({"--text", "a house", "--pair", "is big"});
  EXPECT_EQ(*pair.find("text")->text(), "a house");
  EXPECT_EQ(*pair.find("pair")->text(), "is big");
  EXPECT_EQ(answer({"--text", "a house\tis big"}), pair);
  EXPECT_NE(numbers(answer({"--text", "is big\ta house"}), "logit"), numbers(pair, "logit"));
  EXPECT_EQ(answer({"--text", "a house is big"}).find("pair"), nullptr);
  // [CLS] a house [SEP] is big [SEP], the second text in segment 1.
  const auto model = models::load_model(base::real_files(), model_);
  base::ThreadPool threads(1);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  const models::Batch batch{
      .ids = tensor::Tensor::of({1, 7}, std::vector<int64_t>{2, 5, 7, 3, 9, 10, 3}),
      .segments = tensor::Tensor::of({1, 7}, std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1})};
  const tensor::Tensor logits =
      model->class_logits(context, model->forward(context, batch), batch).data();
  const auto told = numbers(pair, "logit");
  EXPECT_EQ(told.at("negative"), static_cast<double>(logits.data<float>()[0]));
  EXPECT_EQ(told.at("positive"), static_cast<double>(logits.data<float>()[2]));
}

TEST_F(ClassifyCommand, gives_each_label_a_probability_of_its_own_or_the_number_itself) {
  const auto logits = numbers(answer({"--text", "a house"}), "logit");
  set("problem_type", "multi_label_classification");
  for (const auto& [label, probability] : numbers(answer({"--text", "a house"}), "probability")) {
    EXPECT_NEAR(probability, 1 / (1 + std::exp(-logits.at(label))), 1e-6) << label;
  }
  set("problem_type", "regression");
  EXPECT_EQ(numbers(answer({"--text", "a house"}), "value"), logits);
}

TEST_F(ClassifyCommand, gives_what_forward_gives) {
  folder_.put("ids.json", "[[2,5,7,3],[2,10,11,3]]");
  folder_.put("labels.json", "[0,2]");
  classified({"forward", model_, "--ids", folder_ / "ids.json", "--logits", folder_ / "l.npy"});
  const tensor::Tensor logits = io::read_array(base::real_files(), folder_ / "l.npy");
  EXPECT_EQ(logits.shape(), (tensor::Shape{2, 3}));
  const auto told = numbers(answer({"--text", "a house"}), "logit");
  EXPECT_EQ(static_cast<double>(logits.data<float>()[0]), told.at("negative"));
  const io::Json run =
      io::parse_json(classified({"forward", model_, "--ids", folder_ / "ids.json", "--targets",
                                 folder_ / "labels.json", "--grads", folder_ / "g.safetensors",
                                 "--trace", folder_ / "t.safetensors", "--json"}),
                     "run");
  EXPECT_GT(*run.find("loss")->number(), 0);
  const auto trace = io::open_safetensors(base::real_files(), folder_ / "t.safetensors");
  EXPECT_NE(trace.find("classifier.logits"), nullptr);
  EXPECT_NE(trace.find("classifier.probabilities"), nullptr);
  const auto gradients = io::open_safetensors(base::real_files(), folder_ / "g.safetensors");
  EXPECT_NE(gradients.find("classifier.weight"), nullptr);
}

TEST_F(ClassifyCommand, is_known_to_info_and_explain) {
  EXPECT_NE(classified({"info", model_}).find("3: negative, neutral, positive"), std::string::npos);
  const io::Json facts = io::parse_json(classified({"info", model_, "--json"}), "info");
  EXPECT_EQ(*facts.find("labels"), io::Json(io::Json::Array{"negative", "neutral", "positive"}));
  const std::string walk = classified({"explain", model_, "--text", "a house"});
  for (const char* said :
       {"classifier.logits", "negative", "positive", "stands for the whole text"}) {
    EXPECT_NE(walk.find(said), std::string::npos) << said;
  }
  const std::string cell =
      classified({"explain", model_, "--text", "a house", "--cell", "classifier.logits[0,2]"});
  EXPECT_NE(cell.find("classifier.activated"), std::string::npos) << cell;
}

TEST_F(ClassifyCommand, refuses_in_one_line_what_it_cannot_do) {
  expect_one_line(run_program({"classify", model_, "--pair", "a"}), 2, "--pair");
  expect_one_line(run_program({"classify", model_, "--text", "a", "--top", "0"}), 2, "--top");
  expect_one_line(run_program({"classify", model_, "--text", "a\tb\tc"}), 3, "more than one tab");
  expect_one_line(run_program({"classify", model_, "--text", "a\tb", "--pair", "c"}), 3, "--pair");
  expect_one_line(run_program({"generate", model_, "--prompt", "a"}), 3, "`headlight classify`");
  expect_one_line(run_program({"classify", "numbers", "--text", "a"}), 3, "without labels");
  expect_one_line(run_program({"classify", model_, "--text",
                               "a a a a a a a a a a a a a a a a a a a a a a a a a a a a"}),
                  3, "the model's context is 24");
}

}  // namespace
}  // namespace headlight::test
