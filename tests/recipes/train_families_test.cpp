// Every architecture that can be trained: interrupted and resumed to the same bits, gone on with
// from its folder, evaluated, asked; and 500 steps of it beside PyTorch, from the same weights and
// batches, where a Python that has transformers is named by the variable HEADLIGHT_PYTHON.
// HEADLIGHT_FAMILIES limits those to some, HEADLIGHT_TRAINING_TABLE names a file that gets a row of
// docs/models.md for each.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "headlight/infer/infer.h"
#include "tests/places.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using FamilyWords = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> trained_types() {
  std::vector<std::string> types;
  for (const models::Architecture& one : models::known_architectures().architectures()) {
    if (one.fresh != nullptr) types.emplace_back(one.model_type);
  }
  return types;
}

const models::FreshChoices& choices_of(const std::string& type) {
  return models::known_architectures().find(type)->choices;
}

class TrainedFamily : public testing::TestWithParam<std::string> {
 protected:
  static std::string task() {
    const models::Capabilities can = models::known_architectures().find(GetParam())->capabilities;
    return can.translates ? "reverse" : can.fills_masks ? "mlm" : "lm";
  }
  bool makes_data() const { return is_generated_task(task()); }

  // Keys of the architecture's own switches, where it has them.
  static FamilyWords switches(const std::string& window) {
    FamilyWords words;
    const models::FreshChoices& choices = choices_of(GetParam());
    if (choices.n_kv_head) words.emplace_back("n_kv_head", "2");
    if (choices.sliding_window) words.emplace_back("sliding_window", window);
    return words;
  }

  // Small enough for a moment, and with all that could depend on the order of things.
  FamilyWords small_run() {
    FamilyWords words = {{"task", task()},
                         {"arch", GetParam()},
                         {"n_layer", "2"},
                         {"n_head", "4"},
                         {"n_embd", "16"},
                         {"batch_size", "3"},
                         {"gradient_accumulation_steps", "2"},
                         {"dropout", "0.1"},
                         {"max_iters", "6"},
                         {"eval_interval", "4"},
                         {"warmup_iters", "2"},
                         {"learning_rate", "1e-2"}};
    for (const auto& word : switches("4")) words.push_back(word);
    if (makes_data()) return words;
    words.emplace_back("data", small_text());
    words.emplace_back("tokenizer", "char");
    words.emplace_back("block_size", "12");
    return words;
  }

  std::string small_text() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the tree sees a river under the old light.\n";
    return folder_.put("text.txt", text);
  }

  TrainResult train(const std::string& name, const FamilyWords& words, bool resume = false,
                    const TrainListener& listener = {}) {
    return train_model(threads_, files_,
                       {.folder = folder_ / name, .resume = resume, .values = train_values(words)},
                       listener);
  }

  std::string bytes(const std::string& path) {
    std::ifstream file(folder_ / path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
};

TEST_P(TrainedFamily, that_is_interrupted_and_resumed_ends_with_the_same_bits) {
  train("whole", small_run());
  int64_t steps = 0;
  const TrainListener stopping{.step = [&](const TrainStep&) { ++steps; },
                               .interrupted = [&] { return steps == 3; }};
  EXPECT_EQ(train("parts", small_run(), false, stopping).outcome, train::Outcome::interrupted);
  EXPECT_EQ(train("parts", {}, true).outcome, train::Outcome::finished);
  for (const char* name :
       {"model.safetensors", "config.json", "tokenizer.json", "run.json",
        "checkpoint/model-6.safetensors", "checkpoint/optimizer-6.safetensors"}) {
    EXPECT_EQ(bytes("parts/" + std::string(name)), bytes("whole/" + std::string(name))) << name;
    EXPECT_NE(bytes("whole/" + std::string(name)), "") << name;
  }
}

TEST_P(TrainedFamily, leaves_a_folder_that_is_evaluated_asked_and_trained_on) {
  std::vector<std::string> samples;
  TrainListener listener{
      .evaluation = [&](const TrainEvaluation& event) { samples.push_back(event.sample); }};
  listener.wants_samples = true;
  const TrainResult result = train("run", small_run(), false, listener);
  ASSERT_TRUE(result.done);
  EXPECT_EQ(samples.size(), 2u);
  const LoadedModel loaded = load_named_model(files_, folder_ / "run");
  EXPECT_EQ(loaded.model->type(), GetParam());
  const std::string data = makes_data() ? "" : folder_ / "text.txt";
  // The whole text, of which the last tenth was for validation.
  const Evaluation evaluation =
      evaluate(threads_, files_, loaded, {.task = makes_data() ? task() : "", .data = data});
  EXPECT_GT(evaluation.loss, 0);
  EXPECT_LT(evaluation.loss, 5);
  if (makes_data()) {
    EXPECT_EQ(evaluation.loss, result.done->best_valid_loss);
  }
  const heads::HeadScores scores = score_model_heads(
      threads_, files_, loaded, {.task = makes_data() ? task() : "", .data = data, .examples = 4});
  EXPECT_EQ(scores.heads.size() % 8, 0u);
  EXPECT_FALSE(scores.heads.empty());

  FamilyWords further = {{"task", task()},
                         {"init", folder_ / "run"},
                         {"max_iters", "2"},
                         {"eval_interval", "2"},
                         {"batch_size", "3"}};
  if (!makes_data()) further.emplace_back("data", data);
  ASSERT_TRUE(train("further", further).done);
  EXPECT_EQ(bytes("further/config.json"), bytes("run/config.json"));
  EXPECT_NE(bytes("further/model.safetensors"), bytes("run/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Types, TrainedFamily, testing::ValuesIn(trained_types()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// 500 steps of a small model here and there.
class FamilyBesidePyTorch : public TrainedFamily {
 protected:
  static constexpr int64_t kSteps = 500;
  static constexpr double kApart = 0.02;
  // The first losses are closer: rounding grows from step to step.
  static constexpr int64_t kFirst = 20;
  static constexpr double kFirstApart = 1e-4;

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
    if (GetParam() == models::Seq2Seq::kType) GTEST_SKIP() << "transformers does not have it";
    if (!makes_data() && !base::exists(files_, corpus())) GTEST_SKIP() << corpus() << " is absent";
    python_ = python;
  }

  static std::string corpus() {
    return tests::shared_folder() + "/data/corpora/tinyshakespeare.txt";
  }

  TrainSettings settings() {
    FamilyWords words = {{"task", task()},
                         {"arch", GetParam()},
                         {"n_layer", makes_data() ? "2" : "4"},
                         {"n_head", "4"},
                         {"n_embd", "64"},
                         {"batch_size", makes_data() ? "16" : "8"},
                         {"learning_rate", "1e-3"},
                         {"min_lr", "1e-4"},
                         {"warmup_iters", "50"},
                         {"max_iters", std::to_string(kSteps)},
                         {"seed", "1"}};
    for (const auto& word : switches("16")) words.push_back(word);
    if (!makes_data()) {
      words.emplace_back("data", corpus());
      words.emplace_back("tokenizer", task() == "mlm" ? "bpe:512" : "char");
      words.emplace_back("block_size", "32");
    }
    return read_train_settings(train_values(words), files_, nullptr);
  }

  static void add_batch(const models::Batch& batch, const std::string& name,
                        std::vector<io::NamedTensor>& tensors) {
    const std::pair<const char*, tensor::Tensor> parts[] = {{".ids", batch.ids},
                                                            {".lens", batch.lens},
                                                            {".source_ids", batch.source_ids},
                                                            {".source_lens", batch.source_lens},
                                                            {".targets", batch.targets}};
    for (const auto& [part, numbers] : parts) {
      if (numbers.defined()) tensors.push_back({name + part, numbers});
    }
  }

  // The first weights as a folder, and all that is learnt from.
  void write_request(const TrainSetup& setup, const train::TrainerOptions& options) {
    models::save_model(files_, folder_.path(), *setup.model);
    std::vector<io::NamedTensor> tensors;
    std::vector<float> rates;
    for (int64_t step = 0; step < kSteps; ++step) {
      add_batch(setup.task->batch(step), "train." + std::to_string(step), tensors);
      rates.push_back(static_cast<float>(optim::learning_rate_at(options.schedule, step)));
    }
    for (int64_t index = 0; index < setup.task->validation_batches(); ++index) {
      add_batch(setup.task->validation_batch(index), "valid." + std::to_string(index), tensors);
    }
    tensors.push_back({"rates", tensor::Tensor::of({kSteps}, rates)});
    const optim::OptimizerOptions& adam = options.optimizer;
    tensors.push_back(
        {"optimizer",
         tensor::Tensor::of(
             {4}, std::vector<float>{static_cast<float>(adam.beta1), static_cast<float>(adam.beta2),
                                     static_cast<float>(adam.weight_decay),
                                     static_cast<float>(adam.grad_clip)})});
    io::write_safetensors(files_, folder_ / "request.safetensors", tensors);
  }

  // Those of the first steps, the mean of the last ones, and that of what is validated on.
  struct Losses {
    std::vector<double> first;
    double training = 0;
    double validation = 0;
  };

  Losses losses_here(TrainSetup& setup, const train::TrainerOptions& options) {
    constexpr int64_t kLast = 50;
    base::ThreadPool one(1);  // models are small
    train::Trainer trainer(one, *setup.model, *setup.task, options);
    Losses losses;
    for (int64_t step = 0; step < kSteps; ++step) {
      const double loss = trainer.step().loss;
      if (step < kFirst) losses.first.push_back(loss);
      if (step >= kSteps - kLast) losses.training += loss / static_cast<double>(kLast);
    }
    losses.validation = trainer.evaluate();
    return losses;
  }

  Losses losses_there() {
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/recipes/train_families.py' '" + folder_.path() + "' > '" +
                                folder_ / "said" + "' 2>&1";
    if (std::system(command.c_str()) != 0) {
      ADD_FAILURE() << folder_.get("said");
      return {};
    }
    const io::Json json = io::read_json(files_, folder_ / "losses.json");
    Losses losses;
    losses.training = *json.find("training")->number();
    losses.validation = *json.find("validation")->number();
    for (const io::Json& loss : *json.find("first")->array()) {
      losses.first.push_back(*loss.number());
    }
    return losses;
  }

  static void add_row(const Losses& here, const Losses& there) {
    const char* table = std::getenv("HEADLIGHT_TRAINING_TABLE");
    if (table == nullptr) return;
    std::array<char, 200> row{};
    std::snprintf(row.data(), row.size(), "| `%s` | %s | %.4f | %.4f | %.4f | %.4f |\n",
                  GetParam().c_str(), task().c_str(), here.training, there.training,
                  here.validation, there.validation);
    std::ofstream(table, std::ios::app) << row.data();
  }

  std::string python_;
};

TEST_P(FamilyBesidePyTorch, learns_as_much_from_the_same_weights_and_batches) {
  const TrainSettings asked = settings();
  TrainSetup setup = make_train_setup(files_, asked);
  const train::TrainerOptions options = trainer_options(asked, *setup.model);
  write_request(setup, options);
  const Losses here = losses_here(setup, options);
  const Losses there = losses_there();
  ASSERT_EQ(there.first.size(), here.first.size());
  for (size_t step = 0; step < here.first.size(); ++step) {
    EXPECT_NEAR(here.first[step], there.first[step], kFirstApart) << "step " << step;
  }
  EXPECT_NEAR(here.training, there.training, kApart);
  EXPECT_NEAR(here.validation, there.validation, kApart);
  add_row(here, there);
}

INSTANTIATE_TEST_SUITE_P(Types, FamilyBesidePyTorch, testing::ValuesIn(trained_types()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace headlight::recipes
