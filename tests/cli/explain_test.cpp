// `headlight explain` as a learner uses it, and as a program does.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

constexpr const char* kText = "When you play the game of thrones";
constexpr const char* kTarget = "you win or you die";

ProgramRun explain(std::vector<std::string> more) {
  more.insert(more.begin(), "explain");
  return run_program(more);
}

ProgramRun explain_worked(std::vector<std::string> more) {
  more.insert(more.begin(), {"--text", kText, "--target", kTarget});
  return explain(std::move(more));
}

io::Json json_of(const ProgramRun& run) {
  EXPECT_EQ(run.code, 0) << run.errors;
  return io::parse_json(run.output, "output");
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part;
}

int64_t widest_line(const std::string& text) {
  int64_t widest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, text::columns(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

TEST(Explain, walks_all_14_steps) {
  const ProgramRun run = explain_worked({});
  EXPECT_EQ(run.code, 0) << run.errors;
  for (int step = 1; step <= 14; ++step) {
    expect_has(run.output, "\nStep " + std::to_string(step) + " of 14: ");
  }
  for (const char* name :
       {"encoder.0.self.scores", "encoder.0.norm_1.deviation", "decoder.0.cross.weights",
        "decoder.0.self.masked_scores", "logits", "probabilities", "Heads, token to token"}) {
    expect_has(run.output, name);
  }
}

TEST(Explain, fits_80_columns_in_every_language_without_colours) {
  for (const char* language : {"en", "tr", "az", "ko"}) {
    for (const char* heads : {"1", "8"}) {
      const ProgramRun run = explain_worked({"--lang", language, "--heads", heads, "--backward"});
      ASSERT_EQ(run.code, 0) << run.errors;
      EXPECT_LE(widest_line(run.output), 80) << language;
      EXPECT_EQ(run.output.find('\033'), std::string::npos);
      EXPECT_EQ(run.output.find('{'), std::string::npos);
    }
  }
}

TEST(Explain, shows_steps_and_tensors_alone) {
  const ProgramRun one = explain_worked({"--only", "7"});
  expect_has(one.output, "Step 7 of 14");
  EXPECT_EQ(one.output.find("Step 8 of 14"), std::string::npos);
  const ProgramRun range = explain_worked({"--only", "3-5,13"});
  for (const char* step : {"Step 3 ", "Step 4 ", "Step 5 ", "Step 13 "}) {
    expect_has(range.output, step);
  }
  EXPECT_EQ(range.output.find("Step 6 "), std::string::npos);
  const ProgramRun tensor =
      explain_worked({"--heads", "2", "--only", "encoder.0.self.head.1.weights"});
  expect_has(tensor.output, "encoder.0.self.head.1.weights");
  EXPECT_EQ(tensor.output.find("Step "), std::string::npos);
}

TEST(Explain, a_cell_answers_with_terms_that_make_its_value) {
  const io::Json cell =
      json_of(explain_worked({"--cell", "encoder.0.self.head.0.scores[3,5]", "--json"}));
  EXPECT_EQ(*cell.find("operation")->text(), "scores");
  double sum = 0;
  for (const io::Json& term : *cell.find("terms")->array()) {
    sum += *(*term.find("factors")->array())[0].find("value")->number() *
           *(*term.find("factors")->array())[1].find("value")->number();
  }
  EXPECT_NEAR(sum, *cell.find("value")->number(), 1e-5);
  const ProgramRun text =
      explain_worked({"--cell", "encoder.0.self.head.0.scores[3,5]", "--lang", "tr"});
  expect_has(text.output, "encoder.0.self.head.0.query · encoder.0.self.head.0.key");
  expect_has(text.output, "Terimlerin toplamı değeri verir.");
  // A leaf is where the way back ends.
  expect_has(explain_worked({"--cell", "shared.weight[5,0]"}).output, "the trail ends here");
  expect_has(explain_worked({"--cell", "decoder.0.self.head.0.masked_scores[0,3]"}).output,
             "The mask hides");
}

TEST(Explain, trains_and_shows_the_numbers_before_and_after) {
  const ProgramRun run = explain_worked({"--train", "--only", "13"});
  EXPECT_EQ(run.code, 0) << run.errors;
  const size_t before = run.output.find("== Before training ==");
  const size_t after = run.output.find("== After training ==");
  ASSERT_NE(before, std::string::npos);
  ASSERT_NE(after, std::string::npos);
  EXPECT_LT(before, after);
  EXPECT_GT(run.output.find("The model says: you win or you die\n"), after);
  const io::Json document = json_of(explain_worked({"--train", "--format", "json"}));
  EXPECT_EQ(*document.find("says")->text(), kTarget);
  EXPECT_NE(*document.find("before")->find("says")->text(), kTarget);
  EXPECT_LT(*document.find("loss")->number(), 0.1);
  EXPECT_GT(*document.find("before")->find("loss")->number(), 1);
  EXPECT_EQ(document.find("training")->find("losses")->array()->size(), 401U);
}

TEST(Explain, backward_leads_from_the_loss_to_the_new_weight) {
  const io::Json document = json_of(explain_worked(
      {"--backward", "--cell", "encoder.layers.0.fc1.weight[3,2]", "--format", "json"}));
  const io::Json* backward = document.find("backward");
  ASSERT_NE(backward, nullptr);
  EXPECT_EQ(*backward->find("weight")->text(), "encoder.layers.0.fc1.weight[3,2]");
  double sum = 0;
  for (const io::Json& term : *backward->find("terms")->array()) {
    sum += *term.find("value")->number();
  }
  EXPECT_NEAR(sum, *backward->find("gradient")->number(), 1e-6);
  const ProgramRun text = explain_worked({"--backward", "--only", "14", "--train"});
  expect_has(text.output, "Why did this weight change?");
  expect_has(text.output, "The new weight: ");
}

TEST(Explain, writes_a_trace_that_other_programs_read) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.safetensors";
  EXPECT_EQ(explain_worked({"--format", "safetensors", "--out", path}).code, 0);
  const Tensors tensors = read_tensors(path);
  EXPECT_TRUE(tensors.contains("encoder.0.self.weights"));
  EXPECT_TRUE(tensors.contains("shared.weight"));
  // And the weights of a worked model come back from a file.
  const std::string weights = folder / "weights.safetensors";
  std::vector<io::NamedTensor> parameters;
  for (const auto& [name, numbers] : tensors) {
    if (name.ends_with(".weight") || name.ends_with(".bias")) parameters.push_back({name, numbers});
  }
  io::write_safetensors(base::real_files(), weights, parameters);
  const ProgramRun same = explain_worked({"--weights", weights, "--seed", "9"});
  EXPECT_EQ(same.code, 0) << same.errors;
  const std::string numbers = same.output.substr(same.output.find("Step 1 "));
  const std::string first = explain_worked({}).output;
  EXPECT_EQ(numbers, first.substr(first.find("Step 1 ")));
}

TEST(Explain, writes_to_a_file_what_it_would_print) {
  const TemporaryFolder folder;
  const ProgramRun printed = explain_worked({"--only", "4"});
  EXPECT_EQ(explain_worked({"--only", "4", "--out", folder / "walk.txt"}).output, "");
  std::ifstream file(folder / "walk.txt");
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, printed.output);
}

TEST(Explain, tells_where_texts_disagree_and_computes_the_variant) {
  const ProgramRun run = explain_worked({"--scale", "none", "--only", "7"});
  expect_has(run.output, "What are the scores divided by?");
  expect_has(run.output, "variant.scale.none.encoder.0.self.weights");
  const ProgramRun width = explain_worked({"--scale", "width", "--only", "7"});
  expect_has(width.output, "variant.scale.width.encoder.0.self.scaled_scores\n    S / C\n");
  const ProgramRun pre = explain_worked({"--norm", "pre", "--only", "8"});
  EXPECT_EQ(pre.code, 0) << pre.errors;
  expect_has(explain_worked({"--heads", "1", "--only", "8"}).output, "difference 8.345e-06.");
  expect_has(pre.output, "before the sublayer (GPT-2): this model");
}

TEST(Explain, takes_sentences_of_the_users_own) {
  const TemporaryFolder folder;
  folder.put("mine.tsv", "Ali okula gider\tAli okur\n학교에 간다\t책을 읽는다\n");
  const ProgramRun run = explain({"--sentences", folder / "mine.tsv", "--text", "학교에 간다",
                                  "--lang", "ko", "--train", "--only", "13"});
  EXPECT_EQ(run.code, 0) << run.errors;
  expect_has(run.output, "모델이 이어 쓴 말: 책을 읽는다\n");
  EXPECT_LE(widest_line(run.output), 80);
  // A text with a target of its own joins the data set.
  const ProgramRun joined =
      explain({"--text", "Bir iki üç", "--target", "dört beş", "--train", "--only", "13"});
  expect_has(joined.output, "The model says: dört beş\n");
}

TEST(Explain, follows_models_that_come_with_the_program) {
  const ProgramRun gpt = explain({"stories", "--text", "Anna has two apples", "--only", "4-13"});
  EXPECT_EQ(gpt.code, 0) << gpt.errors;
  expect_has(gpt.output, "decoder.0.self.weights");
  expect_has(gpt.output, "There is nothing to show here for this model.");
  const std::string absent = explain({"stories", "--text", "Anna", "--only", "11"}).output;
  expect_has(absent, "There is nothing to show here for this model.");
  EXPECT_EQ(absent.find("In cross-attention"), std::string::npos);
  // A line break is a token like others, and no line break in a matrix.
  const ProgramRun lines = explain({"stories", "--text", "Anna has two\napples", "--only", "4"});
  expect_has(lines.output, "⏎");
  const ProgramRun pair =
      explain({"thrones", "--text", kText, "--target", kTarget, "--only", "13"});
  EXPECT_EQ(pair.code, 0) << pair.errors;
  expect_has(pair.output, "The model says: you win or you die\n");
}

TEST(Explain, says_what_it_wrote) {
  const TemporaryFolder folder;
  const std::string page = folder / "page.html";
  const ProgramRun html = explain({"--text", kText, "--format", "html", "--out", page});
  EXPECT_EQ(html.code, 0);
  EXPECT_TRUE(html.errors.starts_with("Written: " + page + " (")) << html.errors;
  EXPECT_TRUE(html.errors.ends_with("iB). Open it in a browser.\n")) << html.errors;
  const ProgramRun json = explain({"--text", kText, "--json", "--out", folder / "x.json"});
  EXPECT_TRUE(json.errors.starts_with("Written: " + (folder / "x.json") + " (")) << json.errors;
  EXPECT_EQ(json.output, "");
  const ProgramRun tensors = explain({"--text", kText, "--format", "safetensors", "--out",
                                      folder / "t.safetensors", "--lang", "ko"});
  EXPECT_TRUE(tensors.errors.starts_with("저장했습니다: ")) << tensors.errors;
  EXPECT_EQ(explain({"--text", kText, "--out", folder / "q", "--quiet"}).errors, "");
  EXPECT_EQ(explain({"--text", kText}).errors, "");
}

TEST(Explain, of_an_encoder_tells_what_could_stand_at_each_place) {
  const std::string model = model_folders().encoder();
  const ProgramRun told = explain({model, "--text", "a small house", "--only", "13-14"});
  EXPECT_EQ(told.code, 0) << told.errors;
  expect_has(told.output, "An encoder on its own does not continue a sentence.");
  expect_has(told.output, "An encoder on its own learns from words");
  EXPECT_EQ(told.output.find("--target"), std::string::npos);
}

TEST(Explain, answers_cells_of_variants) {
  const ProgramRun told = explain(
      {"--text", kText, "--cell", "variant.scale.none.encoder.0.self.scaled_scores[0,0,0,0]"});
  EXPECT_EQ(told.code, 0) << told.errors;
  expect_has(told.output, "variant.scale.none.encoder.0.self.head.0.scaled_scores[0,0] = ");
}

struct WrongUse {
  std::vector<std::string> arguments;
  int code;
  const char* part;
};

class WrongExplain : public testing::TestWithParam<WrongUse> {};

TEST_P(WrongExplain, is_one_clear_line) {
  expect_one_line(explain(GetParam().arguments), GetParam().code, GetParam().part);
}

std::string ten_thousand_words() {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "you ";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Uses, WrongExplain,
    testing::Values(
        WrongUse{{}, 2, "--text: is missing"}, WrongUse{{"--text", ""}, 2, "--text"},
        WrongUse{{"--text", " "}, 3, "is empty"},
        WrongUse{{"--text", "you fly"}, 3, "1 word is not in the vocabulary: \"fly\"; --target"},
        WrongUse{{"--text", "<start> you", "--target", "<end>"},
                 3,
                 "(text): 1 word is not in the vocabulary: \"<start>\"; --special reads texts of "
                 "special tokens as these\n"},
        WrongUse{{"--text", "you", "--target", "<end>"}, 3, "\"<end>\"; --special"},
        WrongUse{{"thrones", "--text", "you <end>"}, 3, "\"<end>\"; --special"},
        WrongUse{{"--text", ten_thousand_words()}, 3, "10000 tokens"},
        WrongUse{{"--text", kText, "--cell", "encoder.0.self.head.0.scores[9,9]"}, 3, "7, 7]"},
        WrongUse{{"--text", kText, "--cell", "encoder.0.self.head.7.scores[0,0]"}, 3, "head"},
        WrongUse{{"--text", kText, "--cell", "encoder.0.self.scorse[0,0]"}, 3, "scores"},
        WrongUse{{"--text", kText, "--cell", "encoder.0.self.scores"}, 2, "cell"},
        WrongUse{{"--text", kText, "--cell", "logits[0"}, 2, "cell"},
        WrongUse{{"--text", kText, "--cell", "logits[a,b]"}, 2, "cell"},
        WrongUse{{"--text", kText, "--cell", "logits[0,-1]"}, 3, "cell"},
        WrongUse{{"--text", kText, "--only", "15"}, 2, "--only"},
        WrongUse{{"--text", kText, "--only", "5-3"}, 2, "before the first"},
        WrongUse{{"--text", kText, "--only", "3,,4"}, 2, "empty place"},
        WrongUse{{"--text", kText, "--only", "3,logits"}, 2, "not both"},
        WrongUse{{"--text", kText, "--only", "encoder.0.self.wieghts"}, 3, "weights"},
        WrongUse{{"--text", kText, "--only", "4", "--cell", "logits[0,0]"}, 2, "no meaning"},
        WrongUse{{"--text", kText, "--format", "yaml"}, 2, "must be one of"},
        WrongUse{{"--text", kText, "--format", "safetensors"}, 2, "--out: is missing"},
        WrongUse{{"--text", kText, "--format", "safetensors", "--out", "t.npy"}, 2, ".safetensors"},
        WrongUse{{"--text", kText, "--json", "--format", "text"}, 2, "no meaning"},
        WrongUse{{"--text", kText, "--heads", "0"}, 2, "--heads"},
        WrongUse{{"--text", kText, "--width", "7"}, 2, "must be even"},
        WrongUse{{"--text", kText, "--weights", "no.safetensors"}, 3, "no.safetensors"},
        WrongUse{{"--text", kText, "--weights", "w.npy"}, 2, ".safetensors"},
        WrongUse{{"--text", kText, "--scale", "root"}, 2, "must be one of"},
        WrongUse{{"--text", kText, "--norm", "middle"}, 2, "must be one of"},
        WrongUse{{"--text", kText, "--sentences", "no.tsv"}, 3, "no.tsv"},
        WrongUse{{"--text", kText, "--out", "no/such/folder/x.txt"}, 1, "no/such/folder"},
        WrongUse{{"nothing", "--text", kText}, 3, "there is no such file or folder"},
        WrongUse{{"thrones", "--text", kText, "--train"}, 2, "worked model"},
        WrongUse{{"thrones", "--text", kText, "--heads", "2"}, 2, "worked model"},
        WrongUse{{"thrones", "--text", "you fly"}, 3, "not in the vocabulary"},
        WrongUse{{"thrones", "--text", kText, "--backward"}, 3, "target"},
        WrongUse{{"--text", kText, "--backward", "--cell", "logits[0,0]"}, 3, "logits"},
        WrongUse{{"--text", kText, "--lang", "de"}, 2, "en, tr, az, ko"},
        WrongUse{{"--text", kText, "--layers", "x"}, 2, "--layers"},
        WrongUse{{"--text", kText, "--layers", "1"}, 3, "has the layers 0 to 0"}));

}  // namespace
}  // namespace headlight::test
