// Help: within 80 columns, in the name the program was started by; what comes along is listed with
// what it is for.
#include <gtest/gtest.h>

#include <sstream>

#include "headlight/recipes/recipes.h"
#include "headlight/text/text.h"
#include "tests/cli/program.h"
#include "tests/cli/terminal.h"
#include "tests/cli/train_runs.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

Words lines_in(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// All that the overview names, and the program itself ("").
Words commands() {
  Words names = {""};
  bool is_list = false;
  for (const std::string& line : lines_in(run_program({"--help"}).output)) {
    if (line.empty()) is_list = false;
    if (is_list && line.size() > 2 && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    if (line == "Commands:") is_list = true;
  }
  return names;
}

std::string help_of(const std::string& command, const Surroundings& around = {}) {
  const ProgramRun run =
      run_program(command.empty() ? Words{"--help"} : Words{command, "--help"}, around);
  EXPECT_EQ(run.code, 0) << run.errors;
  return run.output;
}

TEST(Help, is_within_80_columns) {
  const Words all = commands();
  ASSERT_GT(all.size(), 11U);
  for (const std::string& command : all) {
    for (const char* name : {"HEADLIGHT_STARTED_AS=", "HEADLIGHT_STARTED_AS=./run",
                             "HEADLIGHT_STARTED_AS=../../elsewhere/headlight/run"}) {
      for (const std::string& line : lines_in(help_of(command, {.set = {name}}))) {
        EXPECT_LE(text::columns(line), 80) << command << ": " << line;
      }
    }
  }
}

TEST(Help, fits_narrower_terminals_but_for_shapes_of_json) {
  for (const std::string& command : commands()) {
    Terminal terminal(command.empty() ? Words{"--help"} : Words{command, "--help"},
                      {.columns = 50});
    EXPECT_EQ(terminal.finish(), 0);
    for (const std::string& line : terminal.screen().broken_lines()) {
      EXPECT_NE(line.find('"'), std::string::npos) << command << ": " << line;
    }
  }
}

TEST(Help, names_the_program_as_it_was_started) {
  const Surroundings by_run{.set = {"HEADLIGHT_STARTED_AS=./run"}};
  for (const std::string& command : commands()) {
    const std::string help = help_of(command, by_run);
    EXPECT_NE(help.find("  ./run"), std::string::npos) << help;
    EXPECT_EQ(help.find("  headlight "), std::string::npos) << help;
    EXPECT_EQ(help.find("`headlight"), std::string::npos) << help;
    EXPECT_NE(help_of(command).find("  headlight"), std::string::npos);
  }
}

TEST(Errors, name_the_program_as_it_was_started) {
  const Surroundings by_run{.set = {"HEADLIGHT_STARTED_AS=./run"}};
  EXPECT_EQ(run_program({"generate"}, by_run).errors,
            "headlight: MODEL: is missing: `./run generate MODEL`; `./run generate --help` has "
            "examples\n");
  EXPECT_EQ(run_program({"ls"}, by_run).errors,
            "headlight: unknown command (\"ls\"): `./run info` lists the models that come along; "
            "others are folders, named by their path; `./run --help` lists all\n");
  EXPECT_NE(run_program({"explain"}, by_run).errors.find("`./run explain --text"),
            std::string::npos);
}

TEST(Commands, to_go_on_with_name_the_program_as_it_was_started) {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_program(small_copy(folder / "run"), {.set = {"HEADLIGHT_STARTED_AS=./run"}});
  EXPECT_NE(run.errors.find("./run translate " + (folder / "run") + " --text "), std::string::npos)
      << run.errors;
}

// A command on a page or in a lesson is one that can be typed.
TEST(Pages, name_the_program_as_it_was_started) {
  const Surroundings by_run{.set = {"HEADLIGHT_STARTED_AS=../run"}};
  const std::string started = "\"command\":\"../run ";
  const auto page = [&](Words words) {
    const ProgramRun run = run_program(words + Words{"--format", "html"}, by_run);
    EXPECT_EQ(run.code, 0) << run.errors;
    return run.output;
  };
  EXPECT_NE(
      page({"explain", "--text", "you win", "--target", "or die", "--heads", "3", "--seed", "5",
            "--train"})
          .find(started +
                R"(explain --text \"you win\" --target \"or die\" --heads 3 --seed 5 --train")"),
      std::string::npos);
  EXPECT_NE(page({"lesson", "steps", "--seed", "4"}).find(started + "lesson steps --seed 4\""),
            std::string::npos);
  const TemporaryFolder folder;
  run_program({}, {.set = {"HEADLIGHT_STARTED_AS=../run", "XDG_CACHE_HOME=" + folder.path()}});
  EXPECT_NE(folder.get("headlight/walk.html").find(started + "explain --text"), std::string::npos);
  const std::string lesson =
      run_program({"lesson", "nanogpt", "--step", "12", "--lang", "en"}, by_run).output;
  EXPECT_NE(lesson.find("../run attend --query x.npy"), std::string::npos) << lesson;
}

TEST(TheScript, tells_the_program_how_it_was_started) {
  const std::string script = base::read_all(
      *base::open_input(base::real_files(), tests::source_folder() + "/run"), 1 << 20);
  EXPECT_NE(script.find("HEADLIGHT_STARTED_AS=$0 exec \"$program\""), std::string::npos);
}

TEST(Info, lists_embedded_models_with_purpose_size_and_an_example) {
  const ProgramRun run = run_program({"info"});
  ASSERT_EQ(run.code, 0) << run.errors;
  std::string one_line = run.output;
  std::ranges::replace(one_line, '\n', ' ');
  const io::Json json = io::parse_json(run_program({"info", "--json"}).output, "info");
  const io::Json::Array& models = *json.find("embedded")->array();
  ASSERT_EQ(models.size(), recipes::embedded_models().size());
  for (const io::Json& model : models) {
    const std::string& name = *model.find("name")->text();
    SCOPED_TRACE(name);
    EXPECT_GT(*model.find("parameters")->integer(), 100);
    EXPECT_GT(*model.find("bytes")->integer(), 1000);
    EXPECT_NE(one_line.find(name + ": " + *model.find("purpose")->text()), std::string::npos);
    EXPECT_NE(one_line.find(*model.find("example")->text()), std::string::npos);
    const ProgramRun example = run_program(recipes::embedded_example(name));
    EXPECT_EQ(example.code, 0) << example.errors;
    EXPECT_GT(example.output.size(), 1U);
  }
  EXPECT_EQ(json.find("models")->array()->size(), models.size());
  const ProgramRun turkish = run_program({"info", "--lang", "tr"});
  EXPECT_NE(turkish.output.find("parametre"), std::string::npos) << turkish.output;
}

TEST(Info, fits_the_terminal) {
  for (const char* language : {"en", "tr", "az", "ko"}) {
    Terminal terminal({"info", "--lang", language}, {.columns = 45});
    EXPECT_EQ(terminal.finish(), 0);
    EXPECT_EQ(terminal.screen().broken_lines(), Words{});
  }
}

}  // namespace
}  // namespace headlight::test
