// Documents and where they go: pages are not for terminals, files have neither colours nor a
// terminal's width, names say the format, and a reader is told what to read next.
#include <gtest/gtest.h>

#include "headlight/narrate/narrate.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/terminal.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

const Words kWalk = {"explain", "--text", "When you play the game of thrones", "--only", "4"};
const Words kSteps = {"lesson", "steps", "--lang", "en"};

// Of a document whose lines fit.
std::string screen_of(const Words& words, const TerminalOptions& options = {}) {
  Terminal terminal(words, options);
  EXPECT_EQ(terminal.finish(), 0) << terminal.screen().text();
  EXPECT_EQ(terminal.screen().broken_lines(), Words{}) << terminal.screen().text();
  return terminal.screen().text();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ADocument, that_is_a_page_does_not_go_to_a_terminal) {
  for (const Words& words : {kWalk, kSteps}) {
    Terminal terminal(words + Words{"--format", "html"});
    EXPECT_EQ(terminal.finish(), 2);
    EXPECT_TRUE(has(terminal.bytes(), "--out: is missing: a page is for a browser"));
    EXPECT_LT(terminal.bytes().size(), 300U);
    const ProgramRun piped = run_program(words + Words{"--format", "html"});
    EXPECT_EQ(piped.code, 0) << piped.errors;
    EXPECT_TRUE(piped.output.starts_with("<!doctype html>"));
  }
}

TEST(ADocument, in_a_file_has_neither_colours_nor_the_width_of_the_terminal) {
  const TemporaryFolder folder;
  for (const Words& words : {kWalk, kSteps}) {
    Terminal terminal(words + Words{"--out", folder / "told.txt"}, {.columns = 40});
    EXPECT_EQ(terminal.finish(), 0) << terminal.screen().text();
    EXPECT_EQ(folder.get("told.txt"), run_program(words).output);
  }
}

TEST(ADocument, has_the_format_that_its_name_ends_with) {
  const TemporaryFolder folder;
  const auto written = [&](const Words& words, const std::string& name) {
    const ProgramRun run = run_program(words + Words{"--out", folder / name});
    EXPECT_EQ(run.code, 0) << run.errors;
    return folder.get(name);
  };
  EXPECT_TRUE(written(kWalk, "walk.html").starts_with("<!doctype html>"));
  EXPECT_TRUE(written(kWalk, "WALK.HTML").starts_with("<!doctype html>"));
  EXPECT_TRUE(written(kSteps, "steps.html").starts_with("<!doctype html>"));
  EXPECT_TRUE(written(kSteps, "steps.json").starts_with("{\"lesson\""));
  EXPECT_TRUE(written(kSteps, "steps.txt").starts_with("Lesson: "));
  EXPECT_EQ(written(kSteps, "steps"), folder.get("steps.txt"));
  EXPECT_NE(written({"explain", "--text", "When you play the game of thrones"}, "walk.safetensors")
                .find("__metadata__"),
            std::string::npos);
  // What is asked for wins.
  EXPECT_EQ(written(kSteps + Words{"--format", "text"}, "page.html"), folder.get("steps.txt"));
  EXPECT_TRUE(written(kSteps + Words{"--json"}, "page.html").starts_with("{\"lesson\""));
}

TEST(TheListOfLessons, tells_what_to_type_in_the_reader_s_language) {
  const std::string english = run_program({"lesson"}).output;
  EXPECT_TRUE(has(english, "  headlight lesson steps --lang en\n")) << english;
  const std::string turkish = run_program({"lesson", "--lang", "tr"}).output;
  EXPECT_TRUE(has(turkish, "  headlight lesson steps\n")) << turkish;
  EXPECT_TRUE(has(turkish, "  headlight lesson nanogpt --lang tr\n")) << turkish;
  EXPECT_TRUE(has(run_program({"lesson", "--json", "--lang", "ko"}).output,
                  "\"headlight lesson d2l --lang ko\""));
  screen_of({"lesson"}, {.columns = 40});
}

TEST(TheListOfLessons, is_not_what_options_of_a_lesson_ask_for) {
  for (const Words& words : {Words{"--exercise"},
                             {"--step", "3"},
                             {"--out", "x.html"},
                             {"--format", "html"},
                             {"--cell", "x[0,0]"}}) {
    expect_one_line(run_program(Words{"lesson"} + words), 2,
                    "needs a lesson, as `headlight lesson");
  }
  const Words bold = {"lesson", "--format", "text"};
  EXPECT_FALSE(has(screen_of(bold), "\\x1b"));
}

TEST(ALesson, at_a_terminal_ends_with_what_to_read_next) {
  const std::string own = screen_of({"lesson", "steps"});
  EXPECT_TRUE(has(own, "Next, try:\n  headlight lesson steps --lang en\n")) << own;
  EXPECT_TRUE(has(own, "  headlight lesson steps --exercise\n")) << own;
  EXPECT_TRUE(has(own, "  headlight lesson steps --out steps.html\n")) << own;
  const std::string english = screen_of(kSteps);
  EXPECT_FALSE(has(english, "this lesson in English")) << english;
  EXPECT_TRUE(has(english, "  headlight lesson steps --lang en --exercise\n")) << english;
  const std::string step = screen_of(kSteps + Words{"--step", "4"});
  EXPECT_TRUE(has(step, "  headlight lesson steps --lang en --step 5\n")) << step;
  EXPECT_FALSE(has(step, "--exercise")) << step;
  EXPECT_TRUE(has(screen_of(kSteps + Words{"--step", "12"}), "--exercise"));
  EXPECT_FALSE(has(screen_of(kSteps + Words{"--quiet"}), "Next, try:"));
  Terminal json(kSteps + Words{"--json"});
  EXPECT_EQ(json.finish(), 0);
  EXPECT_FALSE(has(json.bytes(), "Next, try:"));
  EXPECT_EQ(run_program(kSteps).errors, "");
  for (const std::string language : {"tr", "az", "ko"}) {
    const auto& catalogue = narrate::Catalogue::of(language);
    const std::string shown = screen_of({"lesson", "steps", "--step", "2"},
                                        {.columns = 40, .set = {"LC_ALL=" + language}});
    EXPECT_TRUE(has(shown, catalogue.text("command.next"))) << shown;
    EXPECT_EQ(has(shown, "--lang " + language), language != "tr") << shown;
  }
}

TEST(TheFirstMinute, fits_a_narrow_terminal_and_ends_with_what_to_do_next) {
  const TemporaryFolder folder;
  for (const std::string language : {"en", "tr", "az", "ko"}) {
    SCOPED_TRACE(language);
    Terminal terminal({"--no-serve", "--lang", language},
                      {.columns = 40, .set = {"XDG_CACHE_HOME=" + folder.path()}});
    EXPECT_EQ(terminal.finish(), 0);
    const std::string shown = terminal.screen().text();
    // The path alone is as long as it is, and stands by itself.
    const std::string path = folder / "headlight/walk.html";
    for (const std::string& line : terminal.screen().broken_lines()) {
      EXPECT_TRUE(path.starts_with(line)) << line;
    }
    EXPECT_TRUE(has(
        shown, narrate::Catalogue::of(language).text("command.next") + "\n  headlight lesson\n"))
        << shown;
    EXPECT_TRUE(has(shown, "\n  headlight explain --help\n")) << shown;
  }
}

TEST(AFileOfNumbers, is_said_to_be_written) {
  const TemporaryFolder folder;
  folder.put("ids.json", "[[5,6]]");
  const Words words = {"forward",      "thrones",           "--ids",   folder / "ids.json",
                       "--source-ids", folder / "ids.json", "--trace", folder / "t.safetensors"};
  Terminal terminal(words, {.columns = 200});
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_TRUE(has(terminal.screen().text(), "Written: " + (folder / "t.safetensors") + " ("))
      << terminal.screen().text();
  EXPECT_EQ(run_program(words).errors, "");
}

TEST(UnknownWords, are_named_to_somebody_who_may_wonder_at_the_answer) {
  const Words words = {"translate", "thrones", "--text", "hello you hello world"};
  const std::string shown = screen_of(words);
  EXPECT_TRUE(has(shown, "Not in the vocabulary, and read as unknown: hello, world\n")) << shown;
  EXPECT_FALSE(has(screen_of({"translate", "thrones", "--text", "When you play"}), "vocabulary"));
  EXPECT_EQ(run_program(words).errors, "");
  EXPECT_FALSE(has(screen_of(words + Words{"--quiet"}), "vocabulary"));
}

}  // namespace
}  // namespace headlight::test
