// Wrong calls of generate, translate and embed: one line, and 2 when the command line alone is
// wrong, 3 when a text, a file or a model is.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

struct Wrong {
  std::vector<std::string> words;
  std::string part;
};

void expect_wrong(const std::vector<Wrong>& cases, int code,
                  const std::string& input = "/dev/null") {
  for (const Wrong& wrong : cases) {
    std::string line = "headlight";
    for (const std::string& word : wrong.words) line += " " + word.substr(0, 40);
    SCOPED_TRACE(line);
    expect_one_line(run_program(wrong.words, {.input_path = input}), code, wrong.part);
  }
}

TEST(WrongGeneration, is_known_from_the_command_line) {
  expect_wrong(
      {
          {{"generate"}, "MODEL: is missing"},
          {{"generate", "m", "n"}, "unexpected argument"},
          {{"generate", "m", "--promt", "a"}, "the nearest is --prompt"},
          {{"generate", "m", "--prompt"}, "a value is missing"},
          {{"generate", "m", "--prompt", "a", "--prompt-file", "f"}, "--prompt: has no meaning"},
          {{"generate", "m", "--prompt", "a", "--prompt-ids", "1"}, "no meaning with --prompt-ids"},
          {{"generate", "m", "--prompt-file", "f", "--prompt-ids", "1"}, "no meaning with"},
          {{"generate", "m", "--prompt-ids", "1", "--special"}, "--special: has no meaning"},
          {{"generate", "m", "--prompt", "a", "--encoding", "cp949"}, "--encoding: has no meaning"},
          {{"generate", "m", "--prompt-ids", "1,,2"}, "--prompt-ids"},
          {{"generate", "m", "--prompt-ids", "1,-2"}, R"(--prompt-ids ("-2"))"},
          {{"generate", "m", "--prompt-ids", "one"}, "must be a whole number"},
          {{"generate", "m", "--prompt-ids", "99999999999999999999"}, "must be a whole number"},
          {{"generate", "m", "--max-new-tokens", "-1"}, "from 0 to"},
          {{"generate", "m", "--max-new-tokens", "1.5"}, "whole number"},
          {{"generate", "m", "--temperature", "-0.1"}, "--temperature (\"-0.1\")"},
          {{"generate", "m", "--temperature", "nan"}, "--temperature"},
          {{"generate", "m", "--temperature", "inf"}, "--temperature"},
          {{"generate", "m", "--top-k", "-3"}, "--top-k"},
          {{"generate", "m", "--top-p", "1.01"}, "from 0 to 1"},
          {{"generate", "m", "--min-p", "2"}, "from 0 to 1"},
          {{"generate", "m", "--repetition-penalty", "0"}, "--repetition-penalty"},
          {{"generate", "m", "--beam", "0"}, "from 1 to 1024"},
          {{"generate", "m", "--beam", "2", "--temperature", "1"}, "no meaning with --beam"},
          {{"generate", "m", "--beam", "2", "--top-k", "5"}, "--top-k: has no meaning"},
          {{"generate", "m", "--length-penalty", "1"}, "needs --beam"},
          {{"generate", "m", "--seed", "-1"}, "--seed"},
          {{"generate", "m", "--heads-off", "decoder"}, "is not a head's name"},
          {{"generate", "m", "--heads-off", "decoder.0.self.-1"}, "is not a head's name"},
          {{"translate"}, "MODEL: is missing"},
          {{"translate", "m", "--text", "a", "--encoding", "cp949"}, "--encoding: has no meaning"},
          {{"translate", "m", "--beam", "five"}, "--beam"},
          {{"translate", "m", "--length-penalty", "2"}, "needs --beam"},
          {{"translate", "m", "--beam", "2", "--length-penalty", "nan"}, "--length-penalty"},
          {{"translate", "m", "--temperature", "1"}, "unknown option"},
          {{"embed"}, "MODEL: is missing"},
          {{"embed", "m", "--texts", "a"}, "the nearest is --text"},
      },
      2);
}

TEST(WrongGeneration, of_models_and_texts_says_which_and_why) {
  const ModelFolders& models = model_folders();
  const TemporaryFolder folder;
  const std::string latin = folder.put("latin.txt", "a\xe7 se\xe7 \xfe");
  const std::string empty = folder / "empty";
  std::filesystem::create_directory(empty);
  expect_wrong(
      {
          {{"generate", folder / "none", "--prompt", "a"}, "there is no such file or folder"},
          {{"generate", empty, "--prompt", "a"}, "config.json"},
          {{"generate", models.translator(), "--prompt", "a"}, "only a gpt2, llama"},
          {{"generate", models.encoder(), "--prompt", "a"}, "the model is a bert"},
          {{"generate", models.bare_gpt(), "--prompt", "a"}, "has no tokenizer"},
          {{"generate", models.bare_gpt(), "--prompt-ids", "3", "--stop", "a"},
           "needs a tokenizer"},
          {{"generate", models.gpt(), "--prompt", "\xff"}, "UTF-8"},
          {{"generate", models.gpt(), "--prompt", "a", "--stop", "\xff"}, "must be UTF-8"},
          {{"generate", models.gpt(), "--prompt", "Q"}, "Q"},
          {{"generate", models.gpt(), "--prompt", std::string(16, 'a')},
           "has 16 ids, the model's context is 14"},
          {{"generate", models.gpt(), "--prompt-ids", "700"}, "id 700 is not in"},
          {{"generate", models.gpt(), "--prompt-file", folder / "none.txt"}, "none.txt"},
          {{"generate", models.gpt(), "--prompt-file", latin}, "cp1254"},
          {{"generate", models.gpt(), "--prompt-file", empty}, "directory"},
          {{"generate", models.gpt(), "--prompt", "a", "--heads-off", "decoder.9.self.0"},
           "the nearest is decoder.0.self"},
          {{"generate", models.gpt(), "--prompt", "a", "--heads-off", "decoder.0.self.5"},
           "no head 5 among 1"},
          {{"translate", models.gpt(), "--text", "a"}, "only an encoder-decoder"},
          {{"translate", models.translator(), "--text", std::string(25, 'a') + "\nabc"},
           "--text, line 1): has 25 tokens, the model's context is 24"},
          {{"translate", models.strict_translator(), "--text", "aQ"},
           R"(translate (--text, line 1): text ("Q"): is not in the vocabulary)"},
          {{"translate", models.translator(), "--text", "\xff"}, "UTF-8"},
          {{"embed", models.gpt(), "--text", "a"}, "only an encoder (bert"},
          {{"embed", models.encoder(), "--text", "a a a a a a a a a a a"}, "has 13 tokens"},
      },
      3);
  expect_wrong(
      {{{"translate", models.translator()}, "cp1254"}, {{"embed", models.encoder()}, "cp1254"}}, 3,
      latin);
  expect_wrong({{{"translate", models.translator()}, "standard input"},
                {{"generate", models.gpt()}, "standard input"}},
               3, empty);
}

TEST(WrongGeneration, names_an_encoding_that_is_unknown) {
  const ModelFolders& models = model_folders();
  expect_wrong({{{"translate", models.translator(), "--encoding", "klingon"}, "klingon"},
                {{"generate", models.gpt(), "--encoding", "klingon"}, "klingon"}},
               2);
}

TEST(WrongGeneration, of_a_tokenizer_larger_than_the_model_is_told) {
  const TemporaryFolder folder;
  std::filesystem::copy(model_folders().encoder(), folder / "m",
                        std::filesystem::copy_options::recursive);
  std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (char c = 'a'; c <= 'z'; ++c) words += std::string(1, c) + "\n";
  folder.put("m/vocab.txt", words);
  expect_wrong({{{"embed", folder / "m", "--text", "a"}, "has 31 tokens, the model has 19 ids"}},
               3);
}

}  // namespace
}  // namespace headlight::test
