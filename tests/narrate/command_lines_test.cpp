// Lines of commands: they fit every width, in every language, and what matters least gives way
// first.
#include "headlight/narrate/command_lines.h"

#include <gtest/gtest.h>

#include "headlight/narrate/narrate.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

const Catalogue& english_lines() { return Catalogue::of("en"); }

recipes::TrainStep large_step() {
  return {.step = 12345,
          .max_iters = 600000,
          .train_loss = 10.8249,
          .tokens_per_second = 123456,
          .seconds_left = 123456};
}

const std::vector<double> kFallingLosses = {9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

bool shows(const std::string& line, const std::string& part) {
  return line.find(part) != std::string::npos;
}

TEST(Counts, are_shortened_as_the_language_does) {
  const auto count = [](const char* language, double number) {
    return count_text(Catalogue::of(language), number);
  };
  EXPECT_EQ(count("en", 0), "0");
  EXPECT_EQ(count("en", 999), "999");
  EXPECT_EQ(count("en", 1000), "1.0 K");
  EXPECT_EQ(count("en", 9940), "9.9 K");
  EXPECT_EQ(count("en", 9960), "10 K");
  EXPECT_EQ(count("en", 804096), "804 K");
  EXPECT_EQ(count("en", 1003854), "1.0 M");
  EXPECT_EQ(count("en", 124439808), "124 M");
  EXPECT_EQ(count("en", 1.5e9), "1.5 G");
  EXPECT_EQ(count("tr", 804096), "804 bin");
  EXPECT_EQ(count("tr", 1003854), "1,0 milyon");
  EXPECT_EQ(count("az", 1003854), "1,0 milyon");
  EXPECT_EQ(count("ko", 804096), "80만");
  EXPECT_EQ(count("ko", 9999), "9999");
  EXPECT_EQ(count("ko", 124439808), "1.2억");
}

TEST(Times, are_minutes_and_seconds_and_hours_where_there_are_some) {
  EXPECT_EQ(time_text(0), "0:00");
  EXPECT_EQ(time_text(140.4), "2:20");
  EXPECT_EQ(time_text(3725), "1:02:05");
  EXPECT_EQ(time_text(-1), "0:00");
  EXPECT_EQ(time_text(1e300), time_text(1e9));
}

TEST(Sizes, have_the_language_s_decimal_sign) {
  EXPECT_EQ(size_text(english_lines(), 1572864), "1.5 MiB");
  EXPECT_EQ(size_text(Catalogue::of("tr"), 1572864), "1,5 MiB");
  EXPECT_EQ(size_text(english_lines(), 12000), "12 KiB");
}

TEST(AStepOfTraining, fits_every_width) {
  for (const std::string_view language : languages()) {
    for (int64_t width = 39; width <= 200; ++width) {
      const std::string line =
          TrainingLines(Catalogue::of(language), width).step(large_step(), kFallingLosses);
      EXPECT_LE(text::columns(line), width) << line;
      EXPECT_TRUE(shows(line, "12345/600000")) << line;
    }
  }
}

// From wide to narrow the bar goes first, then the sparkline, then the rate.
TEST(AStepOfTraining, gives_way_in_its_order) {
  int64_t bar = 0, sparkline = 0, rate = 0;
  for (int64_t width = 200; width >= 39; --width) {
    const std::string line =
        TrainingLines(english_lines(), width).step(large_step(), kFallingLosses);
    if (shows(line, "░")) bar = width;
    if (shows(line, "▁")) sparkline = width;
    if (shows(line, "tokens/s")) rate = width;
    EXPECT_TRUE(shows(line, "loss 10.8249")) << line;
  }
  EXPECT_GT(bar, sparkline);
  EXPECT_GT(sparkline, rate);
  EXPECT_GT(rate, 39);
}

TEST(TheStartOfTraining, is_two_readable_lines) {
  const recipes::TrainStart event{.task = "lm",
                                  .parameters = 804096,
                                  .steps = 2000,
                                  .memory = "25.3 MiB",
                                  .estimated_seconds = 140,
                                  .train_tokens = 1003854,
                                  .epochs = 1.53};
  const auto lines = TrainingLines(english_lines(), 80).start(event, "shakespeare");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "804 K parameters · 1.0 M tokens · about 2:20");
  EXPECT_EQ(lines[1], "2000 steps · 1.5 epochs · 25.3 MiB of memory · in shakespeare");
  const auto turkish = TrainingLines(Catalogue::of("tr"), 80).start(event, "shakespeare");
  EXPECT_EQ(turkish[0], "804 bin parametre · 1,0 milyon belirteç · yaklaşık 2:20");
  EXPECT_TRUE(shows(turkish[1], "25,3 MiB")) << turkish[1];
  for (const std::string_view language : languages()) {
    for (const std::string& line :
         TrainingLines(Catalogue::of(language), 40).start(event, "shakespeare")) {
      EXPECT_LE(text::columns(line), 40) << line;
    }
  }
}

TEST(AnEvaluation, fits_and_shows_what_the_model_writes_without_obeying_it) {
  const recipes::TrainEvaluation event{.step = 250,
                                       .max_iters = 2000,
                                       .train_loss = 2.3456,
                                       .valid_loss = 2.4,
                                       .tokens_per_second = 12345,
                                       .seconds_left = 80,
                                       .sample = "to be\x1b[2J or not to be, that is the question"};
  const auto wide = TrainingLines(english_lines(), 120).evaluation(event);
  EXPECT_EQ(wide[0],
            "step 250/2000  train loss 2.3456  valid loss 2.4000  12 K tokens/s  1:20 left");
  EXPECT_EQ(wide[1].find('\x1b'), std::string::npos);
  for (const std::string_view language : languages()) {
    for (const std::string& line : TrainingLines(Catalogue::of(language), 40).evaluation(event)) {
      EXPECT_LE(text::columns(line), 40) << line;
    }
  }
}

TEST(TheEndOfTraining, gives_time_losses_and_the_command_to_go_on_with) {
  const recipes::TrainDone event{
      .step = 2000,
      .valid_loss = 1.68,
      .best_valid_loss = 1.67,
      .best_step = 1750,
      .next = {"generate", "--prompt", "First Citizen:", "--temperature 0.8"}};
  const TrainingLines::End end{
      .seconds = 138, .train_loss = 1.52, .program = "./run", .folder = "my plays"};
  EXPECT_EQ(TrainingLines(english_lines(), 100).done(event, end),
            (std::vector<std::string>{
                "Done in 2:18 · train loss 1.5200 · valid loss 1.6800 · best 1.6700 (step 1750)",
                "Try it:",
                R"(  ./run generate "my plays" --prompt "First Citizen:" --temperature 0.8)"}));
  const auto narrow = TrainingLines(english_lines(), 40).done(event, end);
  EXPECT_EQ(narrow[narrow.size() - 3], R"(  ./run generate "my plays" \)");
  EXPECT_EQ(narrow[narrow.size() - 2], R"(        --prompt "First Citizen:" \)");
  EXPECT_EQ(narrow.back(), "        --temperature 0.8");
  EXPECT_EQ(TrainingLines(english_lines(), 80).interrupted(7, end).back(),
            R"(  ./run train --out "my plays" --resume)");
}

TEST(TheEndOfTraining, tells_how_much_is_exactly_right) {
  const recipes::TrainDone event{.step = 10,
                                 .best_step = 10,
                                 .exact_match = recipes::ExactMatch{.all = 0.9987, .kinds = {}},
                                 .next = {"translate", "--text", "a", ""}};
  const auto lines = TrainingLines(Catalogue::of("tr"), 80).done(event, {.program = "headlight"});
  EXPECT_EQ(lines[1], "tam doğru: %99,9");
}

TEST(Progress, tells_how_far_and_how_long) {
  EXPECT_EQ(progress_line(english_lines(), "Reading m", {}, 3, 79), "Reading m …  0:03");
  const std::string line = progress_line(english_lines(), "Evaluating", 0.25, 10, 79);
  EXPECT_TRUE(shows(line, "25%") && shows(line, "0:30 left") && shows(line, "█")) << line;
  for (int64_t width = 20; width < 100; ++width) {
    for (const std::optional<double> share : {std::optional<double>(), std::optional(0.5)}) {
      const std::string fitting =
          progress_line(english_lines(), std::string(60, 'x') + "\n", share, 100, width);
      EXPECT_LE(text::columns(fitting), width) << fitting;
    }
  }
}

TEST(Progress, of_long_work_tells_early_how_long_it_will_take) {
  const std::string line = progress_line(english_lines(), "Evaluating", 0.002, 2, 79);
  EXPECT_TRUE(shows(line, "0%") && shows(line, "16:38 left")) << line;
}

TEST(ACommand, is_broken_so_that_it_can_still_be_copied) {
  EXPECT_EQ(wrapped_command("headlight train --data x", 80, "  "), "  headlight train --data x\n");
  EXPECT_EQ(wrapped_command(R"(headlight explain --text "When you play the game" --train)", 40),
            "headlight explain \\\n      --text \"When you play the game\" \\\n      --train\n");
}

TEST(AShell, reads_back_what_is_quoted_for_it) {
  EXPECT_EQ(shell_quoted("plain-name_1.txt"), "plain-name_1.txt");
  EXPECT_EQ(shell_quoted("two words"), "\"two words\"");
  EXPECT_EQ(shell_quoted("it's"), "\"it's\"");
  EXPECT_EQ(shell_quoted("costs $5 \"now\""), "'costs $5 \"now\"'");
  EXPECT_EQ(shell_quoted("a'b$"), R"('a'\''b$')");
  EXPECT_EQ(shell_quoted(""), "\"\"");
  EXPECT_EQ(shell_quoted("한국"), "한국");
}

TEST(Suggestions, have_a_command_and_below_it_what_it_does) {
  EXPECT_EQ(suggestions_text(english_lines(),
                             {{"./run lesson", "five lessons"},
                              {"./run --help", "everything else there is to do"}},
                             24),
            "Next, try:\n"
            "  ./run lesson\n"
            "      five lessons\n"
            "  ./run --help\n"
            "      everything else\n"
            "      there is to do\n");
}

TEST(ModelFacts, steer_no_terminal_whatever_names_a_file_has) {
  const std::string nasty = "\x1b]0;owned\x07 \u202e";
  recipes::GgufInformation gguf;
  gguf.architecture = gguf.name = gguf.tokenizer = gguf.refusal = nasty;
  gguf.settings.emplace("general." + nasty, nasty);
  recipes::ModelInformation folder;
  folder.config = io::Json::Object{{nasty, nasty}};
  for (const std::string& text :
       {gguf_text(english_lines(), gguf), model_text(english_lines(), folder)}) {
    EXPECT_EQ(text, text::printable_lines(text));
    EXPECT_TRUE(shows(text, "owned")) << text;
  }
}

}  // namespace
}  // namespace headlight::narrate
