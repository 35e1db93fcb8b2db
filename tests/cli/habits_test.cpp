// What people type who come from other programs, and what is merely mistyped: the answer names what
// is meant, and nothing where nothing is near.
#include <gtest/gtest.h>

#include "headlight/recipes/recipes.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

struct Habit {
  Words words;
  std::string part;
};

void expect_answers(const std::vector<Habit>& habits) {
  for (const auto& [words, part] : habits) {
    std::string line = "headlight";
    for (const std::string& word : words) line += " " + word;
    SCOPED_TRACE(line);
    expect_one_line(run_program(words), 2, part);
  }
}

void expect_no_nearest(const ProgramRun& run) {
  EXPECT_NE(run.code, 0);
  EXPECT_EQ(run.errors.find("nearest"), std::string::npos) << run.errors;
}

TEST(Habits, of_training_are_told_the_key) {
  expect_answers({
      {{"train", "--lr", "1e-3"}, "here it is learning_rate: --learning-rate X"},
      {{"train", "--lr=1e-3"}, "here it is learning_rate: --learning-rate X"},
      {{"train", "--epochs", "3"}, "training is counted in steps: --max-iters N; one epoch is"},
      {{"train", "--num_train_epochs", "3"}, "counted in steps"},
      {{"train", "--steps", "3"}, "here it is max_iters: --max-iters N"},
      {{"train", "--max_steps", "3"}, "here it is max_iters"},
      {{"train", "--batch", "8"}, "here it is batch_size: --batch-size N"},
      {{"train", "--per_device_train_batch_size", "8"}, "batch_size"},
      {{"train", "--layers", "2"}, "here it is n_layer: --n-layer N"},
      {{"train", "--heads", "2"}, "here it is n_head"},
      {{"train", "--hidden-size", "2"}, "here it is n_embd"},
      {{"train", "--seq-len", "64"}, "here it is block_size"},
      {{"train", "--output_dir", "x"}, "here it is --out DIR"},
      {{"train", "-o", "x"}, "here it is --out DIR"},
      {{"train", "--model", "x"}, "here it is --init DIR"},
      {{"train", "--vocab-size", "300"}, "--tokenizer bpe:8000"},
      {{"train", "--device", "cuda"}, "computed on the processor; --threads"},
      {{"train", "--fp16"}, "32-bit floats"},
      {{"train", "--wandb"}, "log.jsonl"},
  });
  EXPECT_EQ(run_program({"train", "--batch-size", "8"}).errors.find("unknown"), std::string::npos);
}

TEST(Habits, of_the_other_commands_are_told_the_option) {
  expect_answers({
      {{"generate", "m", "--max-tokens", "5"}, "here it is --max-new-tokens N"},
      {{"generate", "m", "--n_predict", "5"}, "here it is --max-new-tokens N"},
      {{"generate", "m", "-n", "5"}, "here it is --max-new-tokens N"},
      {{"generate", "m", "-p", "hello"}, "here it is --prompt TEXT"},
      {{"generate", "m", "--start", "hello"}, "here it is --prompt TEXT"},
      {{"generate", "--model", "m"}, "the model is a word of its own"},
      {{"generate", "-m", "m"}, "the model is a word of its own"},
      {{"generate", "m", "--temp", "1"}, "here it is --temperature T"},
      {{"generate", "m", "--num_beams", "4"}, "here it is --beam N"},
      {{"generate", "m", "--do-sample"}, "--temperature T samples"},
      {{"generate", "m", "--num-samples", "4"}, "--seed N gives another"},
      {{"generate", "m", "--ctx-size", "4"}, "--context slide|stop"},
      {{"generate", "m", "-ngl", "99"}, "computed on the processor"},
      {{"generate", "m", "-t", "4"}, "here it is --threads N"},
      {{"chat", "m", "--prompt", "Hi"}, "`headlight generate MODEL --prompt TEXT`"},
      {{"chat", "m", "--beam", "3"}, "`headlight generate MODEL --beam N` searches"},
      {{"chat", "m", "--temp", "1"}, "here it is --temperature T"},
      {{"chat", "m", "--system-prompt", "x"}, "here it is --system TEXT"},
      {{"translate", "m", "--input", "hello"}, "here it is --text TEXT"},
      {{"explain", "--prompt", "hello"}, "here it is --text TEXT"},
      {{"explain", "--output", "x.html"}, "here it is --out FILE"},
      {{"evaluate", "m", "--dataset", "x"}, "here it is --data PATH"},
      {{"attend", "-q", "x.npy"}, "here it is --query FILE"},
      {{"attend", "--is_causal"}, "here it is --causal"},
      {{"info", "--verbose"}, "unless --quiet"},
      {{"--language", "tr"}, "here it is --lang en|tr|az|ko"},
  });
}

TEST(Habits, of_commands_are_told_the_command) {
  expect_answers({
      {{"ls"}, R"(unknown command ("ls"): `headlight info` lists the models)"},
      {{"list"}, "`headlight info` lists the models"},
      {{"run", "stories"}, "`headlight generate MODEL --prompt TEXT` continues a text"},
      {{"talk", "stories"}, "`headlight chat MODEL`"},
      {{"pull", "llama3"}, "nothing is downloaded"},
      {{"eval"}, "`headlight evaluate MODEL --data PATH`"},
      {{"finetune"}, "--init MODEL"},
      {{"tutorial"}, "`headlight lesson`"},
      {{"benchmark"}, "`headlight bench`"},
      {{"detokenize"}, "--decode 1,2,3"},
      {{"quantize"}, R"(unknown command ("quantize"): `headlight --help` lists all)"},
  });
}

TEST(Habits, that_ask_for_the_version_or_help_get_it) {
  const std::string version = run_program({"--version"}).output;
  for (const Words& words : {Words{"version"}, {"-V"}, {"-v"}, {"version", "--json"}}) {
    const ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    EXPECT_EQ(run.output, version);
  }
  const std::string help = run_program({"train", "--help"}).output;
  EXPECT_EQ(run_program({"train", "help"}).output, help);
  EXPECT_EQ(run_program({"help", "train"}).output, help);
  EXPECT_EQ(run_program({"train", "-h"}).output, help);
  EXPECT_EQ(run_program({"generate", "help"}).output, run_program({"help", "generate"}).output);
  EXPECT_EQ(run_program({"help", "help"}).output, run_program({"-h"}).output);
  expect_one_line(run_program({"train", "-v"}), 2, "--version shows the version");
}

TEST(AWordTooMany, is_told_the_option_that_it_may_be_meant_for) {
  expect_one_line(
      run_program({"train", "play.txt"}), 2,
      R"(unexpected argument ("play.txt"): train takes only options, such as --data PATH)");
  expect_one_line(run_program({"generate", "m", "Once"}), 2, "such as --prompt TEXT");
}

TEST(Habits, in_a_file_are_told_the_key) {
  const TemporaryFolder folder;
  const auto run_with = [&](const std::string& line) {
    return run_program({"train", "--task", "copy", "--out", folder / "run", "--config",
                        folder.put("run.toml", line + "\n")});
  };
  expect_one_line(run_with("lr = 0.1"), 3, R"(line 1 ("lr"): is no key; here it is learning_rate)");
  expect_one_line(run_with("epochs = 3"), 3, "counted in steps");
  expect_no_nearest(run_with("colour = 3"));
}

// Every answer of the table names an option that is there.
TEST(Habits, name_options_that_commands_have) {
  for (const char* command : {"train", "generate", "translate", "evaluate", "explain", "embed",
                              "tokenize", "forward", "attend"}) {
    const std::string help = run_program({command, "--help"}).output;
    for (const char* typed :
         {"lr",     "steps",  "p",     "m",    "n",         "t",     "q",    "o",
          "text",   "prompt", "input", "file", "ids",       "beams", "temp", "dataset",
          "labels", "mask",   "layer", "head", "num-heads", "dim"}) {
      const recipes::HabitAnswer answer = recipes::answer_to_option(command, typed);
      if (answer.option.empty() || answer.option == "out") continue;
      EXPECT_NE(help.find("--" + std::string(answer.option) + " "), std::string::npos)
          << command << " " << typed << " " << answer.option;
    }
  }
}

TEST(TheNearest, is_not_named_when_nothing_is_near) {
  const TemporaryFolder folder;
  for (const Words& words : {Words{"xyzzy"},
                             {"--frobnicate"},
                             {"train", "--frobnicate", "1"},
                             {"attend", "-z"},
                             {"lesson", "geometry"},
                             {"train", "--task", "copy", "--preset", "enormous", "--out", "x"},
                             {"bench", "--only", "everything"},
                             {"bench", "--lang", "de"},
                             {"info", folder / "nothing"}}) {
    SCOPED_TRACE(words.back());
    expect_no_nearest(run_program(words));
  }
}

TEST(TheNearest, is_named_when_it_is_near) {
  expect_one_line(run_program({"lesson", "nanogtp"}), 2, "; the nearest is nanogpt");
  expect_one_line(run_program({"info", "thornes"}), 3, "; the nearest is thrones");
  expect_one_line(run_program({"generate", "m", "--repetition-penlaty", "2"}), 2,
                  "the nearest is --repetition-penalty");
  expect_one_line(run_program({"generate", "m", "--temper", "2"}), 2,
                  "the nearest is --temperature");
}

TEST(Ranges, are_told_in_numbers_that_can_be_read) {
  const auto wrong = [](const Words& words) { return run_program(words).errors; };
  EXPECT_EQ(wrong({"train", "--task", "copy", "--out", "x", "--max_iters", "0"}),
            "headlight: --max-iters (\"0\"): must be a whole number, at least 1\n");
  EXPECT_EQ(wrong({"generate", "m", "--top-k", "-1"}),
            "headlight: --top-k (\"-1\"): must be a whole number, at least 0\n");
  EXPECT_EQ(wrong({"generate", "m", "--temperature", "warm"}),
            "headlight: --temperature (\"warm\"): must be a number, at least 0\n");
  EXPECT_EQ(wrong({"attend", "--query", "x.npy", "--scale", "big"}),
            "headlight: --scale (\"big\"): must be a number\n");
  EXPECT_EQ(wrong({"attend", "--query", "x.npy", "--scale", "1e300"}),
            "headlight: --scale (\"1e300\"): must be a number from -3.4e+38 to 3.4e+38\n");
  EXPECT_EQ(wrong({"bench", "--seed", "9223372036854775808"}),
            "headlight: --seed (\"9223372036854775808\"): must be a whole number from 0 to "
            "9,223,372,036,854,775,807\n");
  EXPECT_EQ(wrong({"bench", "--threads", "0"}),
            "headlight: --threads (\"0\"): must be a whole number from 1 to 1024\n");
  EXPECT_EQ(wrong({"train", "--task", "copy", "--out", "x", "--n_embd", "0"}),
            "headlight: --n-embd (\"0\"): must be a whole number from 1 to 1,048,576\n");
}

TEST(AnEmptyText, is_a_text) {
  const std::string gpt = model_folders().gpt();
  const ProgramRun free = run_program({"generate", gpt}, {.input_path = "/dev/null"});
  EXPECT_EQ(run_program({"generate", gpt, "--prompt", ""}).output, free.output);
  EXPECT_EQ(run_program({"generate", gpt, "--prompt="}).output, free.output);
  expect_one_line(run_program({"generate", gpt, "--prompt", "a", "--stop="}), 2,
                  "--stop (\"\"): an empty stop text");
  EXPECT_EQ(run_program({"translate", model_folders().translator(), "--text", ""}).output, "\n");
  const ProgramRun tokens = run_program({"tokenize", gpt, "--text", "", "--json"});
  EXPECT_EQ(tokens.output, "{\"ids\":[],\"tokens\":[]}\n") << tokens.errors;
  EXPECT_EQ(run_program({"tokenize", gpt, "--text="}).output, "");
  const TemporaryFolder folder;
  EXPECT_EQ(run_program({"embed", model_folders().encoder(), "--text", ""}).output,
            run_program({"embed", model_folders().encoder()},
                        {.input_path = folder.put("line.txt", "\n")})
                .output);
  expect_one_line(run_program({"explain", "--text", ""}), 2, "--text: is empty: there is no word");
  expect_one_line(run_program({"explain", "--text", "you", "--target="}), 2, "--target: is empty");
}

TEST(AnEmptyName, is_still_missing) {
  for (const Words& words : {Words{"generate", "m", "--prompt-file", ""},
                             {"explain", "--text", "a", "--out="},
                             {"train", "--data", ""},
                             {"bench", "--threads="}}) {
    expect_one_line(run_program(words), 2, "a value is missing");
  }
}

}  // namespace
}  // namespace headlight::test
