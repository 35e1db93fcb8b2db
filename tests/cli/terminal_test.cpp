// What a person at a terminal sees: lines that fit, progress that leaves nothing behind, what is
// waited for, why a text ends.
#include "tests/cli/terminal.h"

#include <gtest/gtest.h>

#include <regex>

#include "headlight/narrate/narrate.h"
#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

struct Seat {
  int columns;
  std::string language;
};

class AtATerminal : public testing::TestWithParam<Seat> {
 protected:
  TerminalOptions options() const { return {.columns = GetParam().columns}; }
  Words lang() const { return {"--lang", GetParam().language}; }
  std::string text(std::string_view key) const {
    return narrate::Catalogue::of(GetParam().language).text(key);
  }
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Widths, AtATerminal,
                         testing::Values(Seat{40, "en"}, Seat{80, "en"}, Seat{120, "en"},
                                         Seat{40, "tr"}, Seat{40, "az"}, Seat{40, "ko"},
                                         Seat{80, "ko"}),
                         [](const auto& info) {
                           return info.param.language + std::to_string(info.param.columns);
                         });

void expect_fits(const Terminal& terminal) {
  EXPECT_EQ(terminal.screen().broken_lines(), Words{}) << terminal.screen().text();
  EXPECT_EQ(terminal.screen().unknown(), Words{});
}

void expect_no_progress(const Terminal& terminal) {
  const std::string text = terminal.screen().text();
  for (const char* part : {"█", "░", "▁"}) EXPECT_EQ(text.find(part), text.npos) << text;
}

bool has_row(const Terminal& terminal, const std::string& part) {
  for (const std::string& row : terminal.screen().rows()) {
    if (row.find(part) != std::string::npos) return true;
  }
  return false;
}

// A run that only Ctrl-C ends.
Words endless(const std::string& folder) { return small_copy(folder, 1000000); }

TEST_P(AtATerminal, training_says_what_it_does_in_lines_that_fit) {
  Terminal terminal(small_copy(folder_ / "run", 60) + lang(), options());
  EXPECT_EQ(terminal.finish(), 0) << terminal.screen().text();
  expect_fits(terminal);
  expect_no_progress(terminal);
  EXPECT_TRUE(has_row(terminal, text("command.train.next"))) << terminal.screen().text();
  EXPECT_TRUE(has_row(terminal, "  headlight translate")) << terminal.screen().text();
}

TEST_P(AtATerminal, training_shows_a_line_that_fits_and_replaces_itself) {
  Terminal terminal(endless(folder_ / "run") + lang(), options());
  ASSERT_TRUE(terminal.wait_for("/1000000  ")) << terminal.screen().text();
  terminal.watch(std::chrono::milliseconds(300));
  if (GetParam().columns >= 80) {
    EXPECT_TRUE(terminal.wait_for("░"));
  }
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  expect_fits(terminal);
  expect_no_progress(terminal);
  EXPECT_TRUE(has_row(terminal, "--resume")) << terminal.screen().text();
}

class AResizedTerminal : public testing::TestWithParam<OnResize> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AResizedTerminal, testing::Values(OnResize::reflow, OnResize::cut),
                         [](const auto& info) {
                           return info.param == OnResize::reflow ? "reflows" : "cuts";
                         });

TEST_P(AResizedTerminal, keeps_nothing_of_the_line_that_was_too_long) {
  const TemporaryFolder folder;
  Terminal terminal(endless(folder / "run"), {.columns = 120, .on_resize = GetParam()});
  ASSERT_TRUE(terminal.wait_for("░"));
  for (const int columns : {50, 40, 100, 60}) {
    terminal.resize(columns);
    terminal.watch(std::chrono::milliseconds(400));
  }
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  expect_no_progress(terminal);
  EXPECT_TRUE(has_row(terminal, "parameters")) << terminal.screen().text();
}

TEST_P(AtATerminal, generating_without_a_prompt_says_what_it_waits_for) {
  Terminal terminal(Words{"generate", model_folders().gpt()} + lang(), options());
  const std::string waits = text("command.waits.prompt");
  ASSERT_TRUE(terminal.wait_for("Ctrl-D")) << terminal.screen().text();
  EXPECT_TRUE(has_row(terminal, waits.substr(0, waits.find(' '))));
  terminal.type("a\n\x04");
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_TRUE(has_row(terminal, ModelFolders::kScript)) << terminal.screen().text();
  const std::string ended = text("command.generate.end");
  EXPECT_TRUE(has_row(terminal, ended.substr(0, ended.find(' ')))) << terminal.screen().text();
  expect_fits(terminal);
}

TEST(Generating, at_a_terminal_says_why_it_ended) {
  const std::string gpt = model_folders().gpt();
  const auto screen_of = [&](const Words& more) {
    Terminal terminal(Words{"generate", gpt, "--prompt", "a"} + more);
    EXPECT_EQ(terminal.finish(), 0);
    return terminal.screen().text();
  };
  const auto expect_shown = [&](const Words& more, const std::string& part) {
    const std::string shown = screen_of(more);
    EXPECT_NE(shown.find(part), shown.npos) << shown;
  };
  expect_shown({"--max-new-tokens", "4"}, "ağaç\nEnded: reached the limit of new tokens (4)");
  expect_shown({"--stop", "yol"}, "Ended: reached the stop text");
  expect_shown({}, "Ended: the model gave its end token");
  expect_shown({"--beam", "2"}, "Ended: the model gave its end token");
  EXPECT_EQ(screen_of({"--quiet"}), ModelFolders::kScript);
  const auto bare = [&](const Words& more) {
    Terminal terminal(Words{"generate", model_folders().bare_gpt(), "--prompt-ids", "3"} + more);
    EXPECT_EQ(terminal.finish(), 0);
    return terminal.screen().text();
  };
  EXPECT_NE(bare({"--context", "stop"}).find("the context of 14 tokens is full"),
            std::string::npos);
  EXPECT_NE(bare({"--beam", "2"}).find("a beam search does not go past it"), std::string::npos);
  EXPECT_NE(bare({"--max-new-tokens", "30"}).find("continues from the last 7"), std::string::npos);
}

TEST_P(AtATerminal, lines_are_asked_for_and_answered_one_by_one) {
  Terminal terminal(Words{"translate", model_folders().translator()} + lang(), options());
  const std::string waits = text("command.waits.lines");
  ASSERT_TRUE(terminal.wait_for("Ctrl-D")) << terminal.screen().text();
  EXPECT_TRUE(has_row(terminal, waits.substr(0, waits.find(' '))));
  const std::string answer =
      run_program({"translate", model_folders().translator(), "--text", "abc"}).output;
  terminal.type("abc\n");
  ASSERT_TRUE(terminal.wait_for(answer.substr(0, answer.find_first_of(" \n"))));
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(), 0);
}

TEST(Waiting, is_told_by_every_command_that_reads_the_keyboard) {
  for (const Words& words : {Words{"embed", model_folders().encoder()},
                             {"tokenize", model_folders().gpt()},
                             {"tokenize", model_folders().gpt(), "--json"}}) {
    SCOPED_TRACE(words[0]);
    Terminal terminal(words);
    EXPECT_TRUE(terminal.wait_for("Waiting for")) << terminal.screen().text();
    terminal.type("a\n\x04");
    EXPECT_EQ(terminal.finish(), words[0] == "tokenize" ? 3 : 0);  // no token for a line break
  }
  for (const Words& words : {Words{"generate", model_folders().gpt(), "--quiet"},
                             {"generate", model_folders().gpt(), "--prompt", "a"}}) {
    Terminal terminal(words);
    if (words.back() == "--quiet") terminal.type("a\n\x04");
    EXPECT_EQ(terminal.finish(), 0);
    EXPECT_EQ(terminal.screen().text().find("Waiting"), std::string::npos);
  }
}

// A text that takes seconds to evaluate.
std::string long_story(int lines) {
  std::string story;
  for (int i = 0; i < lines; ++i) story += "Anna has three apples. She gives one to Ben.\n";
  return story;
}

TEST_P(AtATerminal, long_work_shows_progress_that_fits) {
  const std::string story = folder_.put("story.txt", long_story(60000));
  Terminal terminal(Words{"evaluate", "stories", "--data", story, "--threads", "1"} + lang(),
                    options());
  ASSERT_TRUE(terminal.wait_for(text("command.progress.evaluating"))) << terminal.screen().text();
  EXPECT_TRUE(terminal.wait_for("%"));
  expect_fits(terminal);
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_FALSE(has_row(terminal, text("command.progress.evaluating")));
}

TEST_P(AtATerminal, an_exam_shows_how_much_is_done_and_how_long_the_rest_takes) {
  const std::string left = text("command.progress.left");
  Terminal terminal(Words{"evaluate", "numbers", "--task", "numbers", "--threads", "1"} + lang(),
                    options());
  ASSERT_TRUE(terminal.wait_for("%")) << terminal.screen().text();
  const std::string time = left.substr(left.find('}') + 1);  // " left"; before or after the time
  if (GetParam().columns >= 80 && !time.empty()) {
    EXPECT_TRUE(terminal.wait_for(time)) << terminal.screen().text();
  }
  expect_fits(terminal);
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
}

TEST_P(AtATerminal, tables_of_measurements_fit) {
  Terminal terminal(
      Words{"bench", "--quick", "--only", "attention-forward-backward-causal"} + lang(), options());
  EXPECT_EQ(terminal.finish(), 0);
  expect_fits(terminal);
  EXPECT_TRUE(has_row(terminal, "GFLOP/s")) << terminal.screen().text();
}

TEST(Matrices, have_as_many_columns_as_the_terminal_has_room_for) {
  const TemporaryFolder folder;
  const std::string row = "[10,-2,3,4,5,6,7,8,9,10,11,12]";
  const std::string query = folder.put("q.json", "[" + row + "," + row + "]");
  Terminal terminal({"attend", "--query", query}, {.columns = 80});
  EXPECT_EQ(terminal.finish(), 0) << terminal.screen().text();
  expect_fits(terminal);
  EXPECT_TRUE(has_row(terminal, "10.0000  -2.0000   3.0000      ...  10.0000"))
      << terminal.screen().text();
  EXPECT_TRUE(has_row(terminal, "(abbreviated: --out FILE")) << terminal.screen().text();
  EXPECT_NE(run_program({"attend", "--query", query}).output.find("7.0000"), std::string::npos)
      << "programs read all of them";
}

// What takes longer than a second says so, whatever the command.
TEST(LongWork, of_every_command_is_told) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += "one hundred forty-two\n";
  const std::string text = folder.put("lines.txt", lines);
  const std::string long_query = write_numbers(folder / "q.npy", {1, 40'000, 64});
  std::string ids = "[";
  for (int i = 0; i < 60'000; ++i) ids += std::string(i > 0 ? "," : "") + "[3,4,5,6,7,8,9,3,4,5,6]";
  const std::string many = folder.put("ids.json", ids + "]");
  struct Long {
    Words words;
    std::string input, told;
  };
  for (const Long& work : std::vector<Long>{
           {{"attend", "--query", long_query, "--out", folder / "o.npy"}, "", "Computing"},
           {{"forward", model_folders().bare_gpt(), "--ids", many, "--trace",
             folder / "t.safetensors"},
            "",
            "Computing"},
           {{"translate", "numbers"}, text, "Writing"},
           {{"embed", model_folders().encoder()}, text, "Computing"}}) {
    SCOPED_TRACE(work.words[0]);
    Terminal terminal(work.words + Words{"--threads", "1"},
                      {.input_path = work.input, .output_path = folder / "output"});
    EXPECT_TRUE(terminal.wait_for(work.told)) << terminal.screen().text();
    terminal.type("\x03");
    terminal.finish();
    EXPECT_FALSE(has_row(terminal, work.told)) << terminal.screen().text();
  }
}

TEST(LongWork, of_a_lesson_is_told) {
  const TemporaryFolder folder;
  Terminal terminal({"lesson", "from-scratch", "--format", "html", "--out", folder / "l.html",
                     "--lang", "en", "--threads", "1"},
                    {.columns = 40});
  ASSERT_TRUE(terminal.wait_for("Computing")) << terminal.screen().text();
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_FALSE(has_row(terminal, "Computing")) << terminal.screen().text();
  EXPECT_TRUE(has_row(terminal, "Written: ")) << terminal.screen().text();
}

// "1 steps", in whatever is told by programs of one of everything.
TEST(OneOfEach, is_told_in_the_singular) {
  const TemporaryFolder folder;
  Terminal limit({"generate", model_folders().gpt(), "--prompt", "a", "--max-new-tokens", "1"});
  EXPECT_EQ(limit.finish(), 0);
  const std::string train = run_program(small_copy(folder / "run", 1)).errors;
  EXPECT_NE(train.find("\n1 step · "), std::string::npos) << train;
  const std::regex plural("(^|[^0-9.,])1 (new )?[a-z]+s\\b");
  for (const std::string& told :
       {limit.screen().text(), train, run_program({"info", "thrones"}).output,
        run_program({"bench", "--quick", "--only", "limits", "--threads", "1"}).output}) {
    EXPECT_FALSE(std::regex_search(told, plural)) << told;
  }
}

TEST(LongWork, that_is_done_takes_its_progress_away) {
  const TemporaryFolder folder;
  const std::string story = folder.put("story.txt", long_story(20000));
  Terminal terminal({"evaluate", "stories", "--data", story, "--threads", "1"});
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_NE(terminal.bytes().find("%"), std::string::npos);
  EXPECT_FALSE(has_row(terminal, "%"));
  EXPECT_TRUE(has_row(terminal, "perplexity"));
}

TEST(LongWork, tells_nothing_where_nobody_looks) {
  const TemporaryFolder folder;
  Terminal quiet({"bench", "--quick", "--only", "matmul", "--quiet"});
  EXPECT_EQ(quiet.finish(), 0);
  EXPECT_EQ(quiet.bytes().find('\x1b'), std::string::npos);
  const ProgramRun run = run_program({"bench", "--quick", "--only", "matmul"});
  EXPECT_EQ(run.errors, "");
}

TEST(LongWork, of_a_terminal_that_knows_lines_alone_is_told_in_lines_alone) {
  const TemporaryFolder folder;
  Terminal terminal(small_copy(folder / "run", 60), {.set = {"TERM=dumb"}});
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_EQ(terminal.bytes().find('\x1b'), std::string::npos) << terminal.bytes();
  EXPECT_NE(terminal.bytes().find("Done in"), std::string::npos);
}

TEST(LongWork, of_bench_names_what_is_measured_and_leaves_no_line_behind) {
  Terminal terminal({"bench", "--only", "matmul"}, {.columns = 40});
  ASSERT_TRUE(terminal.wait_for("Measuring"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_FALSE(has_row(terminal, "Measuring")) << terminal.screen().text();
}

}  // namespace
}  // namespace headlight::test
