// `headlight tokenize`, run as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>

#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

// Folders with small tokenizers.
class Tokenize : public testing::Test {
 protected:
  void SetUp() override {
    const std::string_view text = "the cat saw the dog, the end";
    const std::span<const std::string_view> texts(&text, 1);
    save("bpe", text::train_bpe(texts, {.vocabulary_size = 270, .special = {"<end>"}}));
    save("char", text::char_tokenizer(texts));
    save("word", text::word_tokenizer(texts));
    folder_.put("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n");
  }

  void save(const std::string& name, const text::Tokenizer& tokenizer) const {
    std::filesystem::create_directories(folder_ / name);
    tokenizer.save(base::real_files(), folder_ / name);
  }

  ProgramRun with_input(std::vector<std::string> arguments, std::string_view input) const {
    return run_program(arguments, {.input_path = folder_.put("input", input)});
  }

  TemporaryFolder folder_;
};

TEST_F(Tokenize, prints_a_line_per_token) {
  const ProgramRun run = run_program({"tokenize", folder_ / "word", "--text", "the big dog,"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, "4\t\"the\"\n3\t\"<unk>\"\n7\t\"dog,\"\n");
  EXPECT_EQ(run.errors, "");
}

TEST_F(Tokenize, prints_ids_and_tokens_as_json) {
  const ProgramRun run = run_program({"tokenize", folder_ / "char", "--text", "cat", "--json"});
  EXPECT_EQ(run.output, "{\"ids\":[3,2,11],\"tokens\":[\"c\",\"a\",\"t\"]}\n") << run.errors;
}

TEST_F(Tokenize, reads_published_kinds) {
  const std::string golden = tests::source_folder() + "/tests/golden/tokenizers/";
  for (const char* kind : {"llama3", "gemma3", "t5", "llama-model/tokenizer.model", "t5-model",
                           "marian-files", "marian-files/target.spm"}) {
    const ProgramRun run = run_program({"tokenize", golden + kind, "--text", "quick", "--json"});
    EXPECT_EQ(run.code, 0) << kind << run.errors;
    EXPECT_TRUE(run.output.starts_with("{\"ids\":[")) << kind << run.output;
  }
  const ProgramRun framed =
      run_program({"tokenize", golden + "llama2", "--text", "<s>", "--special", "--framed"});
  EXPECT_EQ(framed.output, "1\t\"<s>\"\n1\t\"<s>\"\n") << framed.errors;
}

TEST_F(Tokenize, says_what_is_wrong_with_a_model_file) {
  const ProgramRun run =
      run_program({"tokenize", folder_.put("tokenizer.model", "x"), "--text", "a"});
  EXPECT_EQ(run.code, 3) << run.errors;
  EXPECT_NE(run.errors.find("not a file of SentencePiece's"), std::string::npos) << run.errors;
}

TEST_F(Tokenize, takes_a_file_as_well_as_a_folder) {
  const std::string json =
      "{\"ids\":[1,3,4,5,2],\"tokens\":[\"[CLS]\",\"the\",\"cat\",\"##s\",\"[SEP]\"]}\n";
  EXPECT_EQ(
      run_program({"tokenize", folder_ / "vocab.txt", "--text", "The cats", "--framed", "--json"})
          .output,
      json);
  EXPECT_EQ(
      run_program({"tokenize", folder_ / "bpe/tokenizer.json", "--text", "the", "--json"}).output,
      run_program({"tokenize", folder_ / "bpe", "--text", "the", "--json"}).output);
}

TEST_F(Tokenize, reads_standard_input_to_its_end) {
  const ProgramRun run = with_input({"tokenize", folder_ / "word"}, "\xef\xbb\xbfthe\r\ncat\n");
  EXPECT_EQ(run.output, "4\t\"the\"\n5\t\"cat\"\n") << run.errors;
  EXPECT_EQ(with_input({"tokenize", folder_ / "bpe", "--json"}, "").output,
            "{\"ids\":[],\"tokens\":[]}\n");
  EXPECT_EQ(run_program({"tokenize", folder_ / "bpe"}, {.close_input = true}).code, 0);
}

TEST_F(Tokenize, reads_standard_input_in_other_encodings) {
  const std::string turkish =
      "\xe7"
      "ay, \xfd\xfe\xfdk de\xf0il";
  expect_one_line(with_input({"tokenize", folder_ / "word"}, turkish), 3,
                  "text (standard input): not UTF-8 at byte 0; it looks like cp1254; read it with "
                  "--encoding cp1254");
  const ProgramRun run =
      with_input({"tokenize", folder_ / "bpe", "--encoding", "cp1254", "--json"}, turkish);
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(
      run.output,
      run_program({"tokenize", folder_ / "bpe", "--text", "çay, ışık değil", "--json"}).output);
}

TEST_F(Tokenize, decodes) {
  EXPECT_EQ(run_program({"tokenize", folder_ / "char", "--decode", "3,2,11"}).output, "cat\n");
  EXPECT_EQ(
      run_program({"tokenize", folder_ / "word", "--decode", "4,5,2", "--json"}).output,
      "{\"ids\":[4,5,2],\"tokens\":[\"the\",\"cat\",\"<end>\"],\"text\":\"the cat <end>\"}\n");
  // Half a code point.
  EXPECT_EQ(run_program({"tokenize", folder_ / "bpe", "--decode", "163"}).output, "\uFFFD\n");
}

TEST_F(Tokenize, makes_special_tokens_only_when_asked) {
  const auto output = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tokenize", folder_ / "bpe", "--text", "<end>"});
    return run_program(more).output;
  };
  EXPECT_EQ(output({"--special"}), "0\t\"<end>\"\n");
  EXPECT_EQ(output({}).find("<end>"), std::string::npos);
}

TEST_F(Tokenize, says_what_is_wrong_with_the_command_line) {
  expect_one_line(run_program({"tokenize"}), 2, "MODEL: is missing: `headlight tokenize MODEL`");
  expect_one_line(run_program({"tokenize", "a", "b"}), 2, "unexpected argument (\"b\")");
  expect_one_line(run_program({"tokenize", "a", "--decode", "1,x"}), 2, "--decode (\"x\")");
  expect_one_line(run_program({"tokenize", "a", "--decode", "-1"}), 2, "at least 0");
  expect_one_line(run_program({"tokenize", "a", "--decode", "1", "--text", "b"}), 2,
                  "--text: has no meaning with --decode");
  expect_one_line(run_program({"tokenize", "a", "--decode", "1", "--special"}), 2,
                  "--special: has no meaning with --decode");
  expect_one_line(run_program({"tokenize", "a", "--text", "b", "--encoding", "cp949"}), 2,
                  "--encoding: has no meaning with --text");
  expect_one_line(run_program({"tokenize", "a", "--txet", "b"}), 2, "the nearest is --text");
  expect_one_line(with_input({"tokenize", folder_ / "bpe", "--encoding", "cp9490"}, "a"), 2,
                  "encoding (\"cp9490\"): is unknown");
}

TEST_F(Tokenize, says_what_is_wrong_with_files_and_texts) {
  expect_one_line(run_program({"tokenize", folder_ / "nowhere", "--text", "a"}), 3,
                  "there is no such file");
  expect_one_line(run_program({"tokenize", folder_.path(), "--decode", "6"}), 3, "ids from 0 to 5");
  expect_one_line(run_program({"tokenize", folder_ / "input", "--text", "a"}), 3,
                  "there is no such file");
  std::filesystem::create_directories(folder_ / "empty");
  expect_one_line(run_program({"tokenize", folder_ / "empty", "--text", "a"}), 3,
                  "the folder holds none");
  expect_one_line(run_program({"tokenize", folder_ / "char", "--text", "çat"}), 3,
                  "(\"ç\"): is not in the vocabulary");
  expect_one_line(run_program({"tokenize", folder_ / "char", "--text", "a\xff"}), 3,
                  "text (byte 1): is not UTF-8");
  folder_.put("bad.json", "{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}");
  expect_one_line(run_program({"tokenize", folder_ / "bad.json", "--text", "a"}), 3, "bad.json");
}

TEST_F(Tokenize, has_help_with_examples_first) {
  const ProgramRun run = run_program({"tokenize", "--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_LT(run.output.find("headlight tokenize MODEL --text"), run.output.find("--special"));
}

TEST(TokenizeGpt2, gives_its_ids) {
  const std::string folder = tests::shared_folder() + "/data/gpt2-tokenizer";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "GPT-2's tokenizer files are absent";
  EXPECT_EQ(run_program({"tokenize", folder, "--text", "Hello world", "--json"}).output,
            "{\"ids\":[15496,995],\"tokens\":[\"Hello\",\"Ġworld\"]}\n");
  EXPECT_EQ(run_program({"tokenize", folder, "--decode", "15496,995"}).output, "Hello world\n");
}

}  // namespace
}  // namespace headlight::test
