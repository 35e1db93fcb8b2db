// `headlight evaluate`: losses and scores of trained models, and what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/cli/model_folders.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

class Evaluation : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string text;
    for (int i = 0; i < 80; ++i) text += "round and round " + std::to_string(i % 5) + "\n";
    const std::string all = folder_->put("all.txt", text);
    folder_->put("valid.txt", text.substr(text.size() - text.size() / 10));
    folder_->put("train.txt", text.substr(0, text.size() - text.size() / 10));
    ASSERT_EQ(run_program({"train", "--task", "lm", "--data", *folder_ / "train.txt", "--valid",
                           *folder_ / "valid.txt", "--preset", "tiny", "--max_iters", "20",
                           "--eval_interval", "20", "--out", *folder_ / "lm"})
                  .code,
              0);
    ASSERT_EQ(run_program(small_copy(*folder_ / "copy", 10)).code, 0);
    std::string pairs;
    for (int i = 0; i < 40; ++i)
      pairs += "a b c " + std::to_string(i % 4) + "\tA B C " + std::to_string(i % 4) + "\n";
    folder_->put("pairs.tsv", pairs);
    ASSERT_EQ(
        run_program({"train", "--task", "translate", "--data", *folder_ / "pairs.tsv", "--valid",
                     *folder_ / "pairs.tsv", "--tokenizer", "char", "--preset", "tiny",
                     "--max_iters", "20", "--eval_interval", "20", "--out", *folder_ / "pairs"})
            .code,
        0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static io::Json evaluated(const Words& words) {
    const ProgramRun run = run_program(Words{"evaluate"} + words + Words{"--json"});
    EXPECT_EQ(run.code, 0) << run.errors;
    return run.code == 0 ? io::parse_json(run.output, "output") : io::Json();
  }
  static double number(const io::Json& facts, const std::string& key) {
    const io::Json* value = facts.find(key);
    EXPECT_TRUE(value && value->number()) << key << " in " << io::json_text(facts);
    return value && value->number() ? *value->number() : std::nan("");
  }
  static double trained_loss(const std::string& name) {
    const auto done = events_called("done", folder_->get(name + "/log.jsonl"));
    return number(done.at(0), "best_valid_loss");
  }
  static TemporaryFolder* folder_;
};
TemporaryFolder* Evaluation::folder_ = nullptr;

TEST_F(Evaluation, of_a_text_is_the_validation_loss_of_training) {
  const io::Json facts = evaluated({*folder_ / "lm", "--data", *folder_ / "valid.txt"});
  EXPECT_NEAR(number(facts, "loss"), trained_loss("lm"), 1e-9);
  EXPECT_NEAR(number(facts, "perplexity"), std::exp(trained_loss("lm")), 1e-9);
  EXPECT_EQ(number(facts, "tokens"), static_cast<double>(folder_->get("valid.txt").size() - 1));
}

TEST_F(Evaluation, of_hidden_words_is_the_validation_loss_of_training) {
  ASSERT_EQ(run_program({"train", "--task", "mlm", "--data", *folder_ / "train.txt", "--valid",
                         *folder_ / "valid.txt", "--tokenizer", "char", "--preset", "tiny",
                         "--max_iters", "20", "--eval_interval", "20", "--out", *folder_ / "mlm"})
                .code,
            0);
  const io::Json facts = evaluated({*folder_ / "mlm", "--data", *folder_ / "valid.txt"});
  EXPECT_NEAR(number(facts, "loss"), trained_loss("mlm"), 1e-9);
  EXPECT_GT(number(facts, "tokens"), 10);
  EXPECT_LT(number(facts, "tokens"), 0.3 * static_cast<double>(folder_->get("valid.txt").size()));
  EXPECT_EQ(run_program({"embed", *folder_ / "mlm", "--text", "round"}).code, 0);
  expect_one_line(
      run_program({"evaluate", *folder_ / "mlm", "--task", "lm", "--data", *folder_ / "valid.txt"}),
      3, "is of type bert, task lm needs gpt2");
}

TEST_F(Evaluation, of_pairs_has_bleu_and_chrf) {
  const io::Json facts = evaluated({*folder_ / "pairs", "--data", *folder_ / "pairs.tsv"});
  EXPECT_NEAR(number(facts, "loss"), trained_loss("pairs"), 1e-9);
  EXPECT_GE(number(facts, "bleu"), 0);
  EXPECT_LE(number(facts, "bleu"), 100);
  EXPECT_GE(number(facts, "chrf"), 0);
  EXPECT_EQ(number(facts, "sentences"), 40);
  EXPECT_EQ(evaluated({*folder_ / "pairs", "--data", *folder_ / "pairs.tsv", "--beam", "1"}),
            facts);
  number(evaluated({*folder_ / "pairs", "--data", *folder_ / "pairs.tsv", "--beam", "3"}), "bleu");
}

TEST_F(Evaluation, of_a_generated_task_has_the_share_that_is_exact) {
  const io::Json facts = evaluated({*folder_ / "copy", "--task", "copy"});
  EXPECT_NEAR(number(facts, "loss"), trained_loss("copy"), 1e-9);
  EXPECT_GE(number(facts, "exact_match"), 0);
  EXPECT_LE(number(facts, "exact_match"), 1);
}

TEST_F(Evaluation, is_the_same_for_any_number_of_threads) {
  const Words words = {*folder_ / "pairs", "--data", *folder_ / "pairs.tsv", "--threads"};
  EXPECT_EQ(evaluated(words + Words{"1"}), evaluated(words + Words{"4"}));
}

TEST_F(Evaluation, is_printed_for_people_too) {
  const ProgramRun run =
      run_program({"evaluate", *folder_ / "lm", "--data", *folder_ / "valid.txt"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.output.find("loss"), std::string::npos);
  EXPECT_NE(run.output.find("perplexity"), std::string::npos);
}

TEST_F(Evaluation, is_printed_in_the_language_asked_for) {
  const Words words = {"evaluate", *folder_ / "lm", "--data", *folder_ / "valid.txt"};
  const std::string english = run_program(words).output;
  const std::string turkish = run_program(words + Words{"--lang", "tr"}).output;
  EXPECT_NE(turkish.find("kayıp             "), std::string::npos) << turkish;
  EXPECT_NE(turkish.find(','), std::string::npos) << turkish;
  EXPECT_EQ(turkish.find('.'), std::string::npos) << turkish;
  EXPECT_EQ(turkish.find("loss"), std::string::npos) << turkish;
  EXPECT_EQ(std::count(turkish.begin(), turkish.end(), '\n'),
            std::count(english.begin(), english.end(), '\n'));
}

TEST_F(Evaluation, that_cannot_be_says_why) {
  const std::string lm = *folder_ / "lm", copy = *folder_ / "copy", pairs = *folder_ / "pairs";
  const std::string text = *folder_ / "valid.txt", tsv = *folder_ / "pairs.tsv";
  struct Wrong {
    Words words;
    int code;
    std::string part;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {{}, 2, "MODEL: is missing"},
           {{lm}, 2, "--data: is missing"},
           {{lm, "--task", "lm"}, 2, "--data: is missing"},
           {{lm, "--task", "ml", "--data", text}, 2, "the nearest is lm"},
           {{copy, "--task", "copy", "--data", text}, 2, "makes its own data"},
           {{copy, "--task", "copy", "--encoding", "cp949"}, 2, "makes its own data"},
           {{pairs, "--data", tsv, "--beam", "0"}, 2, "--beam"},
           {{pairs, "--data", tsv, "--length-penalty", "1"}, 2, "needs --beam"},
           {{*folder_ / "none", "--data", tsv, "--beam", "x"}, 2, "--beam"},
           {{lm, "--data", text, "--beam", "3"}, 3, "--beam"},
           {{lm, "--data", *folder_ / "none"}, 3, "No such file"},
           {{lm, "--data", folder_->path()}, 3, "it is a directory"},
           {{lm, "--data", folder_->put("empty", "")}, 3, "has 0 tokens, validation needs 2"},
           {{lm, "--data", folder_->put("other", "round\nand\nro%und\n")},
            3,
            R"(other:3): text ("%"): is not in the vocabulary)"},
           {{model_folders().strict_translator(), "--data",
             folder_->put("other.tsv", "a\tb\na b\ta %\n")},
            3,
            R"(other.tsv:2): the target: text ("%"): is not in the vocabulary)"},
           {{pairs, "--data",
             folder_->put("long.tsv", "a\tb\n" + std::string(9999, 'a') + "\tb\n")},
            3,
            "long.tsv:2): has 9999 tokens, the model's context is 32"},
           {{lm, "--data", folder_->put("latin", "g\xfczel \xfe\xf0")}, 3, "cp1254"},
           {{*folder_ / "none", "--data", text}, 3, "there is no such file or folder"},
           {{lm, "--task", "translate", "--data", tsv}, 3, "is of type gpt2"},
           {{pairs, "--task", "lm", "--data", text}, 3, "is of type headlight-seq2seq"},
           {{lm, "--task", "copy"}, 3, "is of type gpt2"},
           {{copy, "--task", "reverse"}, 3, "has 53 tokens, the model 11"},
           {{pairs, "--data", text}, 3, "valid.txt:1): no tab"},
           {{pairs, "--data", folder_->put("long", std::string(300, 'a') + "\tA\n")}, 3, "300"},
           {{model_folders().encoder(), "--data", text}, 3, "has no word that could be hidden"},
           {{model_folders().bare_gpt(), "--data", text}, 3, "has no tokenizer"}}) {
    std::string line = "evaluate";
    for (const std::string& word : wrong.words) line += " " + word;
    SCOPED_TRACE(line);
    expect_one_line(run_program(Words{"evaluate"} + wrong.words), wrong.code, wrong.part);
  }
}

}  // namespace
}  // namespace headlight::test
