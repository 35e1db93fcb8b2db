// `headlight explain --format html`: the page, read as a file and opened in a browser.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/browser.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

using io::Json;

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What letters of base 64 stand for.
std::string bytes_of_letters(const std::string& letters) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char letter : letters) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kLetters.find(letter));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return bytes;
}

// The tensor that has the numbers of this one on the page.
std::string source_of(const Json& run, std::string name) {
  for (const Json& tensor : *run.find("tensors")->array()) {
    const bool is_same = *tensor.find("name")->text() == name && tensor.find("same_as") != nullptr;
    if (is_same) return source_of(run, *tensor.find("same_as")->text());
  }
  return name;
}

class ExplainPage : public testing::Test {
 protected:
  static std::vector<std::string> explain(std::vector<std::string> more) {
    std::vector<std::string> words = {"explain", "--text", "When you play the game of thrones",
                                      "--target", "you win or you die"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string page(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--format", "html", "--out", folder_ / "page.html"});
    const ProgramRun run = run_program(explain(std::move(more)));
    EXPECT_EQ(run.code, 0) << run.errors;
    return folder_.get("page.html");
  }

  static Json data_of(const std::string& page) {
    constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";
    const size_t begin = page.find(kBegin) + kBegin.size();
    return io::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  }

  TemporaryFolder folder_;
};

TEST_F(ExplainPage, is_one_file_that_asks_for_nothing) {
  const std::string text = page();
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  EXPECT_EQ(count(text, "http://") + count(text, "https://"),
            count(text, "http://www.w3.org/2000/svg"));
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  for (const char* part : {" src=", "<link", "@import", "url(", "fetch(", "import(", "XMLHttp",
                           "WebSocket", "<iframe", "{{"}) {
    EXPECT_EQ(count(text, part), 0U) << part;
  }
  for (const char* tag : {"html", "head", "body", "style", "script", "main"}) {
    EXPECT_EQ(count(text, std::string("</") + tag + ">"),
              count(text, std::string("<") + tag + ">") + count(text, std::string("<") + tag + " "))
        << tag;
  }
}

TEST_F(ExplainPage, goes_to_standard_output_without_a_place) {
  const ProgramRun run = run_program(explain({"--format", "html"}));
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, page());
}

TEST_F(ExplainPage, holds_the_engines_numbers_to_the_bit) {
  const Json data = data_of(page());
  const Json& run = data.find("runs")->array()->back();
  const Json& values = *run.find("values");
  const std::string path = folder_ / "trace.safetensors";
  EXPECT_EQ(run_program(explain({"--format", "safetensors", "--out", path})).code, 0);
  const io::Safetensors trace = io::open_safetensors(base::real_files(), path);
  int64_t hidden = 0;
  for (const io::Safetensors::Entry& entry : trace.entries()) {
    const Json* shown = values.find(source_of(run, entry.name));
    ASSERT_NE(shown, nullptr) << entry.name;
    const tensor::Tensor numbers = trace.load(entry);
    if (numbers.dtype() != tensor::DType::f32) {
      ASSERT_EQ(std::ssize(*shown->array()), numbers.shape().elements()) << entry.name;
      continue;
    }
    const std::string bytes = bytes_of_letters(*shown->text());
    ASSERT_EQ(std::ssize(bytes), numbers.shape().elements() * 4) << entry.name;
    EXPECT_EQ(std::memcmp(bytes.data(), numbers.data<float>(), bytes.size()), 0) << entry.name;
    for (int64_t i = 0; i < numbers.shape().elements(); ++i) {
      const bool is_hidden = std::isinf(numbers.data<float>()[i]);
      hidden += is_hidden && entry.name == "decoder.0.self.masked_scores" ? 1 : 0;
    }
  }
  EXPECT_EQ(hidden, 2 * 15);  // above the diagonal of six tokens, in two heads
}

TEST_F(ExplainPage, opens_at_what_is_asked_for) {
  const auto place = [&](const std::vector<std::string>& more) {
    return *data_of(page(more)).find("place")->text();
  };
  EXPECT_EQ(place({}), "");
  EXPECT_EQ(place({"--only", "9,8"}), "at=step-8");
  EXPECT_EQ(place({"--only", "decoder.0.self.head.1.weights"}), "tensor=decoder.0.self.weights");
  EXPECT_EQ(place({"--cell", "logits[0,1]"}), "cell=logits[0,1]");
  const std::string path = folder_ / "walk.html";
  for (const char* wrong : {"no.such[0,1]", "logits[99,1]"}) {
    const ProgramRun run =
        run_program(explain({"--cell", wrong, "--format", "html", "--out", path}));
    EXPECT_EQ(run.code, 3) << wrong;
    EXPECT_FALSE(std::filesystem::exists(path)) << wrong;
  }
}

TEST_F(ExplainPage, file_of_tensors_holds_what_is_asked_for) {
  const std::string path = folder_ / "trace.safetensors";
  const auto names = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "safetensors", "--out", path});
    EXPECT_EQ(run_program(explain(more)).code, 0);
    std::vector<std::string> found;
    const io::Safetensors trace = io::open_safetensors(base::real_files(), path);
    for (const auto& entry : trace.entries()) found.push_back(entry.name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({"--only", "logits,encoder.0.self.head.1.weights,logits"}),
            (Names{"encoder.0.self.head.1.weights", "logits"}));
  EXPECT_EQ(names({"--cell", "encoder.0.self.head.1.weights[0,0]"}),
            (Names{"encoder.0.self.weights"}));
  const Names positions = names({"--only", "5"});
  EXPECT_EQ(positions,
            (Names{"encoder.positions", "variant.position_index.column.encoder.positions"}));
  const Names steps = names({"--only", "5,13"});
  EXPECT_TRUE(std::ranges::find(steps, "probabilities") != steps.end());
  EXPECT_TRUE(std::ranges::find(steps, "encoder.0.self.weights") == steps.end());
}

TEST_F(ExplainPage, has_all_languages_and_begins_with_the_chosen_one) {
  const Json data = data_of(page({"--lang", "ko"}));
  EXPECT_EQ(*data.find("language")->text(), "ko");
  for (const char* language : {"en", "tr", "az", "ko"}) {
    const Json* texts = data.find("texts")->find(language);
    ASSERT_NE(texts, nullptr) << language;
    EXPECT_EQ(texts->object()->size(), data.find("texts")->find("en")->object()->size());
  }
}

TEST_F(ExplainPage, shows_training_before_and_after_and_the_way_back) {
  const Json data = data_of(page({"--train", "--backward"}));
  const Json::Array& runs = *data.find("runs")->array();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_NE(*runs[0].find("continuation")->text(), "you win or you die");
  EXPECT_EQ(*runs[1].find("continuation")->text(), "you win or you die");
  EXPECT_GT(data.find("losses")->array()->size(), 100U);
  EXPECT_NE(runs[1].find("backward")->find("new_loss"), nullptr);
}

// The command on a page, as a shell reads it, gives the numbers of the page.
TEST_F(ExplainPage, has_a_command_that_answers_for_its_cells) {
  const auto expect_same = [&](const std::vector<std::string>& words, const std::string& cell) {
    const ProgramRun run = run_program(words);
    ASSERT_EQ(run.code, 0) << run.errors;
    const Json data = data_of(run.output);
    ASSERT_NE(data.find("command"), nullptr);
    const std::string command = *data.find("command")->text();
    ASSERT_TRUE(command.starts_with("headlight explain ")) << command;
    const std::string typed = "'" + program_path() + "'" + command.substr(command.find(' ')) +
                              " --cell '" + cell + "' --json > '" + (folder_ / "cell.json") + "'";
    EXPECT_EQ(std::system(typed.c_str()), 0) << typed;
    std::vector<std::string> direct = words;
    direct.erase(direct.end() - 2, direct.end());  // the format
    direct.insert(direct.end(), {"--cell", cell, "--json"});
    if (words[1] == "stories") direct.insert(direct.end(), {"--continue", "8"});
    EXPECT_EQ(folder_.get("cell.json"), run_program(direct).output) << typed;
  };
  expect_same(explain({"--width", "8", "--norm", "pre", "--format", "html"}), "logits[1,2]");
  expect_same({"explain", "stories", "--text", "Anna has two\napples", "--format", "html"},
              "probabilities[8,3]");
}

TEST_F(ExplainPage, of_a_large_model_says_how_to_see_what_is_left_out) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  constexpr const char* kScript = R"(report(document.getElementById("step-14").innerText);)";
  const auto told = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "html"});
    words.insert(words.begin(), {"explain", "numbers", "--text",
                                 "one hundred and twenty-three thousand four hundred and five"});
    const ProgramRun run = run_program(words, {.set = {"HEADLIGHT_STARTED_AS=./run"}});
    EXPECT_EQ(run.code, 0) << run.errors;
    return told_in_browser(folder_, run.output, kScript);
  };
  const std::string known = told({"--target", "123405"});
  EXPECT_NE(known.find("./run explain numbers --text \"one hundred and twenty-three thousand four "
                       "hundred and five\" --target 123405 --backward --only 14"),
            std::string::npos)
      << known;
  const std::string unknown = told({});
  EXPECT_NE(unknown.find("--target"), std::string::npos) << unknown;
  for (const std::string& text : {known, unknown}) {
    EXPECT_EQ(text.find("nothing to show"), std::string::npos) << text;
  }
}

TEST_F(ExplainPage, is_not_ended_by_words_of_the_user) {
  const std::string text = "a </script><script>alert(1)</script> b";
  const ProgramRun run =
      run_program({"explain", "--text", text, "--target", "c", "--format", "html"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(count(run.output, "alert(1)</script>"), 0U);
  EXPECT_EQ(*data_of(run.output).find("source")->text(), text);
}

TEST_F(ExplainPage, answers_every_cell_in_a_browser) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const std::string found =
      told_in_browser(folder_, page({"--train", "--scale", "none"}), test_script("page_check.js"));
  EXPECT_NE(found.find("wrong: 0\n"), std::string::npos) << found;
  EXPECT_GT(std::atoi(found.c_str() + std::string_view("cells: ").size()), 10'000) << found;
}

TEST_F(ExplainPage, shows_the_cell_that_it_opens_at_beside_its_answer) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  constexpr const char* kScript = R"(
    setTimeout(() => {
      const cell = document.querySelector("td.chosen")?.getBoundingClientRect();
      const answer = drawer.getBoundingClientRect();
      const isSeen = cell && cell.top > 0 && cell.bottom < innerHeight;
      const isFree = cell && (cell.right <= answer.left || cell.left >= answer.right || cell.bottom <= answer.top || cell.top >= answer.bottom);
      report(`${drawer.querySelector(".cell-name").textContent} ${isSeen ? "seen" : "not seen"} ${isFree ? "free" : "covered"}`);
    }, 1000);
  )";
  for (const WindowSize screen : {WindowSize{1280, 800}, WindowSize{390, 844}}) {
    for (const char* cell : {"encoder.0.self.head.1.scores[3,5]", "decoder.0.ffn.hidden[5,23]"}) {
      EXPECT_EQ(told_in_browser(folder_, page({"--cell", cell}), kScript, screen),
                std::string(cell) + " seen free");
    }
  }
}

// What the page took to show another language: for whoever reads the report of the tests.
void record_times(const WindowSize& screen, const std::string& found) {
  constexpr std::string_view kTimes = "ms for another language: ";
  const size_t at = found.find(kTimes);
  if (at == std::string::npos) return;
  testing::Test::RecordProperty("ms_for_another_language_at_" + std::to_string(screen.width),
                                found.substr(at + kTimes.size()));
}

// What is asked keeps its place, its answer is whole, and nothing is wider than the screen.
TEST_F(ExplainPage, stands_still_on_a_laptop_and_on_a_phone) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const std::string worked = page({"--train"});
  for (const WindowSize screen : {WindowSize{1280, 800}, WindowSize{390, 844}}) {
    const std::string found =
        told_in_browser(folder_, worked, test_script("page_layout_check.js"), screen);
    EXPECT_EQ(found.find("wrong: 0\n"), 0U) << screen.width << " " << found;
    record_times(screen, found);
  }
}

TEST_F(ExplainPage, of_a_larger_model_stands_still_too) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const ProgramRun run = run_program({"explain", "numbers", "--text",
                                      "one hundred and twenty-three thousand four hundred and five",
                                      "--format", "html"});
  ASSERT_EQ(run.code, 0) << run.errors;
  for (const WindowSize screen : {WindowSize{1280, 800}, WindowSize{390, 844}}) {
    const std::string found =
        told_in_browser(folder_, run.output, test_script("page_layout_check.js"), screen);
    EXPECT_EQ(found.find("wrong: 0\n"), 0U) << screen.width << " " << found;
    record_times(screen, found);
  }
}

}  // namespace
}  // namespace headlight::test
