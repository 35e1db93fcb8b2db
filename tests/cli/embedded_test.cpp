// Models that come with the program: they are there, they work without any file, and their training
// command gives them again.
#include <gtest/gtest.h>

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/kernels/kernels.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

std::string source_path(const std::string& path) {
  return tests::source_folder() + "/headlight/recipes/embedded/" + path;
}

std::string bytes_of(const std::string& path) {
  return base::read_all(*base::open_input(base::real_files(), path), uint64_t{1} << 30);
}

TEST(Embedded, models_are_listed_by_info) {
  const ProgramRun run = run_program({"info"});
  ASSERT_EQ(run.code, 0) << run.errors;
  for (const char* name : {"numbers: ", "repeats: ", "stories: ", "thrones: "}) {
    EXPECT_NE(run.output.find(name), std::string::npos) << run.output;
  }
  const ProgramRun json = run_program({"info", "--json"});
  EXPECT_NE(io::parse_json(json.output, "info").find("models"), nullptr);
}

TEST(Embedded, models_are_described_like_folders) {
  const ProgramRun run = run_program({"info", "thrones", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const io::Json document = io::parse_json(run.output, "info");
  EXPECT_EQ(*document.find("model_type")->text(), "headlight-seq2seq");
  EXPECT_EQ(*document.find("tokenizer")->text(), "tokenizer.json");
}

TEST(Embedded, models_are_described_in_the_language_asked_for) {
  const std::string english = run_program({"info", "thrones"}).output;
  EXPECT_NE(english.find("parameters  "), std::string::npos) << english;
  EXPECT_NE(english.find(" heads per layer "), std::string::npos) << english;
  const std::string korean = run_program({"info", "thrones", "--lang", "ko"}).output;
  EXPECT_NE(korean.find("파라미터"), std::string::npos) << korean;
  EXPECT_EQ(korean.find("parameters"), std::string::npos) << korean;
  EXPECT_EQ(std::count(korean.begin(), korean.end(), '\n'),
            std::count(english.begin(), english.end(), '\n'));
}

TEST(Embedded, thrones_continues_its_three_sentences) {
  const ProgramRun run =
      run_program({"translate", "thrones", "--text", "When you play the game of thrones"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, "you win or you die\n");
  EXPECT_EQ(
      run_program({"translate", "thrones", "--text", "When the sun rises over the sea"}).output,
      "the boats come home\n");
}

TEST(Embedded, numbers_reads_number_words_of_four_languages) {
  const auto digits = [](const char* words) {
    return run_program({"translate", "numbers", "--text", words}).output;
  };
  EXPECT_EQ(digits("one hundred forty-two"), "142\n");
  EXPECT_EQ(digits("dokuz yüz bin yedi"), "900007\n");
  EXPECT_EQ(digits("altmış üç min səkkiz yüz on"), "63810\n");
  EXPECT_EQ(digits("이백오"), "205\n");
  EXPECT_EQ(digits("ten thousand"), "10000\n");
  EXPECT_EQ(digits("on bin"), "10000\n");
  EXPECT_EQ(digits("천"), "1000\n");
  EXPECT_EQ(digits("One hundred and forty-two."), "142\n");
  EXPECT_EQ(digits(" YÜZKIRKİKİ "), "142\n");
}

TEST(Embedded, numbers_says_what_is_no_number) {
  const auto refused = [](const char* words, const std::string& part) {
    expect_one_line(run_program({"translate", "numbers", "--text", words}), 3, part);
  };
  refused("hello",
          R"(translate (--text, line 1): "hello" is no number from 0 to 999999 in English)");
  refused("One  Million", R"("one million" is no number)");
  refused("142", R"("142" is no number)");
  EXPECT_EQ(run_program({"translate", "numbers", "--text", " "}).output, "\n");
  const TemporaryFolder folder;
  const ProgramRun lines = run_program(
      {"translate", "numbers"}, {.input_path = folder.put("lines", "seven\n\nsix six\nten\n")});
  EXPECT_EQ(lines.code, 3);
  EXPECT_EQ(lines.output, "7\n\n") << "those before it have their answers";
  EXPECT_NE(lines.errors.find("line 3): \"six six\" is no number"), lines.errors.npos)
      << lines.errors;
}

TEST(Embedded, stories_goes_on_with_a_story) {
  const ProgramRun run =
      run_program({"generate", "stories", "--prompt", "Anna has three apples. She gives"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find(" to "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("Now Anna has"), std::string::npos) << run.output;
}

TEST(Embedded, repeats_goes_on_with_words_that_were_there_before) {
  const ProgramRun run = run_program(
      {"generate", "repeats", "--prompt", "ka lo mi tu se ka lo", "--max-new-tokens", "8"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, " mi tu se ka lo mi tu se\n");
}

TEST(Embedded, a_name_that_is_neither_folder_nor_model_names_those_there_are) {
  const ProgramRun run = run_program({"info", "thornes"});
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.errors.find("thrones"), std::string::npos) << run.errors;
}

TEST(Embedded, a_folder_of_the_same_name_comes_first) {
  const TemporaryFolder folder;
  const ProgramRun run = run_program({"info", folder.path()});
  EXPECT_EQ(run.code, 3) << "an empty folder is no model";
  EXPECT_NE(run.errors.find("config.json"), std::string::npos) << run.errors;
}

// The words of the command are those of headlight/recipes/embedded/train.
std::vector<std::string> training_command(const std::string& model, const std::string& folder) {
  const std::string script = bytes_of(source_path("train"));
  const std::string out = "--out \"$folder/" + model + "\"";
  const size_t end = script.find(out);
  const size_t begin = script.rfind("\"$program\" ", end) + 11;
  std::vector<std::string> words;
  std::string word;
  for (const char c : script.substr(begin, end - begin)) {
    if (c != ' ' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      if (word != "\\") words.push_back(word);
      word.clear();
    }
  }
  for (std::string& each : words) {
    if (each.starts_with("\"$here/")) each = source_path(each.substr(7, each.size() - 8));
  }
  words.insert(words.end(), {"--out", folder});
  return words;
}

TEST(Embedded, thrones_is_what_its_training_command_gives) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/thrones";
  std::vector<std::string> command = training_command("thrones", out);
  const ProgramRun run = run_program(command);
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(bytes_of(out + "/tokenizer.json"), bytes_of(source_path("thrones/tokenizer.json")));
  EXPECT_EQ(bytes_of(out + "/config.json"), bytes_of(source_path("thrones/config.json")));
  EXPECT_EQ(run_program({"translate", out, "--text", "When you play the game of thrones"}).output,
            "you win or you die\n");
  if (!is_built_with_tests() || kernels::simd_target() != "avx512")
    GTEST_SKIP() << "weights were trained with AVX-512, which this machine or this build has not";
  EXPECT_EQ(bytes_of(out + "/model.safetensors"),
            bytes_of(source_path("thrones/model.safetensors")));
}

// By the command that is kept beside it, from the lines that the example writes.
TEST(LongEmbedded, repeats_is_what_its_training_command_gives) {
  const std::string program = program_path();
  const std::string examples = program.substr(0, program.rfind("/apps/")) + "/examples";
  if (!base::exists(base::real_files(), examples + "/example_write_repeats"))
    GTEST_SKIP() << "the examples are not built";
  const TemporaryFolder folder;
  const std::string command = "sh '" + source_path("train") + "' '" + program + "' '" + examples +
                              "' '" + folder.path() + "' repeats >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  for (const char* file : {"config.json", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_EQ(bytes_of(folder / "repeats/" + file), bytes_of(source_path("repeats/") + file));
  if (!is_built_with_tests() || kernels::simd_target() != "avx512")
    GTEST_SKIP() << "weights were trained with AVX-512, which this machine or this build has not";
  EXPECT_TRUE(bytes_of(folder / "repeats/model.safetensors") ==
              bytes_of(source_path("repeats/model.safetensors")));
}

}  // namespace
}  // namespace headlight::test
