// What `headlight explain` answers of single cells, weights and heads, as it is printed.
#include <gtest/gtest.h>

#include <algorithm>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

ProgramRun answer_of(std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "--text", "When you play the game of thrones", "--target",
                             "you win or you die"});
  return run_program(more);
}

void expect_said(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(ExplainAnswers, a_weight_that_rises_has_a_change_with_a_plus) {
  const ProgramRun run =
      answer_of({"--heads", "1", "--backward", "--cell", "encoder.layers.0.fc1.weight[3,2]"});
  expect_said(run.output, "Change                        +0.0");
  expect_said(run.output, "The new weight: 0.1176");
  EXPECT_EQ(run.output.find("+-"), std::string::npos);
}

TEST(ExplainAnswers, a_cell_shows_a_running_sum_only_where_terms_are_added) {
  const auto answer = [](const char* cell) { return answer_of({"--cell", cell}).output; };
  for (const char* cell : {"decoder.0.self.row_max[0,0,3]", "encoder.positions[2,3]",
                           "encoder.0.ffn.activated[1,1]", "encoder.output[1,1]"}) {
    EXPECT_EQ(answer(cell).find("Running sum"), std::string::npos) << cell;
  }
  const std::string copied = answer("encoder.output[1,1]");
  expect_said(copied, "There is only one term, and it is the value.");
  const std::string sum = answer("encoder.0.self.row_sum[0,0,1]");
  expect_said(sum, "Running sum");
  expect_said(sum, "\nencoder.0.self.head.0.masked_scores\n");
  expect_said(sum, "  [1,6]\n");
  const std::string linear = answer("encoder.0.self.projected_query[1,1]");
  expect_said(linear, "Q = X W_q + b_q");
  expect_said(linear, "q_proj.bias\n");
  for (const std::string& text : {sum, linear}) EXPECT_EQ(text.find("…"), std::string::npos);
  expect_said(answer("encoder.0.self.scaled_scores[0,0,1,2]"), "34.37463 · 0.5  +17.18731  ");
  expect_said(answer("logits[1,1]"), "\nz = x W\n");
}

// All numbers under "values".
int64_t written_numbers(const io::Json& json, bool counts = false) {
  int64_t count = counts && json.number() ? 1 : 0;
  if (const auto* list = json.array()) {
    for (const io::Json& item : *list) count += written_numbers(item, counts);
  }
  if (const auto* object = json.object()) {
    for (const auto& [key, value] : *object) {
      count += written_numbers(value, counts || key == "values");
    }
  }
  return count;
}

TEST(ExplainAnswers, a_walk_leaves_out_what_is_too_much_and_says_so) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "w" + std::to_string(i) + " ";
  const auto walk = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"explain", "--text", words, "--target", "a b", "--heads", "32",
                               "--head-width", "64", "--only", "7"});
    return run_program(more);
  };
  expect_said(walk({}).output, "(encoder.0.self.weighted_values): 20480000 numbers, too many");
  const ProgramRun run = walk({"--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const int64_t written = written_numbers(io::parse_json(run.output, "walk"));
  EXPECT_GT(written, 100'000);
  EXPECT_LE(written, 4'000'000);
}

TEST(ExplainAnswers, says_of_its_heads_what_the_columns_are) {
  const ProgramRun run = answer_of({"--only", "12", "--lang", "tr"});
  for (const char* label : {"\nPay: ", "\nEntropi: ", "\nOrtalama uzaklık: "}) {
    expect_said(run.output, label);
  }
  const size_t difference = run.output.find("|A·V − O|: ");
  ASSERT_NE(difference, std::string::npos);
  const std::string line =
      run.output.substr(difference, run.output.find('\n', difference) - difference);
  EXPECT_EQ(line.find('.'), std::string::npos) << line;
  expect_said(line, "e-0");
}

// Each step of a document, in order.
std::vector<double> step_numbers(const ProgramRun& run) {
  EXPECT_EQ(run.code, 0) << run.errors;
  const io::Json document = io::parse_json(run.output, "output");
  std::vector<double> numbers;
  for (const io::Json& step : *document.find("steps")->array()) {
    numbers.push_back(*step.find("step")->number());
  }
  return numbers;
}

TEST(ExplainAnswers, as_json_each_step_is_there_once_and_in_order) {
  std::vector<double> all;
  for (int step = 1; step <= 14; ++step) all.push_back(step);
  EXPECT_EQ(step_numbers(answer_of({"--json"})), all);
  EXPECT_EQ(step_numbers(answer_of({"--json", "--backward"})), all);
  EXPECT_EQ(step_numbers(answer_of({"--json", "--only", "7"})), std::vector<double>{7});
  EXPECT_EQ(step_numbers(answer_of({"--json", "--only",
                                    "logits,shared.weight,encoder.0.self.scores,"
                                    "encoder.0.self.weights"})),
            (std::vector<double>{4, 7, 13}));
  EXPECT_EQ(step_numbers(run_program({"lesson", "transformer", "--json"})), all);
  // Nothing of what is shown under a step is lost.
  const std::string heads = answer_of({"--json", "--only", "12", "--backward"}).output;
  expect_said(heads, "\"Heads, token to token\"");
  expect_said(answer_of({"--json", "--only", "14", "--backward"}).output, "The new weight: ");
  expect_said(run_program({"lesson", "transformer", "--json", "--step", "12"}).output,
              "\"identity.masked_scores\"");
}

TEST(ExplainAnswers, are_in_the_language_of_the_locale_unless_told) {
  const auto said = [](const std::vector<std::string>& set, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"explain", "--text", "you win", "--only", "4"});
    return run_program(more, {.set = set}).output;
  };
  const std::string english = said({});
  EXPECT_EQ(said({}, {"--lang", "en"}), english);
  for (const std::string language : {"tr", "az", "ko"}) {
    const std::string told = said({}, {"--lang", language});
    EXPECT_NE(told, english);
    EXPECT_EQ(said({"LANG=" + language + "_XX.UTF-8"}), told);
    EXPECT_EQ(said({"LANG=" + language}), told);
    EXPECT_EQ(said({"LC_MESSAGES=" + language + ".UTF-8", "LANG=de_DE"}), told);
    EXPECT_EQ(said({"LC_ALL=" + language + "@x", "LC_MESSAGES=C", "LANG=C"}), told);
    EXPECT_EQ(said({"LC_ALL=", "LANG=" + language + "_XX"}), told);
    EXPECT_EQ(said({"HEADLIGHT_LANG=" + language, "LC_ALL=en_US.UTF-8"}), told);
    EXPECT_EQ(said({"HEADLIGHT_LANG=en", "LC_ALL=" + language}), english);
    EXPECT_EQ(said({"HEADLIGHT_LANG=en", "LC_ALL=C"}, {"--lang", language}), told);
  }
  for (const std::string other : {"C", "POSIX", "de_DE.UTF-8", "trv_TW", "k", "_", "KO"}) {
    EXPECT_EQ(said({"LC_ALL=" + other, "LANG=tr_TR.UTF-8"}), english) << other;
  }
  // A lesson has a language of its own.
  const auto lesson = [](const std::vector<std::string>& set) {
    return run_program({"lesson", "steps", "--step", "2"}, {.set = set}).output;
  };
  EXPECT_EQ(lesson({"LC_ALL=ko_KR.UTF-8"}), lesson({}));
  EXPECT_NE(lesson({"HEADLIGHT_LANG=ko"}), lesson({}));
}

TEST(ExplainAnswers, begin_with_the_seed_that_help_tells) {
  for (const char* command : {"explain", "lesson"}) {
    expect_said(run_program({command, "--help"}).output, "explain, lesson: 1)");
  }
  EXPECT_EQ(answer_of({"--seed", "1"}).output, answer_of({}).output);
  EXPECT_NE(answer_of({"--seed", "0"}).output, answer_of({}).output);
  // Its first step: others are timed.
  const auto lesson = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"lesson", "d2l", "--step", "1", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words).output;
  };
  EXPECT_EQ(lesson({"--seed", "1"}), lesson({}));
  EXPECT_NE(lesson({"--seed", "0"}), lesson({}));
}

TEST(ExplainAnswers, special_tokens_are_read_where_that_is_asked) {
  const ProgramRun run = run_program(
      {"explain", "--text", "<start> you", "--target", "<end>", "--special", "--only", "3"});
  EXPECT_EQ(run.code, 0) << run.errors;
  expect_said(run.output, "  <start>  1\n  you      5\n\n");
  expect_said(run.output, "  <start>  1\n  <end>    2\n");
}

TEST(ExplainAnswers, a_worked_model_beyond_the_memory_is_refused_before_it_is_made) {
  constexpr uint64_t kNeeded = uint64_t{12894512176} * 8;
  if (base::available_memory(base::real_files()) > kNeeded) {
    GTEST_SKIP() << "this machine has the memory";
  }
  const ProgramRun run = run_program(
      {"explain", "--text", "a b", "--heads", "1024", "--head-width", "1024", "--width", "1024"});
  expect_one_line(run, 4, "worked model (12894512176 parameters): needs 96.0 GiB, ");
}

// Bytes of a text that a terminal would obey.
bool has_control(const std::string& text) {
  return std::ranges::any_of(text,
                             [](char c) {
                               return (static_cast<unsigned char>(c) < ' ' && c != '\n') ||
                                      c == '\x7f';
                             }) ||
         text.find("\u009b") != std::string::npos || text.find("\u202e") != std::string::npos;
}

TEST(ExplainAnswers, controls_in_a_sentence_are_seen_and_not_obeyed) {
  const std::string text = "\x1b[31mred \u009b2J \u202eabc \x7f";
  const TemporaryFolder folder;
  const std::string file = folder.put("mine.tsv", text + "\tyou\x07 win\n");
  const auto walk = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"explain", "--text", text, "--sentences", file});
    return run_program(more);
  };
  const ProgramRun shown = walk({});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_FALSE(has_control(shown.output)) << shown.output;
  expect_said(shown.output, "Sentence: \\x1b[31mred \\u009b2J \\u202eabc \\x7f\n");
  expect_said(shown.output, "\n  \\x1b[31mred  4\n  \\u009b2J     5\n");
  expect_said(shown.output, "you\\x07 ");
  const io::Json document = io::parse_json(walk({"--json"}).output, "output");
  EXPECT_EQ(*document.find("text")->text(), text);
  const std::string place = folder / "no\x1b[31m\n\u009b.tsv";
  const ProgramRun failed = run_program({"explain", "--text", "a", "--sentences", place});
  expect_one_line(failed, 3, "no\\x1b[31m\\x0a\\u009b.tsv");
}

}  // namespace
}  // namespace headlight::test
