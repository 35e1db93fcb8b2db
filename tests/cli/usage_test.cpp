// Wrong command lines: exit 2, one line that says what is wrong and what would be right. None of
// the files named exists.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace headlight::test {
namespace {

struct WrongUsage {
  std::vector<std::string> arguments;
  std::string part;
  std::vector<std::string> environment = {};
};

const std::vector<WrongUsage> kWrongCommands = {
    {{"atend"}, R"(unknown command ("atend"): the nearest is attend)"},
    {{"benhc", "--quick"}, "the nearest is bench"},
    {{"ATTEND"}, "unknown command"},
    {{""}, R"(unknown command (""))"},
    {{"\xff\xfe"}, "unknown command"},
    {{"attend\nbench"}, "unknown command"},
    {{std::string(100000, 'a')}, "unknown command"},
    {{"help", "atend"}, "the nearest is attend"},
    {{"--", "--version"}, "unknown command"},
    {{"--json"}, "command: is missing"},
    {{"attend", "q.npy"}, R"(unexpected argument ("q.npy"): attend takes only options)"},
    {{"attend", "--query", "q.npy", "k.npy"}, "unexpected argument"},
    {{"bench", "quick"}, "unexpected argument"},
    {{"attend", "-"}, "unexpected argument"},
};

const std::vector<WrongUsage> kWordsTooMany = {
    {{"generate", "stories", "--prompt", "Hello", "world"},
     R"(unexpected argument ("world"): several words are one value in quotes: --prompt "Hello world")"},
    {{"generate", "stories", "--prompt", "Hello", "big", "world", "--seed", "1"},
     R"(--prompt "Hello big world")"},
    {{"explain", "--text", "When", "you", "play"}, R"(--text "When you play")"},
    {{"explain", "--text", "When", "you", "play", "--target", "you", "win"},
     R"(("play"): several words are one value in quotes: --text "When you play")"},
    // A model that is there is one, and only what follows is too much.
    {{"generate", "--prompt", "Hello", "stories", "big"},
     R"(("big"): generate takes one MODEL and options)"},
    {{"generate", "stories", "--prompt=Hello", "world"}, "generate takes one MODEL and options"},
    {{"attend", "--query", "q.npy", "k.npy"}, "--query takes one file"},
    {{"train", "--data", "a.txt", "b.txt", "--task", "lm"}, "--data takes one file"},
    {{"tokenize", "stories", "--decode", "1", "2"},
     "--decode takes numbers or names with commas and without blanks: --decode 1,2,3"},
    {{"attend", "--query", "q.npy", "--causal", "true"},
     "--causal takes no value: it is on where it is given"},
    {{"attend", "--query", "q.npy", "--causal", "k.npy"}, "attend takes only options"},
    {{"train", "--seed", "1", "2"}, "--seed takes one value"},
};

const std::vector<WrongUsage> kWrongOptions = {
    {{"--verison"}, R"(unknown option ("--verison"): the nearest is --version)"},
    {{"--thread", "2", "attend"}, "the nearest is --threads"},
    {{"attend", "--haeds", "2"}, R"(unknown option ("--haeds"): the nearest is --heads)"},
    {{"attend", "--kvheads=2"}, "the nearest is --kv-heads"},
    {{"attend", "--valid_len", "3"}, "the nearest is --valid-lens"},
    {{"attend", "--quick"}, "unknown option"},
    {{"attend", "-q", "x.npy"}, R"(unknown option ("-q"))"},
    {{"attend", "-3"}, "unknown option"},
    {{"attend", "---query", "x.npy"}, "the nearest is --query"},
    {{"attend", "--\xff\xff"}, "unknown option"},
    {{"attend", "--" + std::string(5000, 'x')}, "unknown option"},
    {{"attend", "--query"}, "--query: a value is missing: --query FILE"},
    {{"attend", "--query", "--key", "k.npy"}, "--query: a value is missing"},
    {{"attend", "--query="}, "a value is missing"},
    {{"attend", "--query", ""}, "a value is missing"},
    {{"attend", "--query", "a.npy", "--query", "b.npy"}, "--query: is given twice"},
    {{"--threads", "2", "attend", "--threads", "2"}, "--threads: is given twice"},
    {{"attend", "--causal=yes"}, R"(--causal ("yes"): takes no value)"},
    {{"attend"}, "--query: is missing"},
    {{"attend", "--json"}, "--query: is missing"},
};

const std::vector<WrongUsage> kWrongNumbers = {
    {{"bench", "--threads", "0"}, R"(--threads ("0"): must be a whole number from 1 to 1024)"},
    {{"bench", "--threads", "-1"}, "from 1 to 1024"},
    {{"bench", "--threads", "1000000"}, "from 1 to 1024"},
    {{"bench", "--threads", "two"}, "must be a whole number"},
    {{"bench", "--threads", "2.0"}, "must be a whole number"},
    {{"bench", "--threads", "2 "}, "must be a whole number"},
    {{"bench", "--threads", " 2"}, "must be a whole number"},
    {{"bench", "--threads", "+2"}, "must be a whole number"},
    {{"bench", "--threads", "0x2"}, "must be a whole number"},
    {{"bench", "--threads", "99999999999999999999999"}, "must be a whole number"},
    {{"bench", "--threads", "2\n3"}, "must be a whole number"},
    {{"bench", "--seed", "-1"}, "--seed"},
    {{"bench", "--seed", "9223372036854775808"}, "to 9,223,372,036,854,775,807"},
    {{"attend", "--query", "x.npy", "--heads", "0"}, "--heads"},
    {{"attend", "--query", "x.npy", "--heads", "nan"}, "--heads"},
    {{"attend", "--query", "x.npy", "--kv-heads", "-2"}, "--kv-heads"},
    {{"attend", "--query", "x.npy", "--scale", "nan"}, "--scale"},
    {{"attend", "--query", "x.npy", "--scale", "inf"}, "--scale"},
    {{"attend", "--query", "x.npy", "--scale", "-infinity"}, "--scale"},
    {{"attend", "--query", "x.npy", "--scale", "1e300"}, "--scale"},
    {{"attend", "--query", "x.npy", "--scale", "1e999"}, "--scale"},
    {{"attend", "--query", "x.npy", "--scale", "0,5"}, R"(--scale ("0,5"): must be a number)"},
    {{"attend", "--query", "x.npy", "--scale", "1/8"}, "--scale"},
    {{"attend", "--query", "x.npy", "--softcap", "-1"}, "--softcap"},
    {{"attend", "--query", "x.npy", "--window", "0"}, "--window"},
    {{"attend", "--query", "x.npy", "--window", "9223372036854775807"}, "--window"},
    {{"attend", "--query", "x.npy", "--past", "1.5"}, R"(--past ("1.5"))"},
    {{"attend", "--query", "x.npy", "--past", "9223372036854775807"}, "--past"},
    {{"attend", "--query", "x.npy", "--past", "1,,2"}, R"(--past (""))"},
    {{"attend", "--query", "x.npy", "--past", "1,2,"}, "--past"},
    {{"attend", "--query", "x.npy", "--valid-lens", "-1"}, "--valid-lens"},
    {{"attend", "--query", "x.npy", "--valid-lens", "3;2"}, "--valid-lens"},
};

const std::vector<WrongUsage> kWrongChoices = {
    {{"bench", "--lang", "de"}, "must be one of en, tr, az, ko"},
    {{"bench", "--lang", "TR"}, "must be one of en, tr, az, ko; the nearest is tr"},
    {{"bench", "--lang", "\xc3\x28"}, "must be one of"},
    {{"bench", "--simd", "avx1024"}, "avx512, avx2, sse4, scalar"},
    {{"bench", "--only", "atention"}, "the nearest is attention"},
    {{"bench", "--only", "attention-"}, "the nearest is"},
    {{"attend", "--query", "x.npy", "--scoring", "add"}, "must be one of dot, additive"},
    {{"attend", "--query", "x.npy", "--weights", "w.safetensors", "--layout", "gpt3"},
     "the nearest is gpt2"},
    {{"attend", "--query", "x.txt"}, "the ending must be .npy, .safetensors, .json or .csv"},
    {{"attend", "--query", "x"}, "the ending must be"},
    {{"attend", "--query", "[[1,2],[3,4]]"}, "an array is a file"},
    {{"attend", "--query", "x.npy", "--out", "y.png"}, "--out"},
    {{"attend", "--query", "x.npy", "--keep-mask", "m.pt"}, "--keep-mask"},
    {{"attend", "--query", "x.npy", "--trace", "t.npy"}, "the ending must be .safetensors"},
    {{"attend", "--query", "x.npy", "--grad-out", "g.npy", "--grads", "g.json"}, "--grads"},
};

const std::vector<WrongUsage> kContradictions = {
    {{"attend", "--query", "x.npy", "--grads", "g.safetensors"}, "--grads: needs --grad-out"},
    {{"attend", "--query", "x.npy", "--grad-out", "g.npy"}, "--grad-out: needs --grads"},
    {{"attend", "--query", "x.npy", "--layout", "d2l"}, "--layout: needs --weights"},
    {{"attend", "--query", "x.npy", "--scoring", "additive"}, "--scoring: needs --weights"},
    {{"attend", "--query", "x.npy", "--scoring", "additive", "--weights", "w.safetensors",
      "--heads", "2"},
     "one head"},
    {{"attend", "--query", "x.npy", "--scoring", "additive", "--weights", "w.safetensors",
      "--scale", "1"},
     "--scale: has no meaning"},
    {{"attend", "--query", "x.npy", "--scoring", "additive", "--weights", "w.safetensors",
      "--layout", "d2l"},
     "--layout: has no meaning"},
    {{"attend", "--query", "x.npy", "--out", "x.npy"},
     R"(--out ("x.npy"): is the file of --query)"},
    {{"attend", "--query", "q.npy", "--value", "v.safetensors:v", "--out", "v.safetensors"},
     "is the file of --value"},
    {{"attend", "--query", "x.npy", "--heads", "4", "--kv-heads", "3"}, "must divide the 4 heads"},
    {{"attend", "--query", "x.npy", "--out", "a.safetensors", "--trace", "a.safetensors"},
     R"(--trace ("a.safetensors"): is the file of --out; give another name)"},
    {{"attend", "--query", "x.npy", "--out", "a.safetensors:y", "--trace", "a.safetensors"},
     R"(--trace ("a.safetensors"): is the file of --out; give another name)"},
};

const std::vector<WrongUsage> kWrongEnvironment = {
    {{"bench"}, R"(HEADLIGHT_THREADS ("0"))", {"HEADLIGHT_THREADS=0"}},
    {{"bench"}, "avx512, avx2, sse4, scalar", {"HEADLIGHT_SIMD=neon"}},
    {{"bench"}, R"(HEADLIGHT_SIMD ("none"): must be one of avx512,)", {"HEADLIGHT_SIMD=none"}},
    {{"info", "--simd", "none"}, R"(--simd ("none"): must be one of avx512,)"},
    {{"bench"}, R"(HEADLIGHT_JSON ("maybe"): must be 1 or 0)", {"HEADLIGHT_JSON=maybe"}},
    {{"attend", "--query", "x.npy"}, "HEADLIGHT_KV_HEADS", {"HEADLIGHT_KV_HEADS=none"}},
    {{"attend"}, "--query: is missing", {"HEADLIGHT_QUERY="}},
};

void expect_usage_errors(const std::vector<WrongUsage>& cases) {
  for (const WrongUsage& wrong : cases) {
    std::string line = "headlight";
    for (const std::string& word : wrong.arguments) line += " " + word.substr(0, 40);
    SCOPED_TRACE(line);
    expect_one_line(run_program(wrong.arguments, {.set = wrong.environment}), 2, wrong.part);
  }
}

TEST(WrongUsage, of_commands_names_the_nearest) { expect_usage_errors(kWrongCommands); }
TEST(WrongUsage, of_words_too_many_says_what_they_were_meant_for) {
  expect_usage_errors(kWordsTooMany);
}
// Two words and a model that is not there: the second may be meant as the model.
TEST(WrongUsage, of_a_text_without_quotes_is_not_told_of_a_missing_model_alone) {
  expect_one_line(run_program({"explain", "--text", "hello", "world"}), 3,
                  R"(model (world): there is no such file or folder; several words are one value )"
                  R"(in quotes: --text "hello world")");
  EXPECT_EQ(run_program({"explain", "--text", "hello", "world", "--help"}).code, 0);
  EXPECT_EQ(run_program({"generate", "--prompt", "Anna has", "stories"}).code, 0);
}
TEST(WrongUsage, of_options_names_the_nearest) { expect_usage_errors(kWrongOptions); }
TEST(WrongUsage, of_numbers_names_their_range) { expect_usage_errors(kWrongNumbers); }
TEST(WrongUsage, of_choices_lists_them) { expect_usage_errors(kWrongChoices); }
TEST(WrongUsage, of_options_together_says_what_is_missing) { expect_usage_errors(kContradictions); }
TEST(WrongUsage, of_the_environment_names_the_variable) { expect_usage_errors(kWrongEnvironment); }

}  // namespace
}  // namespace headlight::test
